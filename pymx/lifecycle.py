"""This interpreter's registration with the runtime: borrowed memory and its tokens, the end of the process, fork.

Host memory that an array lies on is kept in a table under a token. When nothing in the library uses it any more, the
token appears in the client's release queue, whatever thread that happened on; it is taken from there after calls and by
one hook of the garbage collector. At exit one atexit hook closes the client and empties the table, so that nothing of
ours runs once the interpreter finalizes.
"""

from __future__ import annotations

import atexit
import gc
import itertools
import os
import sys
from collections.abc import Callable

from ._ffi import check, fast, ffi, lib
from .errors import MXError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "borrow",
    "drain",
    "num_threads",
    "quiesce",
    "request_cancel",
    "set_exit_policy",
    "set_num_threads",
    "shutdown",
]

_POLICIES = {"cancel": 0, "finish": 1, "abandon": 2}
_MAX_PENDING = 256 << 20  # bytes of released host memory that a new borrow does not let lie

_tokens: dict[int, Any] = {}  # token -> what keeps borrowed memory alive
_next_token = itertools.count(1).__next__
_after_fork: list[Callable[[], None]] = []


def _open() -> int:
    out = ffi.new("mx_client *")
    check(lib.mx_client_open(out))
    return int(out[0])


_client = _open()
_exit_policy = _POLICIES["cancel"]
_exit_ms = 500


def borrow(make: Callable[[int, int], Any], keep: Any) -> Any:
    """Calls make(client, token) for an array on the host's memory and keeps `keep` until the library lets go of it."""
    if _tokens and fast.client_pending(_client)[0] > _MAX_PENDING:
        drain()
    token = _next_token()
    _tokens[token] = keep
    try:
        result = make(_client, token)
    except BaseException:
        _tokens.pop(token, None)
        raise
    if result is None:
        _tokens.pop(token, None)
    return result


def drain() -> None:
    """Lets go of the host memory that the library does not use any more."""
    while _tokens:
        released = fast.client_released(_client)
        for token in released:
            _tokens.pop(token, None)
        if len(released) < 256:
            return


def _on_gc(phase: str, info: dict[str, int]) -> None:
    if _tokens and phase == "stop":
        drain()


def _at_exit() -> None:
    if _on_gc in gc.callbacks:
        gc.callbacks.remove(_on_gc)
    # A failure here could only be printed. A subinterpreter that outlives the main one ends while Python finalizes: a
    # call that gave up the GIL then would not come back, and end the main thread. The C library's own hook closes.
    if not sys.is_finalizing():
        lib.mx_client_close(_client, _exit_policy, _exit_ms)
    drain()
    for keep in _tokens.values():  # a kernel that did not stop in time may still read it: better leaked than freed
        fast.leak(keep)
    _tokens.clear()
    fast.client_free(_client)
    fast.interpreter_ends()


def _in_child() -> None:
    for hook in _after_fork:
        hook()


def after_fork(hook: Callable[[], None]) -> Callable[[], None]:
    """Registers what a module of this package must do in a forked child: make its Python locks anew."""
    _after_fork.append(hook)
    return hook


def set_exit_policy(policy: str = "cancel", timeout: float = 0.5) -> None:
    """What happens to work that is queued or running when the interpreter exits: "cancel" drops it, "finish" runs it,
    "abandon" does not wait; and how many seconds that may take. MX_EXIT_DRAIN_MS sets the time in milliseconds."""
    global _exit_policy, _exit_ms
    if policy not in _POLICIES:
        raise ValueError(f"set_exit_policy: {policy!r} is not one of {', '.join(_POLICIES)}")
    if not 0 <= timeout < 4e6:
        raise ValueError("set_exit_policy: timeout must be in [0, 4e6) seconds")
    _exit_policy, _exit_ms = _POLICIES[policy], int(timeout * 1000)


def shutdown(policy: str = "cancel", timeout: float = 0.5) -> None:
    """Closes the runtime for the whole process: see set_exit_policy. Computed arrays stay readable."""
    if policy not in _POLICIES:
        raise ValueError(f"shutdown: {policy!r} is not one of {', '.join(_POLICIES)}")
    check(lib.mx_shutdown(_POLICIES[policy], int(timeout * 1000)))


def quiesce(timeout: float = 1.0) -> None:
    """Waits until the worker threads have ended, for example before a fork. They come back with the next work.
    TimeoutError when work is still running."""
    check(lib.mx_quiesce(int(timeout * 1000)))


def request_cancel() -> None:
    """Asks running and queued work to stop: it fails with CancelledWork."""
    fast.request_cancel()


def set_num_threads(n: int) -> None:
    """How many threads take part in work; 0 runs everything on the threads that ask for it."""
    fast.set_num_threads(n)


def num_threads() -> int:
    """The number that set_num_threads sets."""
    return fast.num_threads()


def _read_environment() -> None:
    text = os.environ.get("MX_EXIT_DRAIN_MS")
    if text is None:
        return
    if not text.isdigit():
        raise MXError(f"MX_EXIT_DRAIN_MS must be a number of milliseconds, not {text!r}")
    set_exit_policy("cancel", int(text) / 1000)


_read_environment()
gc.callbacks.append(_on_gc)
atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
