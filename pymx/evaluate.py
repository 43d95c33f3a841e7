"""eval, async_eval and waiting. Waits come back to Python every 50 ms, so that Ctrl-C and other signals get through;
the work itself goes on and can be waited for again."""

from __future__ import annotations

from typing import Any

from . import lifecycle
from ._ffi import MX_OK, TIMEOUT, BufferBase, check, fast, lib
from .tree import leaves

__all__ = ["async_eval", "eval"]

SLICE_MS = 50

_eval_now = fast.eval_now


def wait(x: BufferBase) -> None:
    """Waits until an array has its value; starts the work if need be."""
    while (status := lib.mx_wait(x._h, SLICE_MS)) == TIMEOUT:
        pass
    if status != MX_OK:
        check(status)


def _arrays(trees: tuple[Any, ...]) -> list[BufferBase]:
    return [leaf for leaf in leaves(trees) if isinstance(leaf, BufferBase)]


def eval(*args: Any) -> None:
    """Computes all arrays in the trees and waits for them. Leaves that are no arrays are ignored. Raises the first
    failure among them."""
    if _eval_now(args):
        return
    arrays = _arrays(args)
    if not arrays:
        return
    check(lib.mx_async_eval([x._h for x in arrays], len(arrays)))
    for x in arrays:
        wait(x)
    lifecycle.drain()


def async_eval(*args: Any) -> None:
    """Starts computing all arrays in the trees; see eval. ValueError inside a transform."""
    arrays = _arrays(args)
    if arrays:
        check(lib.mx_async_eval([x._h for x in arrays], len(arrays)))
