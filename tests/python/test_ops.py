"""Elementwise ops and products: one table of ops drives NumPy x dtypes x layouts x compiled."""

import itertools
import math

import numpy as np
import pytest

import pymx as mx

INTEGERS = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]
FLOATS = ["float16", "float32", "float64"]
REAL = ["bool", *INTEGERS, *FLOATS]
ALL = [*REAL, "complex64"]
BITS = ["bool", *INTEGERS]
NUMBERS = [*INTEGERS, *FLOATS, "complex64"]


def _erf(x):
    from math import erf

    return np.vectorize(erf, otypes=[np.float64])(x)


def _square(x):
    """Each product and sum rounded, where NumPy's own may use fused operations."""
    if x.dtype != np.complex64:
        return np.square(x)
    out = np.empty_like(x)
    out.real, out.imag = x.real * x.real - x.imag * x.imag, x.real * x.imag + x.imag * x.real
    return out


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


# name -> (NumPy's function, dtypes, range of the operand); an inexact op turns integers into float32
UNARY = {
    "abs": (np.abs, NUMBERS, (-9, 9)),
    "sign": (np.sign, [*INTEGERS, *FLOATS], (-9, 9)),
    "negative": (np.negative, NUMBERS, (-9, 9)),
    "square": (_square, NUMBERS, (-9, 9)),
    "floor": (np.floor, [*INTEGERS, *FLOATS], (-9, 9)),
    "ceil": (np.ceil, [*INTEGERS, *FLOATS], (-9, 9)),
    "trunc": (np.trunc, [*INTEGERS, *FLOATS], (-9, 9)),
    "round": (np.round, [*INTEGERS, *FLOATS], (-9, 9)),
    "logical_not": (np.logical_not, ALL, (0, 2)),
    "bitwise_invert": (np.invert, BITS, (-9, 9)),
    "conjugate": (np.conjugate, NUMBERS, (-9, 9)),
    "real": (np.real, NUMBERS, (-9, 9)),
    "imag": (np.imag, ["float32", "complex64"], (-9, 9)),
    "isnan": (np.isnan, [*FLOATS, "complex64"], (-9, 9)),
    "isinf": (np.isinf, [*FLOATS, "complex64"], (-9, 9)),
    "isfinite": (np.isfinite, [*FLOATS, "complex64"], (-9, 9)),
    "isposinf": (np.isposinf, FLOATS, (-9, 9)),
    "isneginf": (np.isneginf, FLOATS, (-9, 9)),
}
INEXACT = {
    "sqrt": (np.sqrt, [*REAL, "complex64"], (0, 9)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), [*INTEGERS, *FLOATS], (1, 9)),
    "reciprocal": (lambda x: 1 / x, [*INTEGERS, *FLOATS], (1, 9)),
    "exp": (np.exp, [*REAL, "complex64"], (-3, 3)),
    "expm1": (np.expm1, REAL, (-3, 3)),
    "log": (np.log, [*INTEGERS, *FLOATS, "complex64"], (1, 9)),
    "log2": (np.log2, [*INTEGERS, *FLOATS], (1, 9)),
    "log10": (np.log10, [*INTEGERS, *FLOATS], (1, 9)),
    "log1p": (np.log1p, REAL, (0, 9)),
    "sin": (np.sin, [*REAL, "complex64"], (-3, 3)),
    "cos": (np.cos, [*REAL, "complex64"], (-3, 3)),
    "tan": (np.tan, REAL, (-1, 1)),
    "arcsin": (np.arcsin, REAL, (-1, 1)),
    "arccos": (np.arccos, REAL, (-1, 1)),
    "arctan": (np.arctan, REAL, (-9, 9)),
    "sinh": (np.sinh, REAL, (-3, 3)),
    "cosh": (np.cosh, REAL, (-3, 3)),
    "tanh": (np.tanh, REAL, (-3, 3)),
    "arcsinh": (np.arcsinh, REAL, (-3, 3)),
    "arccosh": (np.arccosh, [*INTEGERS, *FLOATS], (1, 9)),
    "arctanh": (np.arctanh, FLOATS, (-0.9, 0.9)),
    "degrees": (np.degrees, REAL, (-3, 3)),
    "radians": (np.radians, REAL, (-9, 9)),
    "erf": (_erf, REAL, (-2, 2)),
    "sigmoid": (_sigmoid, REAL, (-3, 3)),
}
BINARY = {
    "add": (np.add, ALL),
    "subtract": (np.subtract, NUMBERS),
    "multiply": (np.multiply, ALL),
    "maximum": (np.maximum, ALL),
    "minimum": (np.minimum, ALL),
    "floor_divide": (np.floor_divide, [*INTEGERS, *FLOATS]),
    "remainder": (np.remainder, [*INTEGERS, *FLOATS]),
    "power": (np.power, ["uint8", "uint16", "uint32", "uint64", *FLOATS]),
    "equal": (np.equal, ALL),
    "not_equal": (np.not_equal, ALL),
    "less": (np.less, ALL),
    "less_equal": (np.less_equal, ALL),
    "greater": (np.greater, ALL),
    "greater_equal": (np.greater_equal, ALL),
    "logical_and": (np.logical_and, ALL),
    "logical_or": (np.logical_or, ALL),
    "logical_xor": (np.logical_xor, ALL),
    "bitwise_and": (np.bitwise_and, BITS),
    "bitwise_or": (np.bitwise_or, BITS),
    "bitwise_xor": (np.bitwise_xor, BITS),
    "left_shift": (np.left_shift, INTEGERS),
    "right_shift": (np.right_shift, INTEGERS),
}
INEXACT_BINARY = {
    "divide": (np.true_divide, [*INTEGERS, *FLOATS, "complex64"]),
    "arctan2": (np.arctan2, [*INTEGERS, *FLOATS]),
    "logaddexp": (np.logaddexp, [*INTEGERS, *FLOATS]),
}
LAYOUTS = {
    "row": lambda x: x,
    "transposed": lambda x: x.T,
    "stepped": lambda x: x[::2, 1::3],
    "reversed": lambda x: x[::-1, ::-1],
    "empty": lambda x: x[:, :0],
    "scalar": lambda x: x[1, 2],
}


def operand(dtype, low, high, seed=0):
    """Random numbers in a range, without 0 where integers would have little else."""
    rng = np.random.default_rng(seed)
    if dtype.startswith("uint") or dtype == "bool":
        low, high = max(low, 0), max(high, 1)
    x = rng.uniform(low, high, (6, 9))
    if dtype == "complex64":
        x = x + 1j * rng.uniform(low, high, (6, 9))
    elif dtype in INTEGERS:
        x = np.round(x)
    elif dtype == "bool":
        x = x > (low + high) / 2
    return x.astype(dtype)


def mx_dtype(name):
    return mx.bool_ if name == "bool" else getattr(mx, name)


def tolerance(dtype):
    return {"float16": 2e-3, "float64": 1e-14}.get(dtype, 2e-6)


def check(got, expected, dtype, exact):
    got = np.array(got)
    assert got.shape == expected.shape
    if exact:
        np.testing.assert_array_equal(got, expected)
    else:
        np.testing.assert_allclose(got, expected, rtol=tolerance(dtype), atol=tolerance(dtype))


def run(f, *args):
    """Eager and compiled, which must agree to the last bit."""
    eager = f(*args)
    compiled = mx.compile(f)(*args)
    assert eager.dtype is compiled.dtype
    assert eager.shape == compiled.shape and bytes(eager) == bytes(compiled)
    return eager


def cases(table):
    return [pytest.param(name, dtype, id=f"{name}-{dtype}") for name, row in table.items() for dtype in row[1]]


@pytest.mark.parametrize(("name", "dtype"), cases(UNARY))
def test_unary(name, dtype):
    reference, _, (low, high) = UNARY[name]
    x = operand(dtype, low, high)
    for layout in LAYOUTS.values():
        out = run(getattr(mx, name), layout(mx.array(x, mx_dtype(dtype))))
        expected = np.asarray(reference(layout(x)))
        check(
            out,
            expected.astype(np.array(out).dtype),
            dtype,
            exact=not (name == "abs" and dtype == "complex64"),
        )


@pytest.mark.parametrize(("name", "dtype"), cases(INEXACT))
def test_inexact_unary(name, dtype):
    reference, _, (low, high) = INEXACT[name]
    x = operand(dtype, low, high)
    wide = x.astype(np.complex128 if dtype == "complex64" else np.float64)
    for layout in LAYOUTS.values():
        out = run(getattr(mx, name), layout(mx.array(x, mx_dtype(dtype))))
        assert out.dtype is (mx_dtype(dtype) if dtype in FLOATS or dtype == "complex64" else mx.float32)
        check(out, reference(layout(wide)), dtype, exact=False)


@pytest.mark.parametrize(("name", "dtype"), cases(BINARY))
def test_binary(name, dtype):
    reference = BINARY[name][0]
    small = (0, 4) if name in ("power", "left_shift", "right_shift") else (1, 9)
    x, y = operand(dtype, 0, 5, 1), operand(dtype, *small, 2)
    for layout in LAYOUTS.values():
        out = run(getattr(mx, name), layout(mx.array(x, mx_dtype(dtype))), layout(mx.array(y, mx_dtype(dtype))))
        expected = np.asarray(reference(layout(x), layout(y)))
        inexact = name in ("power", "remainder") or (dtype == "complex64" and name == "multiply")
        check(out, expected.astype(np.array(out).dtype), dtype, exact=not inexact)


@pytest.mark.parametrize(("name", "dtype"), cases(INEXACT_BINARY))
def test_inexact_binary(name, dtype):
    reference = INEXACT_BINARY[name][0]
    x, y = operand(dtype, 0, 5, 1), operand(dtype, 1, 9, 2)
    wide = np.complex128 if dtype == "complex64" else np.float64
    for layout in LAYOUTS.values():
        out = run(getattr(mx, name), layout(mx.array(x, mx_dtype(dtype))), layout(mx.array(y, mx_dtype(dtype))))
        check(out, reference(layout(x.astype(wide)), layout(y.astype(wide))), dtype, exact=False)


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


@pytest.mark.parametrize("dtype", [*REAL, "bfloat16", "complex64"])
def test_casts(dtype):
    x = np.array([0, 1, 2.75, 100])
    a = mx.array(x, mx.float32).astype(mx_dtype(dtype))
    for other in [*REAL, "bfloat16", "complex64"]:
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
