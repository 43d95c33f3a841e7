"""eval, async_eval and waiting. Waits come back to Python every 50 ms, so that Ctrl-C and other signals get through;
the work itself goes on and can be waited for again."""

from __future__ import annotations

from collections.abc import Callable

from . import lifecycle
from ._ffi import MX_OK, TIMEOUT, BufferBase, check, fast, lib
from .tree import leaves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["async_eval", "eval"]

SLICE_MS = 50


def wait(x: BufferBase) -> None:
    """Waits until an array has its value; starts the work if need be."""
    while (status := lib.mx_wait(x._h, SLICE_MS)) == TIMEOUT:
        pass
    if status != MX_OK:
        check(status)


def _arrays(trees: tuple[Any, ...]) -> list[BufferBase]:
    return [leaf for leaf in leaves(trees) if isinstance(leaf, BufferBase)]


def _eval_long(*args: Any) -> None:
    """What eval does with trees and with longer work."""
    arrays = _arrays(args)
    if not arrays:
        return
    check(lib.mx_async_eval([x._h for x in arrays], len(arrays)))
    for x in arrays:
        wait(x)
    lifecycle.drain()


fast.set_long_eval(_eval_long)
fast.set_drain(lifecycle.drain)
eval: Callable[..., None] = fast.eval


def async_eval(*args: Any) -> None:
    """Starts computing all arrays in the trees; see eval. ValueError inside a transform."""
    arrays = _arrays(args)
    if arrays:
        check(lib.mx_async_eval([x._h for x in arrays], len(arrays)))
