"""`await array` under asyncio. Each event loop has one notifier of the library, whose descriptor it watches; what waits
for an array is a future of that loop. An event loop that cannot watch descriptors looks again and again instead.
asyncio is imported by who awaits: this module comes with the package, to which its arrays belong."""

from __future__ import annotations

import itertools
import time
from collections.abc import Generator

from ._ffi import TIMEOUT, BufferBase, check, fast, ffi, lib
from .lifecycle import after_fork

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    import weakref
    from typing import Any

__all__ = ["wait_for"]

_LOOK_S = 0.05  # how often a loop makes sure that somebody computes what it waits for
_NOTICEABLE_S = 0.0002  # a look that takes longer has computed something itself
_LONGEST_PAUSE_S = 0.005  # of a loop that cannot watch descriptors


class _Waiters:
    """What the coroutines of one event loop wait for. The loop owns it, through the callback of the descriptor; it does
    not own the loop."""

    __slots__ = ("__weakref__", "_handle", "_next", "_timer", "_waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._handle = 0
        self._handle = fast.notifier_new()
        self._next = itertools.count().__next__
        self._waiting: dict[int, tuple[asyncio.Future[None], BufferBase]] = {}
        self._timer: asyncio.TimerHandle | None = None
        loop.add_reader(fast.notifier_fd(self._handle), self._collect)

    def __del__(self, _free: Any = fast.notifier_free) -> None:
        if self._handle:
            _free(self._handle)

    def wait_for(self, x: BufferBase, loop: asyncio.AbstractEventLoop) -> Generator[Any, None, None]:
        token = self._next()
        queued = ffi.new("bool *")
        check(lib.mx_notifier_add(queued, self._handle, x._h, token))
        if not queued[0]:
            return
        future = loop.create_future()
        self._waiting[token] = future, x
        if self._timer is None:
            self._look_later(loop, _LOOK_S if fast.num_threads() else 0)
        try:
            yield from future
        finally:
            self._waiting.pop(token, None)

    def _collect(self) -> None:
        waiting = self._waiting
        for token in fast.notifier_take(self._handle):  # the descriptor stays readable while there are more
            if token in waiting:
                future = waiting[token][0]
                if not future.done():
                    future.set_result(None)

    def _look_later(self, loop: asyncio.AbstractEventLoop, pause: float) -> None:
        self._timer = loop.call_later(pause, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Where the pool has no threads, the loop's own computes, a kernel at a time."""
        self._timer = None
        oldest = next((x for future, x in self._waiting.values() if not future.done()), None)
        if oldest is None:
            return
        start = time.perf_counter()
        lib.mx_wait(oldest._h, 0)  # a failure is told to who awaits
        computed = time.perf_counter() - start > _NOTICEABLE_S
        self._look_later(loop, 0 if computed or not fast.num_threads() else _LOOK_S)


# Weak on both sides: a loop that goes without having been closed takes its waiters along. A loop that cannot watch
# descriptors has None.
_by_loop: weakref.WeakKeyDictionary[Any, weakref.ref[_Waiters] | None] | None = None


@after_fork
def _forget() -> None:
    global _by_loop
    _by_loop = None  # the descriptors are the parent's


def _waiters_of(loop: asyncio.AbstractEventLoop) -> _Waiters | None:
    global _by_loop
    import weakref

    table = _by_loop
    if table is None:
        table = _by_loop = weakref.WeakKeyDictionary()
    if loop in table:
        known = table[loop]
        if known is None:
            return None
        if waiters := known():
            return waiters
    try:
        waiters = _Waiters(loop)
    except (NotImplementedError, AttributeError):
        table[loop] = None
        return None
    table[loop] = weakref.ref(waiters)
    return waiters


def _look_again_and_again(x: BufferBase) -> Generator[Any, None, None]:
    import asyncio

    pause = 0.0
    while lib.mx_wait(x._h, 0) == TIMEOUT:
        yield from asyncio.sleep(pause).__await__()
        pause = min(pause + 0.0005, _LONGEST_PAUSE_S)


def wait_for(x: BufferBase) -> Generator[Any, None, None]:
    """Waits until an array has its value, while the event loop goes on; starts the work if need be. Raises what the
    work fails with."""
    if not fast.eval_inline([x]):
        import asyncio

        loop = asyncio.get_running_loop()
        waiters = _waiters_of(loop)
        yield from _look_again_and_again(x) if waiters is None else waiters.wait_for(x, loop)
    check(lib.mx_wait(x._h, 0))
