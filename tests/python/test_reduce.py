"""Reductions, scans and sorting against NumPy over every subset of axes and several layouts."""

import itertools

import numpy as np
import pytest

import pymx as mx

LAYOUTS = [
    lambda x: x,
    lambda x: x.transpose(2, 0, 1),
    lambda x: x[::2, :, ::-1],
    lambda x: x[:, 1:2],
    lambda x: np.broadcast_to(x[:1], (4, *x.shape[1:])),
]
SUBSETS = [None, *itertools.chain.from_iterable(itertools.combinations(range(3), k) for k in range(4))]


def pair(dtype, layout, seed=0):
    """The same array twice, in the same layout: NumPy's and ours."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 5, (4, 3, 6)).astype(dtype)
    if np.issubdtype(x.dtype, np.floating):
        x += rng.random(x.shape).astype(dtype) - 2
    a = mx.array(x, {"complex128": mx.complex128}.get(dtype))
    turned = {0: a, 1: a.transpose(2, 0, 1), 2: a[::2, :, ::-1], 3: a[:, 1:2], 4: mx.broadcast_to(a[:1], (4, 3, 6))}
    return LAYOUTS[layout](x), turned[layout]


@pytest.mark.parametrize("layout", range(5))
@pytest.mark.parametrize("axes", SUBSETS)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int32", "int64", "float32", "complex64", "complex128"])
def test_reductions(dtype, axes, layout):
    x, a = pair(dtype, layout)
    names = ["sum", "prod", "any", "all", "max", "min", "mean", "var", "std"]
    for name, keepdims in itertools.product(names, (False, True)):
        if dtype.startswith("complex") and name in ("var", "std", "mean", "prod"):
            continue
        wide = x.astype(np.float64) if name in ("mean", "var", "std") else x
        expected = np.asarray(getattr(np, name)(wide, axis=axes, keepdims=keepdims))
        got = np.array(getattr(mx, name)(a, axis=axes, keepdims=keepdims))
        assert got.shape == expected.shape, name
        np.testing.assert_allclose(got, expected.astype(got.dtype), rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_half_precision_reductions(dtype):
    x = np.random.default_rng(0).random((50, 40)).astype(np.float32)
    a = mx.array(x).astype(getattr(mx, dtype))
    tolerated = {"float16": 5e-3, "bfloat16": 4e-2}.get(dtype, 1e-5)
    for axis in (0, 1, None):
        for name in ("sum", "mean", "max", "logsumexp"):
            expected = np.log(np.exp(x).sum(axis)) if name == "logsumexp" else getattr(x, name)(axis)
            got = getattr(mx, name)(a, axis=axis)
            assert got.dtype is a.dtype
            np.testing.assert_allclose(np.array(got.astype(mx.float32)), expected, rtol=tolerated)


def test_dtypes_of_sums():
    for dtype, result in [
        (mx.bool_, mx.int32),
        (mx.int8, mx.int32),
        (mx.uint8, mx.uint32),
        (mx.int64, mx.int64),
        (mx.float16, mx.float16),
    ]:
        assert mx.sum(mx.ones((2,), dtype)).dtype is result
    assert mx.sum(mx.full((1000,), 100, mx.int8)).item() == 100_000
    assert mx.mean(mx.array([1, 2])).dtype is mx.float32 and mx.count_nonzero(mx.array([0, 2])).item() == 1


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), ()])
def test_reductions_over_nothing(shape):
    a, x = mx.zeros(shape), np.zeros(shape, np.float32)
    assert np.array_equal(np.array(mx.sum(a, axis=-1 if shape else None)), x.sum(-1 if shape else None))
    assert mx.prod(a).item() == x.prod() and mx.all(a).item() == bool(x.all()) and mx.any(a).item() == bool(x.any())
    if a.size == 0:
        for name in ("max", "min", "argmax", "argmin"):
            with pytest.raises(ValueError):
                getattr(mx, name)(a)
        assert np.isnan(mx.mean(a).item())
        for dtype in (mx.float32, mx.float64, mx.bfloat16, mx.complex64, mx.int32):
            assert mx.logsumexp(a.astype(dtype)).item() == -np.inf
        kept = mx.logsumexp(a, axis=shape.index(0), keepdims=True)
        assert kept.shape == tuple(n or 1 for n in shape) and (np.array(kept) == -np.inf).all()


def test_nan_and_infinities():
    x = np.array([[1, np.nan, 3], [-np.inf, 2, np.inf]], np.float32)
    a = mx.array(x)
    assert np.isnan(mx.max(a).item()) and np.isnan(mx.min(a).item())
    np.testing.assert_array_equal(np.array(mx.max(a, axis=1)), x.max(1))
    assert mx.argmax(a, axis=1).tolist() == [1, 2] and mx.argmin(a, axis=1).tolist() == [1, 0]
    assert mx.logsumexp(mx.array([-np.inf, -np.inf])).item() == -np.inf
    assert mx.softmax(mx.array([1000.0, 1000.0])).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("layout", range(5))
@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1])
def test_arg_reductions_sorting_and_scans(axis, layout):
    x, a = pair("float32", layout)
    for name in ("argmax", "argmin", "cumsum", "cumprod"):
        got = np.array(getattr(mx, name)(a, axis=axis))
        np.testing.assert_allclose(got, getattr(np, name)(x, axis=axis), rtol=1e-4, atol=1e-5, err_msg=name)
    np.testing.assert_array_equal(np.array(mx.sort(a, axis=axis)), np.sort(x, axis=axis))
    np.testing.assert_array_equal(np.array(mx.argsort(a, axis=axis)), np.argsort(x, axis=axis, kind="stable"))
    flat = axis is None
    n = x.size if flat else x.shape[axis]
    if n > 1:
        got = np.array(mx.partition(a, 1, axis=axis))
        np.testing.assert_array_equal(
            np.take(got, 1, axis=None if flat else axis), np.take(np.sort(x, axis), 1, axis=None if flat else axis)
        )
        top = np.sort(np.array(mx.topk(a, 2, axis=axis)), axis=axis)
        np.testing.assert_array_equal(top, np.take(np.sort(x, axis), [n - 2, n - 1], axis=None if flat else axis))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("inclusive", [False, True])
def test_scan_variants(reverse, inclusive):
    x = np.random.default_rng(0).integers(1, 9, (4, 7)).astype(np.float32)
    start = {"cumsum": 0, "cumprod": 1, "cummax": -np.inf, "cummin": np.inf, "logcumsumexp": -np.inf}
    run = {
        "cumsum": np.add,
        "cumprod": np.multiply,
        "cummax": np.maximum,
        "cummin": np.minimum,
        "logcumsumexp": np.logaddexp,
    }
    for name, f in run.items():
        for axis in (0, 1):
            y = np.flip(x, axis) if reverse else x
            expected = f.accumulate(y, axis)
            if not inclusive:
                first = np.full_like(np.take(expected, [0], axis), start[name])
                expected = np.concatenate([first, np.delete(expected, -1, axis)], axis)
            expected = np.flip(expected, axis) if reverse else expected
            got = getattr(mx, name)(mx.array(x), axis=axis, reverse=reverse, inclusive=inclusive)
            np.testing.assert_allclose(np.array(got), expected, rtol=1e-5)


def test_softmax_median_diff_and_search():
    x = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    a = mx.array(x)
    for axis in (0, 1, (0, 1)):
        e = np.exp(x - x.max(axis, keepdims=True))
        np.testing.assert_allclose(np.array(mx.softmax(a, axis=axis)), e / e.sum(axis, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(np.array(mx.median(a, axis=1)), np.median(x, 1), rtol=1e-6)
    np.testing.assert_allclose(np.array(mx.diff(a, 2, axis=1)), np.diff(x, 2, 1), rtol=1e-4, atol=1e-6)
    edges = np.array([0.0, 0, 1, 2], np.float32)
    for side in ("left", "right"):
        got = mx.searchsorted(mx.array(edges), mx.array([0.0, 0.5, 3.0]), side=side)
        assert got.tolist() == np.searchsorted(edges, [0, 0.5, 3], side=side).tolist()
    low, high = mx.minmax(a, axis=0)
    np.testing.assert_array_equal(np.array(low), x.min(0))
    np.testing.assert_array_equal(np.array(high), x.max(0))


@pytest.mark.parametrize("axis", [2, -3, (0, 0), (0, -2)])
def test_axis_errors_are_value_and_index_errors(axis):
    a = mx.zeros((2, 3))
    for error in (ValueError, IndexError, mx.AxisError):
        with pytest.raises(error):
            mx.sum(a, axis=axis)


def test_sorting_is_stable_and_puts_nan_last():
    x = np.array([3, np.nan, 1, 1, -np.inf, np.inf], np.float32)
    assert mx.argsort(mx.array(x)).tolist() == [4, 2, 3, 0, 5, 1]
    np.testing.assert_array_equal(np.array(mx.sort(mx.array(x))), np.sort(x))


def test_a_fused_reduction_equals_the_eager_one():
    def f(x):
        y = mx.exp(x - mx.max(x, axis=-1, keepdims=True))
        return y / mx.sum(y, axis=-1, keepdims=True)

    x = mx.array(np.random.default_rng(0).standard_normal((33, 257)).astype(np.float32))
    assert np.array(f(x)).tobytes() == np.array(mx.compile(f)(x)).tobytes()
