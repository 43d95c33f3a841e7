"""Waits can be interrupted, awaited, limited and cancelled; the work goes on unless it is cancelled."""

import asyncio
import contextlib
import gc
import os
import threading
import time

import pytest
from helpers import run_python, run_threads

import pymx as mx

HEAD = """
import os, signal, sys, tempfile, threading, time
import numpy as np
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
    out = run_python(HEAD + body, timeout=120)
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
    "np.array": "np.array(chain(500, 2000))",
    "np.asarray": "np.asarray(chain(500, 2000))",
    "np.frombuffer": "np.frombuffer(chain(500, 2000))",
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


def test_an_interrupt_that_was_seen_is_not_raised_again():
    code = """
x = chain(500, 400)
later(0.05, signal.SIGINT)
try: memoryview(x)
except KeyboardInterrupt: print("seen")
print(x.__array_interface__["shape"], x.__array__().shape, np.array(x)[0, 0])
"""
    assert run(code) == "seen\n(500, 500) (500, 500) 1.0\n"


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
        results = await asyncio.gather(*(one(x, i) for i in range(10_000)))
        stop.set()
        return await ticker, results

    ticked, results = asyncio.run(main())
    assert ticked > 1
    assert mx.stack(results).tolist() == [20.0 * (1 + i) for i in range(10_000)]


def some_work(n=50):
    """A lazy array that takes some milliseconds, and whose values are 1."""
    x = mx.ones((200, 200))
    for _ in range(n):
        x = x @ x * (1 / 200)
    return x


def descriptors():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


async def wait(x):
    return await x


def test_a_result_of_a_task_may_be_an_array():
    """On Python 3.11 asyncio.run asks reprlib for its text, which goes by the name of the class."""
    assert asyncio.run(wait(mx.ones((2,)) + 1)).tolist() == [2, 2]
    lazy = mx.ones((2,)) + 1

    async def give():
        return lazy

    assert asyncio.run(give()) is lazy


def test_loops_come_and_go():
    asyncio.run(wait(some_work()))
    before = descriptors()
    for _ in range(20):
        assert asyncio.run(wait(some_work()))[0, 0].item() == 1
        loop = asyncio.new_event_loop()
        for _ in range(3):  # one loop may run several times
            assert loop.run_until_complete(wait(some_work(5)))[0, 0].item() == 1
        loop.close()
    del loop
    assert descriptors() == before


def test_loops_on_several_threads():
    out = []

    async def main():
        for _ in range(10):
            for x in [some_work(3), some_work(3), shared]:
                out.append((await x)[0, 0].item())

    shared = some_work()
    run_threads([lambda: asyncio.run(main())] * 4)
    assert out == [1.0] * 120


def test_one_array_awaited_by_many():
    async def main():
        return await asyncio.gather(*(wait(x) for _ in range(100)))

    x = some_work()
    assert all(y is x for y in asyncio.run(main()))


def test_a_loop_that_is_closed_while_an_await_is_pending():
    asyncio.run(wait(some_work()))
    before = descriptors()
    x = some_work(500)
    loop = asyncio.new_event_loop()
    task = loop.create_task(wait(x))
    loop.run_until_complete(asyncio.sleep(0))
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        loop.run_until_complete(task)
    loop.close()
    del loop, task
    assert descriptors() == before
    assert x[0, 0].item() == 1  # nobody is told any more


class LoopThatCannotWatch(asyncio.SelectorEventLoop):
    def add_reader(self, fd, callback, *args):
        raise NotImplementedError


def test_a_loop_that_cannot_watch_descriptors():
    loop = LoopThatCannotWatch(None)
    loop._add_reader = lambda *args: None  # its own, for calls from other threads
    try:
        for _ in range(2):
            assert loop.run_until_complete(wait(some_work()))[0, 0].item() == 1
    finally:
        loop._remove_reader = lambda *args: None
        loop.close()


AWAITS = {
    "nobody but the loop computes": """
mx.set_num_threads(0)
async def main():
    ticks = 0
    task = asyncio.ensure_future(wait(chain(200, 60)))
    while not task.done():
        ticks += 1
        await asyncio.sleep(0)
    return (await task)[0, 0].item(), ticks > 5
print(*asyncio.run(main()))
""",
    "the threads go while an await is pending": """
async def main():
    task = asyncio.ensure_future(wait(chain(200, 600)))
    await asyncio.sleep(0.01)
    mx.set_num_threads(0)
    return (await task)[0, 0].item(), True
print(*asyncio.run(main()))
""",
    "the runtime closes": """
async def main():
    task = asyncio.ensure_future(wait(chain(500, 3000)))
    await asyncio.sleep(0.01)
    mx.shutdown()
    try: await task
    except mx.CancelledWork: return 1.0, True
print(*asyncio.run(main()))
""",
    "fork": """
async def main(n):
    return (await chain(200, n))[0, 0].item()
def child():
    asyncio.events._set_running_loop(None)
    status = 1
    try: status = int(asyncio.run(main(20)) != 1)
    finally: os._exit(status)
async def parent():
    task = asyncio.ensure_future(wait(chain(200, 300)))
    await asyncio.sleep(0.001)
    pid = os.fork()
    if pid == 0: child()
    value = (await task)[0, 0].item()
    return value, os.waitpid(pid, 0)[1] == 0
print(*asyncio.run(parent()))
""",
    "the package is imported a second time": """
x = chain(200, 100)
for name in [name for name in sys.modules if name.split(".")[0] == "pymx"]: del sys.modules[name]
print((asyncio.run(wait(x)) @ x)[0, 0].item() / 200, not any(name.split(".")[0] == "pymx" for name in sys.modules))
""",
    "exit": """
loop = asyncio.new_event_loop()
task = loop.create_task(wait(chain(500, 3000)))
loop.run_until_complete(asyncio.sleep(0.01))
asyncio.tasks._unregister_task(task)
task._log_destroy_pending = False
print(1.0, True)
""",
}


@pytest.mark.parametrize("name", AWAITS)
def test_await_while(name):
    assert run("import asyncio\nasync def wait(x): return await x\n" + AWAITS[name]) == "1.0 True\n"


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
