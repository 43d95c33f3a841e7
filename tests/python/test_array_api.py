"""pymx.array_api: the names of the standard, their defaults, and their results beside NumPy's, which follows it too."""

import inspect
import math
import re

import numpy as np
import pytest

import pymx as mx
import pymx.array_api as xp

FLOATS = ("float32", "float64")
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128")
NUMERIC = (*INTS, *FLOATS, *COMPLEX)


def words(text):
    return re.findall(r"\w+", text)


NAMES = words("""
abs acos acosh add all any arange argmax argmin argsort asarray asin asinh astype atan atan2 atanh bitwise_and
bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor bool broadcast_arrays broadcast_to
can_cast ceil clip complex64 complex128 concat conj copysign cos cosh count_nonzero cumulative_prod cumulative_sum
diff divide e empty empty_like equal exp expand_dims expm1 eye finfo flip float32 float64 floor floor_divide
from_dlpack full full_like greater greater_equal hypot iinfo imag inf int16 int32 int64 int8 isdtype isfinite isinf
isnan less less_equal linspace log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor matmul
matrix_transpose max maximum mean meshgrid min minimum moveaxis multiply nan negative newaxis nextafter nonzero
not_equal ones ones_like permute_dims pi positive pow prod real reciprocal remainder repeat reshape result_type roll
round searchsorted sign signbit sin sinh sort sqrt square squeeze stack std subtract sum take take_along_axis tan
tanh tensordot tile tril triu trunc uint16 uint32 uint64 uint8 unique_all unique_counts unique_inverse unique_values
unstack var vecdot where zeros zeros_like
""")


def sample(dtype, shape=(3, 4), seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(1, 7, shape)
    if dtype in COMPLEX:
        return (x / 8 + 1j * rng.integers(1, 7, shape) / 8).astype(dtype)
    return (x / 8).astype(dtype) if dtype in FLOATS else x.astype(dtype)


def check(got, expected, rtol=1e-6):
    assert str(got.dtype).rsplit(".", 1)[-1] == expected.dtype.name
    assert got.shape == expected.shape
    np.testing.assert_allclose(np.array(got), expected, rtol=rtol)


def to(x):
    return xp.asarray(x, dtype=getattr(xp, "bool" if x.dtype.name == "bool" else x.dtype.name))


def test_every_name_is_there_and_documented():
    for name in NAMES:
        value = getattr(xp, name)
        if inspect.isfunction(value):
            assert value.__doc__ and value.__name__ == name, name
    assert xp.__array_api_version__ == "2024.12"


def test_namespace_of_an_array():
    x = mx.array([1.0])
    assert x.__array_namespace__(api_version="2024.12") is xp
    assert x.__array_namespace__() is mx
    with pytest.raises(ValueError, match=r"2031\.12"):
        x.__array_namespace__(api_version="2031.12")


def test_info():
    info = xp.__array_namespace_info__()
    assert info.default_device() == xp.zeros(1).device and info.devices() == [info.default_device()]
    assert info.default_dtypes()["indexing"] is xp.int64
    assert set(info.dtypes()) == {"bool", *NUMERIC}
    assert set(info.dtypes(kind="real floating")) == set(FLOATS)
    assert set(info.dtypes(kind=("complex floating", "bool"))) == {"bool", *COMPLEX}
    x = xp.zeros(2)
    assert x.to_device(info.default_device()) is x and info.capabilities()["boolean indexing"]
    with pytest.raises(ValueError, match="device"):
        xp.zeros(1, device="mars")


def test_numbers_of_python_have_the_defaults_of_the_standard():
    assert [xp.asarray(v).dtype for v in (True, 1, 1.0, 1j)] == [xp.bool, xp.int64, xp.float64, xp.complex128]
    assert xp.asarray([[1, 2.5], [3, 4]]).dtype is xp.float64 and xp.asarray([]).dtype is xp.float64
    assert xp.asarray([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert xp.asarray(2**63).dtype is xp.uint64
    assert xp.asarray([xp.asarray(1), 2]).tolist() == [1, 2]
    with pytest.raises(ValueError, match="rows"):
        xp.asarray([[1], [2, 3]])


def test_asarray_copy():
    x = xp.asarray([1, 2])
    assert xp.asarray(x) is x and xp.asarray(x, copy=True) is not x
    for bad in (lambda: xp.asarray([1], copy=False), lambda: xp.asarray(x, dtype=xp.int8, copy=False)):
        with pytest.raises(ValueError, match="copy"):
            bad()
    for dtype in ("float64", "complex128"):
        x = np.ones(2, dtype)
        for found in (xp.asarray(x), xp.asarray(x, copy=False), xp.from_dlpack(x), xp.asarray(memoryview(x))):
            assert found.dtype is getattr(xp, dtype) and found.tolist() == [1, 1]


@pytest.mark.parametrize(
    "make",
    [
        lambda p: p.arange(5),
        lambda p: p.arange(1, 4, 0.5),
        lambda p: p.arange(5, 1, -2),
        lambda p: p.linspace(0, 1, 5),
        lambda p: p.linspace(0, 1, 5, endpoint=False),
        lambda p: p.linspace(1, 2j, 3, dtype=p.complex64),
        lambda p: p.eye(3, 4, k=1),
        lambda p: p.eye(2, dtype=p.int32),
        lambda p: p.full((2, 3), 7),
        lambda p: p.full(2, 1.5),
        lambda p: p.full_like(p.ones((2, 2), dtype=p.float32), 3),
        lambda p: p.ones((2, 2)),
        lambda p: p.zeros(3, dtype=p.int8),
        lambda p: p.ones_like(p.zeros(3, dtype=p.uint16)),
        lambda p: p.zeros_like(p.ones(3)),
        lambda p: p.tril(p.ones((3, 3)), k=-1),
        lambda p: p.triu(p.ones((3, 3)), k=1),
    ],
)
def test_creation(make):
    check(make(xp), make(np))


def test_creation_of_several_and_of_unwritten():
    for got, expected in zip(
        xp.meshgrid(xp.arange(2), xp.arange(3)), np.meshgrid(np.arange(2), np.arange(3)), strict=True
    ):
        check(got, expected)
    assert xp.empty((2, 3)).shape == (2, 3) and xp.empty_like(xp.ones(2, dtype=xp.int8)).dtype is xp.int8
    assert xp.from_dlpack(np.arange(3)).tolist() == [0, 1, 2]


def test_promotion():
    for a in NUMERIC:
        for b in NUMERIC:
            kinds = {np.dtype(a).kind, np.dtype(b).kind}
            if kinds <= {"i", "u"} and np.result_type(a, b).kind == "f":
                continue  # int64 with uint64: left open
            if len(kinds & {"i", "u"}) == 1 and len(kinds) == 2 and kinds != {"i", "u"}:
                continue  # integers with floats: left open
            expected = np.result_type(a, b).name
            assert xp.result_type(getattr(xp, a), getattr(xp, b)) is getattr(xp, expected), (a, b)
            got = xp.add(xp.ones(1, dtype=getattr(xp, a)), xp.ones(1, dtype=getattr(xp, b)))
            assert got.dtype is getattr(xp, expected), (a, b)
    assert xp.result_type(xp.float32, 1j) is xp.complex64 and xp.result_type(xp.float64, 1j) is xp.complex128
    # operators are those of mlx.core
    assert (xp.ones(1) + 1j).dtype is (xp.ones(1) + xp.ones(1, dtype=xp.complex64)).dtype is xp.complex64
    assert xp.add(xp.ones(1), 1j).dtype is xp.complex128
    assert xp.multiply(xp.ones(1, dtype=xp.complex64), xp.ones(1)).dtype is xp.complex128
    assert xp.result_type(xp.int8, 1) is xp.int8 and xp.result_type(1, 2.5) is xp.float64
    with pytest.raises(ValueError, match="result_type"):
        xp.result_type()


def test_dtype_functions():
    assert xp.can_cast(xp.int8, xp.int16) and not xp.can_cast(xp.float64, xp.float32)
    assert xp.isdtype(xp.complex64, "complex floating") and xp.isdtype(xp.uint8, "unsigned integer")
    assert xp.finfo(xp.float64).eps == np.finfo("float64").eps and xp.finfo(xp.complex64).dtype is xp.float32
    assert xp.iinfo(xp.int16).max == 32767
    x = xp.asarray([1, 2])
    assert xp.astype(x, xp.int64, copy=False) is x and xp.astype(x, xp.int64) is not x
    with pytest.raises(TypeError, match="imaginary"):
        xp.astype(xp.asarray([1j]), xp.float64)


UNARY_FLOAT = words("""
abs acos asin asinh atan atanh ceil cos cosh exp expm1 floor isfinite isinf isnan log log1p log2 log10 negative
positive reciprocal round sign signbit sin sinh square sqrt tan tanh trunc
""")
UNARY_COMPLEX = words("""
abs acos acosh asin asinh atan atanh conj cos cosh exp expm1 imag isfinite isinf isnan log log1p log2 log10 negative
positive real reciprocal round sign sin sinh square sqrt tan tanh
""")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [*UNARY_FLOAT, "real", "conj"])
def test_unary_float(name, dtype):
    x = sample(dtype)
    check(getattr(xp, name)(to(x)), np.asarray(getattr(np, name)(x)))


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", UNARY_COMPLEX)
def test_unary_complex(name, dtype):
    x = sample(dtype)
    check(getattr(xp, name)(to(x)), np.asarray(getattr(np, name)(x)), rtol=1e-5)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize(
    "name", ["abs", "bitwise_invert", "ceil", "floor", "negative", "positive", "round", "sign", "square", "trunc"]
)
def test_unary_integer(name, dtype):
    x = sample(dtype)
    check(getattr(xp, name)(to(x)), np.asarray(getattr(np, name)(x), dtype=dtype))


def test_acosh_and_not():
    check(xp.acosh(xp.asarray([1.0, 2.5])), np.acosh([1.0, 2.5]))
    check(xp.logical_not(xp.asarray([True, False])), np.array([False, True]))


BINARY = {
    "add subtract multiply divide equal not_equal pow": FLOATS + COMPLEX,
    "atan2 copysign hypot logaddexp nextafter": FLOATS,
    "floor_divide remainder maximum minimum greater greater_equal less less_equal": FLOATS + INTS,
    "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift": INTS,
    "logical_and logical_or logical_xor": ("bool",),
}
BINARY_CASES = [(name, dtype) for names, dtypes in BINARY.items() for name in names.split() for dtype in dtypes]


@pytest.mark.parametrize(("name", "dtype"), BINARY_CASES)
def test_binary(name, dtype):
    x, y = sample(dtype), sample(dtype, seed=1)
    check(getattr(xp, name)(to(x), to(y)), getattr(np, name)(x, y), rtol=1e-5)


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n, d in BINARY_CASES if d in ("float32", "int16")])
def test_binary_with_a_number(name, dtype):
    x, y = sample(dtype), 3 if dtype == "int16" else 0.375
    check(getattr(xp, name)(to(x), y), getattr(np, name)(x, y), rtol=1e-5)
    check(getattr(xp, name)(y, to(x)), getattr(np, name)(y, x), rtol=1e-5)


def test_two_numbers_are_no_operands():
    with pytest.raises(TypeError, match="array"):
        xp.add(1, 2)
    with pytest.raises(TypeError, match="array"):
        xp.where(xp.asarray([True]), 1, 2)


def test_clip():
    x = sample("float32")
    check(xp.clip(to(x), 0.25, 0.5), np.clip(x, np.float32(0.25), np.float32(0.5)))
    check(xp.clip(to(x), max=to(sample("float32", seed=3))), np.clip(x, None, sample("float32", seed=3)))
    check(xp.clip(to(x)), x)


@pytest.mark.parametrize("dtype", NUMERIC)
@pytest.mark.parametrize("name", ["sum", "prod"])
@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
def test_sums(name, dtype, axis):
    x = sample(dtype)
    wide = np.uint64 if dtype.startswith("u") else np.int64 if dtype in INTS else x.dtype
    check(getattr(xp, name)(to(x), axis=axis), np.asarray(getattr(np, name)(x, axis=axis, dtype=wide)), rtol=1e-5)
    check(
        getattr(xp, name)(to(x), axis=0, dtype=getattr(xp, dtype), keepdims=True),
        getattr(np, name)(x, axis=0, dtype=x.dtype, keepdims=True),
        rtol=1e-5,
    )


@pytest.mark.parametrize("name", ["max", "min", "mean", "std", "var"])
@pytest.mark.parametrize("axis", [None, 1, (1, 0)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_statistics(name, axis, keepdims):
    x = sample("float64")
    check(
        getattr(xp, name)(to(x), axis=axis, keepdims=keepdims),
        np.asarray(getattr(np, name)(x, axis, keepdims=keepdims)),
    )


def test_correction():
    x = sample("float64")
    check(xp.var(to(x), axis=1, correction=1), np.var(x, axis=1, ddof=1))
    check(xp.std(to(x), correction=0.5), np.asarray(np.std(x, ddof=0.5)))


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_scans(name):
    for dtype in ("int16", "float32", "uint8"):
        x = sample(dtype)
        expected = getattr(np, name)(x.astype({"int16": "int64", "uint8": "uint64"}.get(dtype, dtype)), axis=1)
        check(getattr(xp, name)(to(x), axis=1), expected, rtol=1e-5)
        first = np.full((3, 1), name == "cumulative_prod", expected.dtype)
        check(getattr(xp, name)(to(x), axis=1, include_initial=True), np.concatenate([first, expected], 1), rtol=1e-5)
    with pytest.raises(ValueError, match="axis"):
        getattr(xp, name)(to(sample("int16")))


def test_all_any_diff():
    x = np.array([[True, False], [True, True]])
    check(xp.all(to(x), axis=0), x.all(0))
    check(xp.any(to(x), axis=1, keepdims=True), x.any(1, keepdims=True))
    y = sample("int32")
    check(xp.diff(to(y), axis=0), np.diff(y, axis=0))
    check(xp.diff(to(y), n=2, prepend=to(y[:, :1]), append=to(y[:, 1:2])), np.diff(y, 2, -1, y[:, :1], y[:, 1:2]))


MANIPULATION = [
    lambda p, x: p.broadcast_to(x, (2, 3, 4)),
    lambda p, x: p.concat([x, x], axis=1),
    lambda p, x: p.concat([x, p.ones((2, 4), dtype=x.dtype)]),
    lambda p, x: p.concat([x, x], axis=None),
    lambda p, x: p.expand_dims(x, axis=-1),
    lambda p, x: p.flip(x),
    lambda p, x: p.flip(x, axis=1),
    lambda p, x: p.moveaxis(p.expand_dims(x, axis=0), (0, 1), (2, 0)),
    lambda p, x: p.permute_dims(x, (1, 0)),
    lambda p, x: p.repeat(x, 2),
    lambda p, x: p.repeat(x, 2, axis=1),
    lambda p, x: p.repeat(x, p.asarray([0, 1, 3]), axis=0),
    lambda p, x: p.reshape(x, (2, 6)),
    lambda p, x: p.reshape(x, (-1,), copy=True),
    lambda p, x: p.roll(x, 2),
    lambda p, x: p.roll(x, (1, 2), axis=(0, 1)),
    lambda p, x: p.squeeze(p.expand_dims(x, axis=1), axis=1),
    lambda p, x: p.stack([x, x], axis=1),
    lambda p, x: p.tile(x, (2, 1, 2)),
    lambda p, x: p.unstack(x, axis=1)[2],
    lambda p, x: p.broadcast_arrays(x, x[:1])[1],
    lambda p, x: p.take(x, p.asarray([2, 0]), axis=1),
    lambda p, x: p.take_along_axis(x, p.asarray([[1], [0], [3]]), axis=1),
    lambda p, x: p.matrix_transpose(x),
    lambda p, x: p.where(x > 3, x, x * 2),
    lambda p, x: p.sort(x, axis=0),
    lambda p, x: p.count_nonzero(x, axis=1),
    lambda p, x: p.argmax(x, axis=1),
    lambda p, x: p.argmin(x, axis=0, keepdims=True),
    lambda p, x: p.asarray(p.argmax(x)),
    lambda p, x: p.nonzero(x > 3)[1],
    lambda p, x: p.searchsorted(p.sort(x[0]), x[1], side="right"),
    lambda p, x: p.searchsorted(x[0], x[1], sorter=p.argsort(x[0])),
    lambda p, x: p.matmul(x, p.matrix_transpose(x)),
    lambda p, x: p.matmul(x, x[0]),
    lambda p, x: p.matmul(x[0], p.matrix_transpose(x)),
    lambda p, x: p.asarray(p.matmul(x[0], x[1])),
    lambda p, x: p.tensordot(x, x, axes=((0,), (0,))),
    lambda p, x: p.asarray(p.tensordot(x, x)),
    lambda p, x: p.vecdot(x, x, axis=0),
    lambda p, x: p.sort(p.unique_values(x)),
]


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
@pytest.mark.parametrize("number", range(len(MANIPULATION)))
def test_beside_numpy(number, dtype):
    x = sample(dtype)
    check(MANIPULATION[number](xp, to(x)), np.asarray(MANIPULATION[number](np, x)))


@pytest.mark.parametrize("descending", [False, True])
def test_sorting_is_stable(descending):
    x = sample("int8", (50,))
    order = np.array(xp.argsort(to(x), descending=descending))
    key = -x.astype(int) if descending else x
    np.testing.assert_array_equal(order, np.argsort(key, stable=True))
    np.testing.assert_array_equal(np.array(xp.sort(to(x), descending=descending)), x[order])
    y = np.array([2.0, np.nan, 1.0])
    assert math.isnan(xp.sort(to(y))[2].item())


def test_unique():
    x = sample("float32", (4, 5))
    for got, expected in zip(xp.unique_all(to(x)), np.unique_all(x), strict=True):
        check(got, expected)
    assert [a.tolist() for a in xp.unique_counts(to(x))] == [a.tolist() for a in np.unique_counts(x)]
    assert [a.tolist() for a in xp.unique_inverse(to(x))] == [a.tolist() for a in np.unique_inverse(x)]
    assert xp.unique_counts(xp.asarray([math.nan, math.nan])).counts.tolist() == [1, 1]
    assert xp.unique_all(xp.zeros((0,))).values.shape == (0,)


def test_errors_name_what_is_wrong():
    x = xp.ones((2, 3))
    for bad, text in (
        (lambda: xp.squeeze(x, axis=0), "size 1"),
        (lambda: xp.take(x, xp.asarray([0])), "axis"),
        (lambda: xp.nonzero(xp.asarray(1)), "0-d"),
        (lambda: xp.matrix_transpose(xp.ones(3)), "two dimensions"),
        (lambda: xp.matmul(xp.ones((2, 3), dtype=xp.int8), xp.ones((2, 3), dtype=xp.int8)), r"\(2, 3\)"),
        (lambda: xp.repeat(x, xp.asarray([1, 2, 3]), axis=0), "3 counts"),
        (lambda: xp.moveaxis(x, (0, 1), (0,)), "destinations"),
        (lambda: xp.arange(1, 2, 0), "step"),
        (lambda: xp.linspace(0, 1, -1), "num"),
    ):
        with pytest.raises(ValueError, match=text):
            bad()
    for out_of_range in (lambda: xp.expand_dims(x, axis=3), lambda: xp.flip(x, axis=2)):
        with pytest.raises(IndexError, match="out of range"):
            out_of_range()


def test_nonzero_of_numbers():
    for dtype in NUMERIC[:-1]:
        assert mx.nonzero(mx.array([0, 3, 0, 1]).astype(getattr(mx, dtype)))[0].tolist() == [1, 3]
