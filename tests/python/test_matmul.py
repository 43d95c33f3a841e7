"""Matrix products inside compiled functions: what follows a product in the same kernel, and packed constants."""

import gc

import numpy as np
import pytest

import pymx as mx

FLOATS = [mx.float32, mx.float16, mx.bfloat16, mx.float64]


def normal(*shape, seed=0, dtype=mx.float32):
    x = mx.array(np.random.default_rng(seed).standard_normal(shape).astype(np.float32)).astype(dtype)
    mx.eval(x)
    return x


def same(a, b):
    return a.dtype == b.dtype and bool(mx.array_equal(a, b, equal_nan=True).item())


def evaluated(x):
    mx.eval(x)
    return x


def linear(x, w, b, r):
    return evaluated(evaluated(x @ w) + b)


def activated(x, w, b, r):
    y = evaluated(x @ w)
    return evaluated(evaluated(y * evaluated(mx.sigmoid(evaluated(y + b)))) + r)


def cast_after(x, w, b, r):
    return evaluated(evaluated(evaluated(x @ w) * 0.5).astype(mx.float32))


def own_operand(x, w, b, r):
    square = evaluated(x @ mx.swapaxes(x, -1, -2))
    return evaluated(evaluated(square @ x) + x)


def with_addmm(x, w, b, r):
    return evaluated(mx.tanh(evaluated(mx.addmm(r, x, w, alpha=0.5, beta=-1.0))))


SHAPES = [
    ((3, 5), (5, 7)),
    ((40, 300), (300, 200)),
    ((2, 70, 64), (64, 160)),
    ((1, 300), (300, 2000)),
    ((6, 1, 9), (9, 1)),
]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("f", [linear, activated, cast_after, own_operand, with_addmm])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_compiled_is_eager_bit_for_bit(f, shapes, dtype, monkeypatch):
    of_x, of_w = shapes
    args = [normal(*of_x, dtype=dtype), normal(*of_w, seed=1, dtype=dtype), normal(of_w[-1], seed=2, dtype=dtype)]
    args.append(normal(*of_x[:-1], of_w[-1], seed=3, dtype=dtype))
    expected = f(*args)
    monkeypatch.setitem(globals(), "evaluated", lambda x: x)  # from here on the whole function is one graph
    compiled = mx.compile(f)
    for _ in range(2):
        assert same(compiled(*args), expected)
    assert same(f(*args), expected)


def test_several_values_of_one_product():
    x, w = normal(90, 80), normal(80, 110, seed=1)

    def f(x, w):
        y = x @ w
        return y, mx.exp(y), (y * 2).astype(mx.float16)

    y = evaluated(x @ w)
    for ours, expected in zip(mx.compile(f)(x, w), (y, mx.exp(y), (y * 2).astype(mx.float16)), strict=True):
        assert same(ours, expected)


@pytest.mark.parametrize("threads", [0, 1, 2, 3])
def test_threads_do_not_show(threads):
    x, w, r = normal(200, 300), normal(300, 260, seed=1), normal(200, 260, seed=2)
    f = mx.compile(lambda x, w, r: mx.maximum(x @ w, 0) + r)
    before = mx.num_threads()
    expected = evaluated(f(x, w, r))
    try:
        mx.set_num_threads(threads)
        assert same(f(x, w, r), expected)
    finally:
        mx.set_num_threads(before)


@pytest.fixture(params=[0, 2])
def thread_count(request):
    before = mx.num_threads()
    mx.set_num_threads(request.param)
    yield request.param
    mx.set_num_threads(before)


def test_a_packed_constant_is_counted_and_freed(thread_count):
    gc.collect()
    w = normal(256, 512)
    x = normal(128, 256, seed=1)
    expected = evaluated(x @ w)
    f = mx.compile(lambda x: x @ w)
    assert same(f(x), expected)
    y = evaluated(f(x))
    del y
    gc.collect()
    before = mx.get_active_memory()
    f.clear_cache()
    gc.collect()
    freed = before - mx.get_active_memory()
    assert w.nbytes <= freed < 2 * w.nbytes
    assert same(f(x), expected)


def test_packed_constants_are_shared_by_shapes():
    w = normal(256, 512)
    f = mx.compile(lambda x: mx.tanh(x @ w.T.T), shapeless=True)
    evaluated(f(normal(100, 256)))
    gc.collect()
    before = mx.get_active_memory()
    for m in (50, 70, 120):
        x = normal(m, 256, seed=m)
        assert same(f(x), mx.tanh(evaluated(x @ w)))
        del x
    gc.collect()
    assert mx.get_active_memory() == before
