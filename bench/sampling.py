"""How time is taken: as many samples as fit a time, each of enough calls to be far above the clock's resolution."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SAMPLE = 20e-6  # seconds that a sample takes at least, in calls
MOST_CALLS, MOST_SAMPLES = 1000, 20_000


def sample(f: Callable[[], Any], seconds: float) -> list[float]:
    """Calls `f` for about this long; the seconds per call of each sample."""
    clock = time.perf_counter
    once = _once(f)  # also brings caches and threads back
    if once >= seconds:
        return [once]
    if once < SAMPLE:
        once = min(_once(f) for _ in range(5))
    calls = range(max(1, min(MOST_CALLS, int(SAMPLE / max(once, 1e-9)))))
    times: list[float] = []
    end = clock() + seconds
    while not times or (clock() < end and len(times) < MOST_SAMPLES):
        start = clock()
        for _ in calls:
            f()
        times.append((clock() - start) / len(calls))
    return times


def _once(f: Callable[[], Any]) -> float:
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def sample_shared(f: Callable[[], Any], seconds: float, n_samples: int = 5) -> list[float]:
    """As `sample`, where threads take turns: a sample spans many of their turns of 5 ms."""
    clock = time.perf_counter
    times = []
    for _ in range(n_samples):
        n_calls, start = 0, clock()
        while (elapsed := clock() - start) < max(0.1, seconds / n_samples):
            for _ in range(20):
                f()
            n_calls += 20
        times.append(elapsed / n_calls)
    return times


@contextmanager
def spinning(is_on: bool = True) -> Iterator[None]:
    """A Python thread that computes, as long as the block runs."""
    stop = threading.Event()

    def spin() -> None:
        while not stop.is_set():
            pass

    thread = threading.Thread(target=spin)
    if is_on:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        if is_on:
            thread.join()
