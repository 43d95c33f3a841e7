"""Waits can be interrupted, awaited, limited and cancelled; the work goes on unless it is cancelled."""

import asyncio
import contextlib
import subprocess
import sys
import threading
import time

import pytest

import pymx as mx

HEAD = """
import os, signal, sys, tempfile, threading, time
import pymx as mx
def chain(n, length):
    x = mx.ones((n, n))
    for _ in range(length): x = x @ x * (1 / n)
    return x
def later(seconds, number):
    threading.Timer(seconds, lambda: (sent.append(time.monotonic()), os.kill(os.getpid(), number))).start()
sent = []
signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background inherits that it is ignored
"""


def run(body):
    out = subprocess.run([sys.executable, "-c", HEAD + body], capture_output=True, text=True, timeout=120)
    assert (out.returncode, out.stderr) == (0, "")
    return out.stdout


def long_work():
    """A lazy array that takes seconds."""
    x = mx.ones((500, 500))
    for _ in range(3000):
        x = x @ x * (1 / 500)
    return x


INTERRUPTED = {
    "eval of a long graph": "mx.eval(chain(500, 2000))",
    "eval of one long kernel": "mx.eval(mx.ones((6000, 6000)) @ mx.ones((6000, 6000)))",
    "eval of trees": "mx.eval({'a': [chain(500, 2000)]})",
    "item": "chain(500, 2000).sum().item()",
    "tolist": "chain(500, 2000).tolist()",
    "memoryview": "memoryview(chain(500, 2000))",
    "boolean mask": "chain(500, 2000)[chain(500, 2000) > 0]",
    "synchronize": "mx.async_eval(chain(500, 2000)); mx.synchronize()",
    "trace": "mx.compile(body)(mx.ones((3,)))",
    "eval of a compiled call": "mx.eval(mx.compile(lambda x: chain(500, 2000) + x)(mx.ones((500,))))",
    "load": "mx.eval(mx.load(path))",
}


@pytest.mark.parametrize("name", INTERRUPTED)
def test_control_c_gets_through_in_100_ms(name):
    """The best of five tries counts: other processes may take the processor meanwhile."""
    code = f"""
def body(x):
    for i in range(10**7): x = x * 1.5 + i
    return x
path = os.path.join(tempfile.mkdtemp(), "x.npz")
if {name == "load"}: mx.savez_compressed(path, a=mx.zeros((50_000_000,)))
def attempt():
    try:
        later(0.05, signal.SIGINT)
        {INTERRUPTED[name]}
        time.sleep(1)
    except KeyboardInterrupt:
        took = time.monotonic() - sent[-1]
    else:
        sys.exit("not interrupted")
    mx.request_cancel()
    assert (mx.ones((2,)) + 1).tolist() == [2.0, 2.0]
    return took
best = []
while len(best) < 5 and (not best or min(best) >= 0.1): best.append(attempt())
print(min(best) < 0.1 or best)
"""
    assert run(code) == "True\n"


def test_handlers_run_while_the_main_thread_waits():
    """And the wait goes on."""
    code = """
signal.signal(signal.SIGTERM, lambda *_: seen.append(time.monotonic()))
seen, x = [], chain(500, 300)
later(0.05, signal.SIGTERM)
mx.eval(x)
print(len(seen), seen[0] < time.monotonic(), x[0, 0].item())
"""
    assert run(code) == "1 True 1.0\n"


def test_ten_thousand_awaits():
    async def one(x, i):
        return (await ((x + i) @ x))[0, 0]

    async def ticks(stop):
        n = 0
        while not stop.is_set():
            await asyncio.sleep(0)
            n += 1
        return n

    async def main():
        stop = asyncio.Event()
        ticker = asyncio.ensure_future(ticks(stop))
        x = mx.ones((20, 20))
        results.extend(await asyncio.gather(*(one(x, i) for i in range(10_000))))
        stop.set()
        return await ticker

    results = []  # Python 3.11 cannot print a task whose result is an array: reprlib goes by the name of its class
    assert asyncio.run(main()) > 1
    assert mx.stack(results).tolist() == [20.0 * (1 + i) for i in range(10_000)]


def test_await_failure_cancellation_and_timeout():
    async def main():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(wait(x), 0.05)
        task = asyncio.ensure_future(wait(x))
        await asyncio.sleep(0.01)
        task.cancel()  # the waiter goes, the work stays
        with pytest.raises(asyncio.CancelledError):
            await task
        mx.request_cancel()
        with pytest.raises(mx.CancelledWork):
            await x

    async def wait(x):
        return await x

    x = long_work()
    mx.async_eval(x)
    asyncio.run(main())
    assert (mx.ones((2,)) + 1).tolist() == [2.0, 2.0]


def test_eval_with_a_deadline():
    x = long_work()
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        mx.eval({"x": [x]}, timeout=0.05)
    with pytest.raises(TimeoutError):
        mx.eval(x, timeout=0)
    assert time.monotonic() - start < 5
    y = mx.ones((300, 300)) @ mx.ones((300, 300))
    with mx.stream(mx.new_stream(mx.cpu)):
        y = y + 1
    mx.request_cancel()
    with pytest.raises(mx.CancelledWork):
        mx.eval(x)
    mx.eval(y, timeout=60)
    mx.eval(y, timeout=0)  # done already
    mx.eval(timeout=0)
    mx.eval(y, timeout=None)
    assert y[0, 0].item() == 301
    for bad in (-1, float("nan")):
        with pytest.raises(ValueError, match="timeout"):
            mx.eval(y, timeout=bad)
    with pytest.raises(TypeError):
        mx.eval(y, deadline=1)


def test_work_goes_on_after_a_deadline():
    x = mx.ones((500, 500))
    for _ in range(100):
        x = x @ x * (1 / 500)
    try:
        mx.eval(x, timeout=0.001)
    except TimeoutError:
        assert x[0, 0].item() == 1
    else:
        pytest.fail("a hundred products in a millisecond")


@pytest.mark.parametrize("wait", [mx.eval, lambda x: x.item(), lambda x: mx.synchronize()])
def test_cancel_from_another_thread(wait):
    with contextlib.suppress(RuntimeError, ValueError):
        mx.synchronize()  # raises what earlier tests left in the stream
    x = long_work().sum()
    mx.async_eval(x)
    timer = threading.Timer(0.05, mx.request_cancel)
    timer.start()
    with pytest.raises(mx.CancelledWork):
        wait(x)
    timer.join()
    with pytest.raises(mx.CancelledWork):
        mx.eval(x)
    assert (mx.ones((2,)) + 1).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("policy, seen", [("finish", "1.0"), ("cancel", "lost"), ("abandon", "lost")])
def test_exit_policies(policy, seen):
    """A hook that runs after the library's own looks at the work that was queued."""
    code = f"""
import atexit
atexit._clear()
def look():
    try: print(x[0, 0].item() if {policy != "finish"} else memoryview(x)[0, 0])
    except RuntimeError: print("lost")
atexit.register(look)
atexit.register(mx.lifecycle._at_exit)
mx.set_exit_policy({policy!r}, 60 if {policy == "finish"} else 0.5)
x = chain(500, 100 if {policy == "finish"} else 3000)
mx.async_eval(x)
"""
    assert run(code) == seen + "\n"
