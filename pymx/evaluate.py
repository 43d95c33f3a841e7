"""eval, async_eval and waiting. Waits come back to Python every 50 ms, so that Ctrl-C and other signals get through;
the work itself goes on and can be waited for again."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from . import lifecycle
from ._ffi import MX_OK, SLICE_MS, TIMEOUT, BufferBase, check, fast, lib
from .tree import leaves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["async_eval", "eval"]


def wait(x: BufferBase, deadline: float | None = None) -> None:
    """Waits until an array has its value; starts the work if need be. TimeoutError past a time of time.monotonic."""
    pause = SLICE_MS
    while True:
        if deadline is not None:
            pause = max(0, min(SLICE_MS, math.ceil(1000 * (deadline - time.monotonic()))))
        status = lib.mx_wait(x._h, pause)
        if status != TIMEOUT:
            break
        if pause < SLICE_MS and deadline is not None and time.monotonic() >= deadline:
            raise TimeoutError("eval: the work was not done in time; it goes on")
    if status != MX_OK:
        check(status)


_interrupted: tuple[BufferBase, BaseException] | None = None


def wait_for_export(x: BufferBase) -> None:
    """Waits for memory that goes out through the buffer protocol."""
    global _interrupted
    _interrupted = None
    try:
        wait(x)
    except BaseException as e:
        if lib.mx_wait(x._h, 0) == TIMEOUT:  # not of the work, so of a signal handler
            _interrupted = x, e
        raise


def raise_swallowed(x: BufferBase) -> None:
    """Raises what a signal handler raised in the last wait for the memory of this array, Ctrl-C above all, if no Python
    code has seen it: NumPy takes every failure of one protocol for its absence and asks for the next one."""
    global _interrupted
    if _interrupted is None:
        return
    (known, e), _interrupted = _interrupted, None
    # The frame that an exception reached last is the first of its traceback.
    if known is x and e.__traceback__ is not None and e.__traceback__.tb_frame.f_code is wait_for_export.__code__:
        raise e


def _arrays(trees: tuple[Any, ...]) -> list[BufferBase]:
    return [leaf for leaf in leaves(trees) if isinstance(leaf, BufferBase)]


def _eval_long(*args: Any, timeout: float | None = None) -> None:
    """What eval does with trees, with longer work and with a deadline."""
    if timeout is not None and not timeout >= 0:
        raise ValueError(f"eval: timeout must be at least 0 seconds, not {timeout}")
    deadline = None if timeout is None else time.monotonic() + timeout
    arrays = _arrays(args)
    if not arrays:
        return
    check(lib.mx_async_eval([x._h for x in arrays], len(arrays)))
    for x in arrays:
        wait(x, deadline)
    lifecycle.drain()


fast.set_long_eval(_eval_long)
fast.set_drain(lifecycle.drain)
eval: Callable[..., None] = fast.eval


def async_eval(*args: Any) -> None:
    """Starts computing all arrays in the trees; see eval. ValueError inside a transform."""
    arrays = _arrays(args)
    if arrays:
        check(lib.mx_async_eval([x._h for x in arrays], len(arrays)))
