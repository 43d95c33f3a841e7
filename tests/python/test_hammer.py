"""Many threads that do everything at once, and many of everything one after the other: nothing is mixed up and nothing
grows."""

import asyncio
import gc
import io
import random
import sys
import threading

import numpy as np
import pytest
from helpers import run_python, run_threads

import pymx as mx

THREADS, ROUNDS, N = 16, 60, 500


class Shared:
    def __init__(self):
        self.arrays = [mx.full((N,), float(i)) for i in range(8)]
        self.state = {"n": mx.array(0.0)}
        self.stream = mx.new_stream(mx.cpu)
        self.doubled = mx.compile(lambda x: x * 2)
        self.shapeless = mx.compile(lambda x: x + x, shapeless=True)
        self.counting = mx.compile(self.count, inputs=self.state, outputs=self.state)
        mx.random.seed(7)
        self.seeded = mx.random.uniform(shape=(4,)).tolist()
        self.calls = 0
        self.lock = threading.Lock()

    def count(self, x):
        self.state["n"] = self.state["n"] + 1
        return x

    def any(self, r):
        return r.choice(self.arrays)


def one_value(x):
    values = set(x.tolist())
    assert len(values) == 1, values
    return values.pop()


def use_arrays(s, r, number):
    with mx.stream(s.stream if r.random() < 0.5 else mx.default_stream(mx.cpu)):
        x = s.any(r) + 0
        y = (x + x) - x
        if r.random() < 0.5:
            mx.async_eval(y)
        assert one_value(x) == one_value(y)


def update_arrays(s, r, number):
    x = s.any(r)
    x[:] = float(r.randrange(100))
    x += 1.0
    one_value(x)


def use_streams(s, r, number):
    x = s.any(r) + 0
    with mx.stream(mx.new_stream(mx.cpu)):
        y = -x
    mx.synchronize(s.stream)
    assert one_value(y) == -one_value(x)


def use_functions(s, r, number):
    x = mx.full((r.choice([3, 5, N]),), float(number))
    f = r.choice([s.doubled, s.shapeless])
    assert one_value(f(x)) == 2 * number
    g = mx.compile(lambda x: x * number)
    assert one_value(g(x)) == number * number
    if r.random() < 0.2:
        r.choice([f, g]).clear_cache()


def capture_state(s, r, number):
    s.counting(mx.array(1.0))
    with s.lock:
        s.calls += 1


def draw(s, r, number):
    mx.random.seed(7)
    assert mx.random.uniform(shape=(4,)).tolist() == s.seeded


def fail(s, r, number):
    n = 100_000 + number
    with pytest.raises(ValueError, match=str(n)):
        mx.zeros((n,)).reshape(n + 1)


def exchange(s, r, number):
    lent = np.full(N, float(number), np.float32)
    x = mx.asarray(lent, copy=False)
    y = x + 0
    del x
    assert one_value(y) == number and (np.asarray(y) == number).all()
    assert (np.from_dlpack(y) == number).all()


def save_and_load(s, r, number):
    x, file = s.any(r) + 0, io.BytesIO()
    mx.save(file, x)
    file.seek(0)
    assert one_value(mx.load(file, format="npy")) == one_value(x)


def look(s, r, number):
    x = mx.full((3,), float(number))
    assert "exp" in str(mx.explain(mx.exp(x)))
    assert one_value(mx.fast.rms_norm(x * 0 + 1, None, 0.0)) == 1
    assert repr(x).startswith("array(")


async def _twice(x):
    return await (x * 2)


def wait_in_a_loop(s, r, number):
    x = s.any(r) + 0
    assert one_value(asyncio.run(_twice(x))) == 2 * one_value(x)


def collect(s, r, number):
    mx.clear_cache()
    gc.collect()
    mx.set_num_threads(r.randrange(4))


KINDS = [
    use_arrays,
    update_arrays,
    use_streams,
    use_functions,
    capture_state,
    draw,
    fail,
    exchange,
    save_and_load,
    look,
    wait_in_a_loop,
    collect,
]


def hammer_everything():
    s = Shared()

    def hammer(number):
        r = random.Random(number)
        for _ in range(ROUNDS):
            r.choice(KINDS)(s, r, number)

    run_threads([lambda i=i: hammer(i) for i in range(1, THREADS + 1)])
    assert s.state["n"].item() == s.calls


def test_everything_at_once():
    gc.collect()
    before, n_threads = mx.handle_count(), mx.num_threads()
    try:
        hammer_everything()
    finally:
        mx.set_num_threads(n_threads)
    gc.collect()
    gc.collect()
    assert mx.handle_count() <= before  # what earlier tests left may have gone meanwhile


GROWTH = """
import gc, os, threading
import pymx as mx
def resident():
    gc.collect()
    mx.clear_cache()
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
def repeat(f, n):
    for i in range(n): f(i)
a = mx.ones((4,))
def thread(i):
    def body():
        mx.random.uniform(shape=(2,)).tolist()
        with mx.stream(mx.new_stream(mx.cpu)): mx.eval(a + i)
    t = threading.Thread(target=body)
    t.start(); t.join()
def function(i):
    assert mx.compile(lambda x: x * 2)(a).tolist() == [2.0] * 4
repeat({what}, {warm})
handles, before = mx.handle_count(), resident()
repeat({what}, {n})
print(mx.handle_count() - handles, resident() - before < 4 << 20 or resident() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("what, warm, n", [("thread", 200, 1000), ("function", 2000, 20_000)])
def test_nothing_grows(what, warm, n):
    code = GROWTH.format(what=what, warm=warm, n=n)
    out = run_python(code, timeout=600)
    assert (out.returncode, out.stderr, out.stdout) == (0, "", "0 True\n")
