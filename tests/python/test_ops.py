"""What the table of test_op_table.py does not show: broadcasting, promotion, special values, products."""

import itertools
import math

import numpy as np
import pytest

import pymx as mx

INTEGERS = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]
REAL = ["bool", *INTEGERS, "float16", "float32", "float64"]
ALL = [*REAL, "complex64", "complex128"]


def mx_dtype(name):
    return mx.bool_ if name == "bool" else getattr(mx, name)


def run(f, *args):
    """Eager and compiled, which must agree to the last bit."""
    eager = f(*args)
    compiled = mx.compile(f)(*args)
    assert eager.dtype is compiled.dtype
    assert eager.shape == compiled.shape and bytes(eager) == bytes(compiled)
    return eager


BROADCASTS = [((3, 4), (4,)), ((3, 1), (1, 4)), ((2, 1, 3), (4, 1)), ((), (2, 2)), ((0, 3), (1, 3)), ((1,), (0,))]


@pytest.mark.parametrize(("a", "b"), BROADCASTS)
def test_broadcasting(a, b):
    x, y = np.random.default_rng(0).random(a, np.float32), np.random.default_rng(1).random(b, np.float32)
    for f, expected in [
        (lambda x, y: x + y, x + y),
        (lambda x, y: y - x, y - x),
        (lambda x, y: mx.maximum(x, y) * y, np.maximum(x, y) * y),
    ]:
        out = np.array(run(f, mx.array(x), mx.array(y)))
        assert out.shape == expected.shape and np.array_equal(out, expected)
    assert mx.broadcast_shapes(a, b) == np.broadcast_shapes(a, b)


def test_shapes_that_do_not_fit_name_both():
    with pytest.raises(ValueError, match=r"2.*3|3.*2"):
        mx.zeros((2,)) + mx.zeros((3,))
    with pytest.raises(ValueError):
        mx.broadcast_shapes((2,), (3,))


@pytest.mark.parametrize(("a", "b"), list(itertools.product(ALL, ALL)))
def test_promotion_matches_result_type(a, b):
    x, y = mx.ones((2,), mx_dtype(a)), mx.ones((2,), mx_dtype(b))
    assert (x + y).dtype is mx.result_type(x, y) is mx.result_type(y, x)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_division_by_zero_and_overflow(dtype):
    limits = np.iinfo(dtype)
    x = mx.array(np.array([0, 1, limits.min, limits.max], dtype))
    for f in (lambda x: x // 0, lambda x: x % 0):
        assert run(f, x).tolist() == [0, 0, 0, 0]
    if limits.min < 0:
        assert run(lambda x: x // -1, x).tolist()[2] == limits.min
        assert run(lambda x: x % -1, x).tolist() == [0, 0, 0, 0]
        least, one = mx.full((9,), limits.min, mx_dtype(dtype)), mx.full((9,), -1, mx_dtype(dtype))
        assert run(lambda x, y: x // y, least, one).tolist() == [limits.min] * 9
        assert run(lambda x, y: x % y, least, one).tolist() == [0] * 9
    nothing = mx.zeros((4,), mx_dtype(dtype))
    assert run(lambda x, y: x // y, x, nothing).tolist() == run(lambda x, y: x % y, x, nothing).tolist() == [0] * 4
    wrapped = np.array([limits.max], dtype) + np.array([1], dtype)
    assert (mx.array([limits.max], mx_dtype(dtype)) + 1).tolist() == wrapped.tolist()


def test_negative_powers_of_integers_are_0():
    for dtype in (mx.int8, mx.int16, mx.int32, mx.int64):
        x, y = mx.array([2, -2, 1, -1, 0, 3], dtype), mx.array([-1, -3, -9, -1, -2, 3], dtype)
        assert run(mx.power, x, y).tolist() == [0, 0, 0, 0, 0, 27]
    assert mx.power(2, -1).item() == 0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
def test_nan_propagates_whatever_the_order(dtype):
    x, y = mx.array([np.nan, 1.0], mx_dtype(dtype)), mx.array([1.0, np.nan], mx_dtype(dtype))
    for f in (mx.maximum, mx.minimum):
        assert np.isnan(run(f, x, y).tolist()).all() and np.isnan(run(f, y, x).tolist()).all()
        assert np.isnan(run(lambda v, f=f: f(v, 2.0), x).tolist()[0])
        assert np.isnan(run(lambda v, f=f: f(v, float("nan")), x).tolist()).all()
        assert np.isnan(run(lambda v, f=f: f(float("nan"), v), x).tolist()).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
@pytest.mark.parametrize("constant", [float("nan"), float("inf"), float("-inf"), -0.0, 0.1])
def test_constants_keep_their_value(dtype, constant):
    x = mx.array([1.0, -1.0], mx_dtype(dtype))
    out = run(lambda x: mx.where(x > 0, x, constant), x)
    expected = mx.array([1.0, constant], mx_dtype(dtype))
    assert memoryview(out).tobytes() == memoryview(expected).tobytes()


@pytest.mark.parametrize("dtype", [*REAL, "bfloat16", "complex64", "complex128"])
def test_casts(dtype):
    x = np.array([0, 1, 2.75, 100])
    a = mx.array(x, mx.float32).astype(mx_dtype(dtype))
    for other in [*REAL, "bfloat16", "complex64", "complex128"]:
        out = a.astype(mx_dtype(other))
        assert out.dtype is mx_dtype(other)
        expected = [complex(v).real for v in a.tolist()]
        if other in INTEGERS:
            expected = [int(v) for v in expected]
        if other == "bool":
            expected = [bool(v) for v in expected]
        tolerated = 0.01 if "16" in other and "int" not in other else 0
        assert np.allclose(np.array(out.tolist(), complex), expected, rtol=tolerated, atol=0)


def test_where_clip_and_friends():
    x = mx.array([-2.0, 0.5, 3.0, np.nan, np.inf])
    assert mx.clip(x[:3], -1, 1).tolist() == [-1, 0.5, 1] and mx.clip(x[:3], None, 1).tolist() == [-2, 0.5, 1]
    assert mx.nan_to_num(x, nan=7, posinf=8).tolist() == [-2, 0.5, 3, 7, 8]
    assert mx.where(mx.array([True, False]), 1, mx.array([2.5, 3.5])).tolist() == [1, 3.5]
    assert mx.where(True, 1, 2.5).dtype is mx.float32
    q, r = mx.divmod(mx.array([7, -7]), 2)
    assert q.tolist() == [3, -4] and r.tolist() == [1, 1]
    assert mx.allclose(mx.array([1.0, np.inf]), mx.array([1.0 + 1e-6, np.inf])).item()
    assert not mx.isclose(mx.array(np.nan), mx.array(np.nan)).item()
    assert mx.isclose(mx.array(np.nan), mx.array(np.nan), equal_nan=True).item()
    nan = mx.array([1.0, np.nan])
    assert not mx.array_equal(nan, nan).item() and mx.array_equal(nan, nan, equal_nan=True).item()
    assert not mx.array_equal(nan, mx.array([1.0])).item()
    assert mx.round(mx.array([0.125, 2.5]), 2).tolist() == pytest.approx([0.12, 2.5])


def test_fp8():
    x = mx.array([0.0, 1.0, -2.5, 448.0, 1000.0])
    assert mx.from_fp8(mx.to_fp8(x), mx.float32).tolist() == [0, 1, -2.5, 448, 448]


def test_arange_of_any_step():
    for arguments, expected in [
        ((0, 10, float("inf")), [0]),
        ((0, -10, float("-inf")), [0]),
        ((10, 0, float("inf")), []),
        ((5, 5, float("inf")), []),
        ((0, 10, 1e300), [0]),
        ((3, 0, -2), [3, 1]),
    ]:
        assert mx.arange(*arguments).tolist() == expected
        assert mx.arange(*arguments, dtype=mx.int32).tolist() == expected
    for named, expected in [
        ({"stop": 3}, [0, 1, 2]),
        ({"start": 1, "stop": 3}, [1, 2]),
        ({"stop": 1, "step": 0.5}, [0, 0.5]),
    ]:
        assert mx.arange(**named).tolist() == expected
    assert mx.arange(1, stop=3).tolist() == [1, 2] and mx.arange(-3, None, -1).tolist() == [0, -1, -2]
    for call in (lambda: mx.arange(start=1, step=2), mx.arange, lambda: mx.arange(1, start=2), lambda: mx.arange(1j)):
        with pytest.raises(TypeError):
            call()
    nan, inf = float("nan"), float("inf")
    for arguments in [(nan, 1, 5), (0, nan, 5), (0, 2, nan), (0, inf, inf), (inf, 1, 5), (-inf, 1, 5), (0, 5, 0)]:
        with pytest.raises(ValueError):
            mx.arange(*arguments)


@pytest.mark.parametrize("value", [0.37, math.pi, 1e300, 1e-300])
def test_numbers_keep_double_precision(value):
    a = mx.array([1.0], mx.float64)
    assert mx.full((2,), value, mx.float64).tolist() == [value] * 2 and mx.full_like(a, value).tolist() == [value]
    assert (a * value).tolist() == [value] and mx.where(mx.array([False]), a, value).tolist() == [value]
    assert mx.clip(a * mx.inf, None, value).tolist() == [value] and mx.maximum(a * 0, value).tolist() == [value]
    assert mx.pad(a, 1, constant_values=value).tolist() == [value, 1, value]
    assert mx.linspace(value, value, 2, dtype=mx.float64).tolist() == [value] * 2


def test_dtype_errors_are_both():
    for f in (lambda: ~mx.array([1.0]), lambda: mx.array([1.0]) & 1, lambda: -mx.array([True])):
        with pytest.raises(ValueError):
            f()
        with pytest.raises(TypeError):
            f()


def test_aliases():
    for alias, name in [("acos", "arccos"), ("pow", "power"), ("conj", "conjugate"), ("cumulative_sum", "cumsum")]:
        assert getattr(mx, alias) is getattr(mx, name)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16", "complex64"])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 4), (4, 5)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
        ((2, 3, 4), (4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((0, 4), (4, 5)),
        ((3, 0), (0, 5)),
        ((70, 33), (33, 65)),
    ],
)
def test_matmul(dtype, a, b):
    rng = np.random.default_rng(0)
    numpy_dtype = np.complex64 if dtype == "complex64" else np.float32
    x, y = rng.standard_normal(a).astype(numpy_dtype), rng.standard_normal(b).astype(numpy_dtype)
    p, q = mx.array(x).astype(mx_dtype(dtype)), mx.array(y).astype(mx_dtype(dtype))
    out = (p @ q).astype(mx.complex64)
    wide_x, wide_y = np.array(p.astype(mx.complex64)), np.array(q.astype(mx.complex64))
    tolerated = {"float16": 2e-2, "bfloat16": 1e-1}.get(dtype, 1e-4)
    np.testing.assert_allclose(np.array(out), wide_x @ wide_y, rtol=tolerated, atol=tolerated)
    if len(a) >= 2 and len(b) >= 2 and 0 not in a + b:
        turned = mx.matmul(mx.swapaxes(mx.contiguous(mx.swapaxes(p, -1, -2)), -1, -2), q)
        np.testing.assert_allclose(np.array(turned.astype(mx.complex64)), np.array(out), rtol=tolerated, atol=tolerated)


def test_products():
    rng = np.random.default_rng(0)
    x, y, c = (rng.random(s, np.float32) for s in ((3, 4), (4, 5), (5,)))
    a, b = mx.array(x), mx.array(y)
    close = lambda got, expected: np.testing.assert_allclose(np.array(got), expected, rtol=1e-5)  # noqa: E731
    close(mx.addmm(mx.array(c), a, b, alpha=2, beta=0.5), 2 * x @ y + 0.5 * c)
    close(mx.inner(a, a), np.inner(x, x))
    close(mx.outer(a, b), np.outer(x, y))
    close(mx.vecdot(a, a), (x * x).sum(-1))
    close(mx.tensordot(a, b, 1), np.tensordot(x, y, 1))
    close(mx.tensordot(a, b, [[1], [0]]), np.tensordot(x, y, [[1], [0]]))
    close(mx.kron(a, b), np.kron(x, y))
    close(mx.trace(a, 1), np.trace(x, 1))
    stacked = rng.random((3, 2, 4), np.float32)
    weights = rng.random((5, 4, 3), np.float32)
    lhs, rhs = np.array([[0], [2]]), np.array([1, 4, 0])
    got = mx.gather_mm(mx.array(stacked), mx.array(weights), mx.array(lhs), mx.array(rhs))
    close(got, stacked[lhs] @ weights[rhs])


@pytest.mark.parametrize("f", ["matmul", "addmm", "inner"])
def test_product_errors(f):
    a, b = mx.zeros((2, 3)), mx.zeros((4, 5))
    with pytest.raises(ValueError):
        getattr(mx, f)(*((a,) if f == "addmm" else ()), a, b)
