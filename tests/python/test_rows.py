"""What is composed along rows: the fused passes give the bits of the ops one by one, and what NumPy gives."""

import numpy as np
import pytest

import pymx as mx


def softmax(v, x, axis):
    e = v(mx.exp(v(x - v(mx.max(x, axis=axis, keepdims=True)))))
    return v(e / v(mx.sum(e, axis=axis, keepdims=True)))


def logsumexp(v, x, axis):
    m = v(mx.max(x, axis=axis, keepdims=True))
    s = v(mx.sum(v(mx.exp(v(x - m))), axis=axis, keepdims=True))
    return v(mx.squeeze(v(v(mx.log(s)) + m), axis=axis))


def standardised(v, x, axis):
    away = v(x - v(mx.mean(x, axis=axis, keepdims=True)))
    var = v(mx.mean(v(away * away), axis=axis, keepdims=True))
    return v(v(away * v(mx.rsqrt(v(var + 1e-5)))) * 0.5)


def distance(v, x, axis):
    return v(mx.sum(v(v(mx.exp(v(x - v(x * 0.5)))) ** 2), axis=axis))


def variance(v, x, axis):
    return v(mx.var(x, axis=axis))


def normalised_then_scaled(v, x, axis):
    norm = v(mx.sqrt(v(mx.sum(v(x * x), axis=axis))))
    scaled = v(x / v(mx.expand_dims(norm, axis)))
    return v(scaled * v(mx.max(v(mx.abs(scaled)), axis=axis, keepdims=True)))


def softmax_twice(v, x, axis):
    return softmax(v, softmax(v, x, axis), axis)


COMPOSED = [softmax, logsumexp, standardised, distance, variance, normalised_then_scaled, softmax_twice]
# Divided into tiles, the last one smaller; with dimensions before and between; too small; rows too long.
SHAPES = [((1003, 300), 1), ((300, 1003), 0), ((3, 5, 40, 700), 3), ((6, 70, 900), 1), ((7, 9), 1), ((3, 70000), 1)]


def at_once(x):
    return x


def one_by_one(x):
    mx.eval(x)
    return x


def sample(shape, dtype):
    x = np.random.default_rng(7).standard_normal(shape).astype(np.float32)
    return mx.array(x).astype(dtype)


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.float64], ids=str)
@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
@pytest.mark.parametrize("f", COMPOSED, ids=lambda f: f.__name__)
def test_fused_passes_change_no_bit(f, shape, axis, dtype):
    x = sample(shape, dtype)
    want = np.array(f(one_by_one, x, axis))
    np.testing.assert_array_equal(np.array(f(at_once, x, axis)), want)
    np.testing.assert_array_equal(np.array(mx.compile(lambda x: f(at_once, x, axis))(x)), want)


@pytest.mark.parametrize("f", COMPOSED, ids=lambda f: f.__name__)
def test_layouts(f):
    base = sample((90, 1000, 4), mx.float32)
    for x in (mx.transpose(base, (1, 0, 2)), base[:, ::-1], base[:, :, 1], mx.transpose(base[:, :, 2])):
        for axis in range(x.ndim):
            want = np.array(f(one_by_one, x, axis))
            np.testing.assert_array_equal(np.array(mx.compile(lambda x, a=axis: f(at_once, x, a))(x)), want)


@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_softmax_against_float64(shape, axis):
    x = sample(shape, mx.float32)
    wide = np.array(x).astype(np.float64)
    e = np.exp(wide - wide.max(axis, keepdims=True))
    got = np.array(mx.compile(lambda x: softmax(at_once, x, axis))(x))
    np.testing.assert_allclose(got, e / e.sum(axis, keepdims=True), rtol=2e-6)


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.int32], ids=str)
@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_arg_reductions_of_what_is_computed(shape, axis, dtype):
    values = np.random.default_rng(1).integers(-40, 40, shape)  # with many equals
    x = mx.array(values).astype(dtype)
    for ours, numpys in ((mx.argmax, np.argmax), (mx.argmin, np.argmin)):
        np.testing.assert_array_equal(np.array(ours(x + x, axis=axis)), numpys(values, axis=axis))
    if dtype == mx.int32:
        return
    holes = values.astype(np.float32)
    holes[np.random.default_rng(2).random(shape) < 0.001] = np.nan
    x = mx.array(holes).astype(dtype)
    for ours, numpys in ((mx.argmax, np.argmax), (mx.argmin, np.argmin)):
        np.testing.assert_array_equal(np.array(ours(x + x, axis=axis)), numpys(holes, axis=axis))


def test_the_number_of_threads_changes_no_bit():
    x = sample((1003, 300), mx.float32)
    before, results = mx.num_threads(), []
    try:
        for n in (0, 1, 2, 3, 8):
            mx.set_num_threads(n)
            results += [[np.array(f(at_once, x, 1)) for f in COMPOSED]]
    finally:
        mx.set_num_threads(before)
    for result in results[1:]:
        for got, want in zip(result, results[0], strict=True):
            np.testing.assert_array_equal(got, want)


def test_views_that_reorder_what_a_row_gave():
    """Of shapes that do not show it."""
    x = np.random.default_rng(0).integers(-9, 9, (4, 4, 1)).astype(np.float32)
    sums = x.sum(2)
    for f in (
        lambda s, v: s.T * v,
        lambda s, v: s[::-1] * v,
        lambda s, v: s[:, ::-1] * v + s,
        lambda s, v: s.T[::-1] * v,
    ):
        for a, b in ((x, sums), (np.concatenate([x, x], 2), sums * 2)):
            np.testing.assert_array_equal(np.array(f(mx.array(a).sum(axis=2), mx.array(a[..., 0]))), f(b, a[..., 0]))
