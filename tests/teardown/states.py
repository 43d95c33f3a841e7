"""What is going on when the process ends: the columns of the matrix. A state is a function of a library (libraries.py);
what it returns is kept until the end, and what it starts outlasts every exit path."""

import asyncio
import contextlib
import threading
import time

from libraries import chain

STATES = {}


def state(letter):
    def put(function):
        STATES[letter] = function
        return function

    return put


def _start(body):
    """A daemon thread that repeats body until the library is closed."""

    def loop():
        with contextlib.suppress(RuntimeError):
            while True:
                body()

    threading.Thread(target=loop, daemon=True).start()


@state("I")
def idle(lib):
    lib.use()


@state("Q")
def work_queued(lib):
    return lib.begin(lambda: chain(lib, 500, 400))


@state("K")
def kernel_running(lib):
    return lib.begin(lambda: chain(lib, 2200, 1))


@state("C")
def completion_pending(lib):
    """An event loop on a thread of its own awaits an array."""
    x, started = lib.begin(lambda: chain(lib, 500, 400)), threading.Event()

    async def wait():
        started.set()
        await x

    def serve():
        with contextlib.suppress(RuntimeError):  # cancelled
            asyncio.run(wait())

    threading.Thread(target=serve, daemon=True).start()
    started.wait(10)
    return x


@state("P")
def compiling(lib):
    """A thread that compiles one new function after the other."""

    def body():
        def function(x):
            for i in range(40):
                x = x * 1.5 + i
            return x

        lib.finish(lib.compile(function)(lib.ones(8)))

    _start(body)


@state("T")
def tracing(lib):
    """A thread that is inside of the body of a function being traced."""
    inside = threading.Event()

    def function(x):
        inside.set()
        while True:
            time.sleep(0.01)

    _start(lambda: lib.compile(function)(lib.ones(8)))
    assert inside.wait(10)


@state("M")
def cache_of_main_thread(lib):
    f = lib.compile(lambda x: {"y": (x + 1, [x * 2])})
    lib.finish(f(lib.ones(8))["y"][0])
    return f


@state("O")
def cache_of_another_thread(lib):
    f = lib.compile(lambda x: {"y": (x + 1, [x * 2])})
    thread = threading.Thread(target=lambda: lib.finish(f(lib.ones(8))["y"][0]))
    thread.start()
    thread.join()
    return f


@state("Z")
def borrowed_memory(lib):
    """The host's memory is in use by queued work."""
    import numpy as np

    borrowed = lib.borrow(np.ones((500, 500), np.float32))

    def make():
        x = borrowed
        for _ in range(100):
            x = x @ borrowed * (1 / 500)
        return x

    return borrowed, lib.begin(make)


@state("X")
def exception_in_flight(lib):
    """cell.py takes the exit path while it handles an exception whose traceback holds work."""
    return lib.begin(lambda: chain(lib, 500, 20))
