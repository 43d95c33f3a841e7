"""What functions make of their arguments: numbers that do not fit, scalars of NumPy, shapes given as arrays, positions
and keywords, and errors that say which argument of which function is wrong."""

import io

import numpy as np
import pytest

import pymx as mx

INTEGERS = (mx.uint8, mx.uint16, mx.uint32, mx.int8, mx.int16, mx.int32, mx.int64, mx.uint64)


def beyond(dtype):
    """Ints just outside of a dtype; of 64 bits too, and far away."""
    limits = mx.iinfo(dtype)
    return limits.min - 1, limits.max + 1, 2**70, -(2**70)


def zeros(dtype):
    return mx.zeros((3, 2), dtype)


def assign(key):
    def update(dtype, value):
        a = zeros(dtype)
        a[key(a) if callable(key) else key] = value
        return a[0, 0].item()

    return update


def at(method):
    return lambda dtype, value: getattr(zeros(dtype).at[0], method)(value)[0, 0].item()


TAKERS = {
    "a row": assign(0),
    "an element": assign((0, 0)),
    "a slice": assign(slice(None)),
    "everything": assign(...),
    "a new axis": assign((None, 0)),
    "an index array": assign(lambda a: mx.array([0])),
    "a list": assign([0]),
    "a mask": assign(lambda a: a == 0),
    "an open mask": assign((mx.array([True, False, True]), 0)),
    "add": at("add"),
    "subtract": at("subtract"),
    "multiply": at("multiply"),
    "divide": at("divide"),
    "maximum": at("maximum"),
    "minimum": at("minimum"),
    "full": lambda dtype, value: mx.full((2,), value, dtype)[0].item(),
    "full_like": lambda dtype, value: mx.full_like(zeros(dtype), value)[0, 0].item(),
    "operator": lambda dtype, value: (zeros(dtype) + value)[0, 0].item(),
    "reflected": lambda dtype, value: (value + zeros(dtype))[0, 0].item(),
    "function": lambda dtype, value: mx.maximum(zeros(dtype), value)[0, 0].item(),
    "where": lambda dtype, value: mx.where(True, value, zeros(dtype))[0, 0].item(),
    "clip": lambda dtype, value: mx.clip(zeros(dtype), None, value)[0, 0].item(),
    "pad": lambda dtype, value: mx.pad(zeros(dtype), 1, constant_values=value)[0, 0].item(),
    "put_along_axis": lambda dtype, value: mx.put_along_axis(zeros(dtype), mx.array([[0, 0]]), value, 0)[0, 0].item(),
}
STORES = (
    "a row",
    "an element",
    "a slice",
    "everything",
    "a new axis",
    "an index array",
    "a list",
    "a mask",
    "an open mask",
)
STORES += ("add", "full", "full_like", "operator", "reflected", "where", "pad", "put_along_axis")


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_ints_that_do_not_fit(taker, dtype):
    for value in beyond(dtype):
        with pytest.raises(ValueError, match=r"\bfit\b"):
            TAKERS[taker](dtype, value)


@pytest.mark.parametrize("taker", STORES)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_the_last_ints_that_fit(taker, dtype):
    limits = mx.iinfo(dtype)
    assert TAKERS[taker](dtype, limits.min) == limits.min
    assert TAKERS[taker](dtype, limits.max) == limits.max


def test_other_numbers_are_cast_as_before():
    a = mx.zeros((2,), mx.uint8)
    a[0], a[1] = 2.5, True
    assert a.tolist() == [2, 1]
    assert mx.full((1,), 2.5, mx.uint8).item() == 2
    assert mx.full((1,), 3, mx.bool_).item() is True
    assert mx.full((1,), 10**6, mx.float16).item() == float("inf")
    assert mx.array([300, -1], mx.uint8).tolist() == [44, 255]
    assert mx.array(300, mx.uint8).item() == 44
    b = mx.zeros((1,), mx.bool_)
    b[0] = 3
    assert b.item() is True
    c = mx.zeros((1,), mx.float64)
    c[0] = 0.1
    assert c.item() == 0.1
    assert mx.zeros((2,), mx.uint8).at[0].subtract(1).tolist() == [255, 0]
    with pytest.raises(ValueError, match=r"full: .*300 .*uint8"):
        mx.full((2,), 300, mx.uint8)
    for update in (lambda: a + 300, lambda: 300 + a, lambda: a.__iadd__(300), lambda: a + np.int64(300)):
        with pytest.raises(ValueError, match=r"addition: .*300 .*uint8"):
            update()
    with pytest.raises(ValueError, match=r"maximum: .*-1 .*uint8"):
        mx.maximum(a, -1)
    with pytest.raises(ValueError, match=r"assignment: .*300 .*uint8"):
        a[0] = 300


# ---- scalars of NumPy

SCALARS = (
    np.bool_(True),
    np.int8(3),
    np.uint8(3),
    np.int64(3),
    np.uint64(3),
    np.float16(3),
    np.float32(3),
    np.float64(3),
)
SCALARS += (np.longdouble(3), np.complex64(3), np.complex128(3))
PAIRS = {
    "operator": lambda a, b: a * b,
    "reflected": lambda a, b: b * a,
    "in place": lambda a, b: mx.array(a).__imul__(b),
    "compared": lambda a, b: a == b,
    "function": mx.multiply,
    "function, reflected": lambda a, b: mx.multiply(b, a),
    "where": lambda a, b: mx.where(True, a, b),
    "clip": lambda a, b: mx.clip(a, b, b),
    "outer": mx.outer,
    "isclose": mx.isclose,
    "searchsorted": lambda a, b: mx.searchsorted(a, b),
    "result_type": mx.result_type,
}


def result(f, a, b):
    try:
        found = f(a, b)
    except (TypeError, ValueError) as e:
        return type(e)
    return found if isinstance(found, mx.Dtype) else (found.dtype, found.tolist())


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("scalar", SCALARS, ids=lambda x: type(x).__name__)
def test_scalars_of_numpy_are_weak(pair, scalar):
    for dtype in (mx.bool_, mx.int8, mx.uint8, mx.int32, mx.int64, mx.float16, mx.bfloat16, mx.float32, mx.complex64):
        a = mx.ones((3,), dtype)
        number = (
            complex(scalar)
            if scalar.dtype.kind == "c"
            else float(scalar)
            if scalar.dtype.kind == "f"
            else scalar.item()
        )
        assert result(PAIRS[pair], a, scalar) == result(PAIRS[pair], a, number), dtype


def test_what_scalars_of_numpy_give():
    assert (mx.ones((2,), mx.bfloat16) * np.float32(3)).dtype is mx.bfloat16
    assert mx.add(mx.ones((2,), mx.int8), np.int64(3)).dtype is mx.int8
    assert (mx.ones((2,), mx.int32) + np.float32(3.5)).tolist() == [4.5, 4.5]
    with pytest.raises(ValueError, match="300"):
        mx.ones((2,), mx.int8) + np.int64(300)
    a = mx.zeros((2,), mx.int8)
    with pytest.raises(ValueError, match="300"):
        a[0] = np.int64(300)


def test_arrays_of_numpy_keep_their_dtype():
    for host in (np.array(3, np.float32), np.ones((2,), np.float32)):
        assert (mx.ones((2,), mx.bfloat16) * host).dtype is mx.float32
        assert mx.multiply(host, mx.ones((2,), mx.bfloat16)).dtype is mx.float32


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float16", "float32", "complex64", "bool"])
def test_arrays_of_scalars_have_their_dtype(dtype):
    scalar = np.ones((), dtype)[()]
    for make in (mx.array, mx.asarray, mx.negative if dtype != "bool" else mx.logical_not):
        assert str(make(scalar).dtype) == f"mlx.core.{dtype}"


UNKNOWN = (np.datetime64("2020-01-01"), np.timedelta64(3, "s"), np.array(["2020"], "datetime64[D]"), np.str_("a"))
UNKNOWN += (np.void(b"ab"), np.array(["a"]), np.array([object()]), np.zeros((2,), [("a", "i4"), ("b", "i4")]))


@pytest.mark.parametrize("value", UNKNOWN, ids=lambda x: str(x.dtype))
def test_formats_that_are_not_known(value):
    a = mx.zeros((2,))
    makers = (mx.array, mx.asarray, lambda x: mx.asarray(x, copy=False), lambda x: mx.array([x]), mx.exp)
    for make in (*makers, lambda x: a + x, lambda x: mx.add(a, x), lambda x: a.__setitem__(0, x)):
        with pytest.raises((TypeError, ValueError)):
            make(value)


# ---- shapes and indices

SHAPES = ((2, 3), [2, 3], np.array([2, 3]), mx.array([2, 3]), (np.int64(2), np.int8(3)), [mx.array(2), mx.array(3)])


@pytest.mark.parametrize("shape", SHAPES, ids=lambda x: type(x).__name__)
def test_shapes_as_arrays(shape):
    six, row = mx.arange(6), mx.arange(3)
    made = [f(shape) for f in (mx.zeros, mx.ones, mx.empty)]
    made += [mx.full(shape, 1), mx.reshape(six, shape), six.reshape(shape), mx.broadcast_to(row, shape)]
    made += [mx.random.uniform(shape=shape), mx.random.normal(shape), mx.random.bernoulli(0.5, shape)]
    made += [mx.unflatten(six, 0, shape), mx.as_strided(six, shape)]
    assert [x.shape for x in made] == [(2, 3)] * len(made)
    assert mx.tile(mx.ones((1, 1)), shape).shape == (2, 3)


def test_lengths_as_scalars():
    for n in (2, np.int64(2), np.array(2), mx.array(2)):
        assert mx.zeros(n).shape == mx.full(n, 1).shape == (2,)
        assert [x.shape for x in mx.split(mx.ones((6,)), n)] == [(3,), (3,)]


@pytest.mark.parametrize("make", [list, tuple, np.array, mx.array], ids=["list", "tuple", "NumPy", "pymx"])
def test_several_ints_as_arrays(make):
    a, host = mx.arange(6), np.arange(6)
    for where in ([1], [1, 2], [2, 4, 5]):
        expected = [part.tolist() for part in np.split(host, where)]
        assert [x.tolist() for x in mx.split(a, make(where))] == expected
        assert [x.tolist() for x in a.split(make(where))] == expected
    m = mx.arange(6).reshape(2, 3)
    assert mx.sum(m, make([0, 1])).item() == 15
    assert m.transpose(make([1, 0])).shape == mx.transpose(m, make([1, 0])).shape == (3, 2)
    assert mx.roll(m, make([1, 1]), make([0, 1])).tolist() == np.roll(np.arange(6).reshape(2, 3), 1, (0, 1)).tolist()
    assert mx.pad(m, make([1, 2])).shape == (5, 6)
    assert mx.pad(m, make([[1, 2], [0, 1]])).shape == (5, 4)
    assert mx.squeeze(mx.ones((1, 3, 1)), make([0, 2])).shape == (3,)


# ---- positions and keywords


def test_positions_and_keywords():
    x, m = mx.arange(3), mx.ones((2, 2))
    for rolled in (mx.roll(x, 1, axis=0), mx.roll(x, shift=1), mx.roll(x, shift=1, axis=0), mx.roll(x, 1, 0)):
        assert rolled.tolist() == [2, 0, 1]
    assert mx.astype(x, dtype=mx.float32).dtype is mx.float32
    assert mx.count_nonzero(m, 0).tolist() == mx.count_nonzero(m, axis=0).tolist() == [2, 2]
    assert mx.vecdot(m, m, 0).tolist() == mx.vecdot(m, m, axis=0).tolist() == [2, 2]
    assert len(mx.quantize(mx.ones((2, 64)), 64, 4, "affine", None)) == 3


ARANGES = {
    "stop, step, dtype": (5, None, mx.int64),
    "stop, two, dtype": (5, 2, mx.int64),
    "start, stop, step, dtype": (1, 5, 2, mx.int64),
    "start, stop, None, dtype": (1, 5, None, mx.int64),
}


def test_arange_with_a_dtype_by_position():
    found = {name: mx.arange(*args) for name, args in ARANGES.items()}
    assert {x.dtype for x in found.values()} == {mx.int64}
    assert [x.tolist() for x in found.values()] == [[0, 1, 2, 3, 4], [0, 2, 4], [1, 3], [1, 2, 3, 4]]
    assert mx.arange(5, None, None).dtype is mx.int32
    for wrong in ((5, mx.int32), (mx.int32,), (5, None, mx.int32, mx.int32), ("a",), ([1],)):
        with pytest.raises(TypeError, match="arange"):
            mx.arange(*wrong)


# ---- nothing, and more than one dimension


def test_softmax_of_nothing():
    for shape, axis in (((0, 3), 0), ((3, 0), 1), ((0, 3), (0, 1)), ((0,), None), ((2, 0, 3), 1), ((2, 0, 3), (0, 1))):
        for dtype in (mx.float16, mx.float32, mx.complex64):
            found = mx.softmax(mx.zeros(shape, dtype), axis)
            assert (found.shape, found.dtype, found.tolist()) == (shape, dtype, np.zeros(shape).tolist())
    assert mx.softmax(mx.zeros((0, 3), mx.float16), 0, precise=True).shape == (0, 3)


def test_softmax_of_nothing_is_replayed_on_something():
    f = mx.compile(lambda x: mx.softmax(x, 0), shapeless=True)
    assert f(mx.zeros((0, 2))).shape == (0, 2)
    np.testing.assert_allclose(np.array(f(mx.zeros((4, 2)))), np.full((4, 2), 0.25))


def test_meshgrid_flattens():
    inputs = (np.arange(4).reshape(2, 2), np.arange(3), np.array(5))
    for options in ({}, {"indexing": "ij"}, {"sparse": True}):
        found = mx.meshgrid(*map(mx.array, inputs), **options)
        for x, expected in zip(found, np.meshgrid(*inputs, **options), strict=True):
            np.testing.assert_array_equal(np.array(x), expected)


def test_take_from_nothing():
    for a, axis in ((mx.zeros((0,)), None), (mx.zeros((0, 3)), 0), (mx.zeros((3, 0)), 1)):
        with pytest.raises(ValueError, match=r"^take: ") as error:
            mx.take(a, mx.array([0]), axis)
        assert "-1" not in str(error.value)
        assert mx.take(a, mx.array([], mx.int32), axis).size == 0


# ---- errors that help

X = mx.ones((3,))
WRONG_OPERANDS = (None, object(), [1, 2, 3], (1,), "a", {}, {1})
OPERATIONS = {
    "addition": lambda x: X + x,
    "division": lambda x: x / X,
    "greater than": lambda x: x < X,
    "add": lambda x: mx.add(X, x),
    "multiply": lambda x: mx.multiply(x, X),
    "maximum": lambda x: mx.maximum(x, x),
    "where": lambda x: mx.where(x, X, X),
    "clip": lambda x: mx.clip(x, 0, 1),
    "exp": mx.exp,
    "round": mx.round,
    "sum": mx.sum,
    "softmax": mx.softmax,
    "cumsum": mx.cumsum,
    "sort": mx.sort,
    "matmul": lambda x: mx.matmul(X, x),
    "inner": lambda x: mx.inner(X, x),
    "concatenate": lambda x: mx.concatenate([X, x]),
    "stack": lambda x: mx.stack([X, x]),
    "reshape": lambda x: mx.reshape(x, (1,)),
    "take": lambda x: mx.take(X, x),
    "norm": mx.linalg.norm,
    "rms_norm": lambda x: mx.fast.rms_norm(x, X, 1e-5),
    "full": lambda x: mx.full((2,), x),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_wrong_operands_are_both_errors(name):
    for x in WRONG_OPERANDS:
        with pytest.raises(mx.ArgumentError, match=rf"\b{name}\b.*\b{type(x).__name__}\b"):
            OPERATIONS[name](x)
    assert issubclass(mx.ArgumentError, TypeError)
    assert issubclass(mx.ArgumentError, ValueError)


DTYPES = {
    "zeros": lambda d: mx.zeros((2,), d),
    "ones": lambda d: mx.ones((2,), dtype=d),
    "full": lambda d: mx.full((2,), 1, d),
    "full_like": lambda d: mx.full_like(X, 1, d),
    "zeros_like": lambda d: mx.zeros_like(X, d),
    "ones_like": lambda d: mx.ones_like(X, dtype=d),
    "arange": lambda d: mx.arange(5, dtype=d),
    "linspace": lambda d: mx.linspace(0, 1, 5, dtype=d),
    "eye": lambda d: mx.eye(3, dtype=d),
    "identity": lambda d: mx.identity(3, d),
    "tri": lambda d: mx.tri(3, dtype=d),
    "astype": lambda d: mx.astype(X, d),
    "view": lambda d: mx.view(X, d),
    "array": lambda d: mx.array([1], d),
    "asarray": lambda d: mx.asarray([1], d),
    "cumsum": lambda d: mx.cumsum(X, dtype=d),
    "trace": lambda d: mx.trace(mx.eye(2), dtype=d),
    "from_fp8": lambda d: mx.from_fp8(X.astype(mx.uint8), d),
    "uniform": lambda d: mx.random.uniform(dtype=d),
    "normal": lambda d: mx.random.normal(dtype=d),
    "randint": lambda d: mx.random.randint(0, 3, dtype=d),
    "truncated_normal": lambda d: mx.random.truncated_normal(0, 1, dtype=d),
    "gumbel": lambda d: mx.random.gumbel(dtype=d),
    "laplace": lambda d: mx.random.laplace(dtype=d),
    "can_cast": lambda d: mx.can_cast(X, d),
    "issubdtype": lambda d: mx.issubdtype(d, mx.floating),
    "isdtype": lambda d: mx.isdtype(d, "bool"),
    "finfo": mx.finfo,
    "iinfo": mx.iinfo,
}


@pytest.mark.parametrize("name", DTYPES)
def test_wrong_dtypes_are_named(name):
    for dtype in ("float32", float, np.float32, np.dtype("float32"), 3, [mx.int32]):
        with pytest.raises(mx.ArgumentError, match=name):
            DTYPES[name](dtype)


WRONG = {
    "zeros: shape": lambda: mx.zeros(2.0),
    "ones: shape": lambda: mx.ones((2.0,)),
    "full: shape": lambda: mx.full("ab", 1),
    "reshape: shape": lambda: mx.reshape(X, None),
    "sum: axes": lambda: mx.sum(X, "a"),
    "zeros: stream": lambda: mx.zeros((2,), stream=5.0),
    "concatenate": lambda: mx.concatenate(None),
    "broadcast_shapes": lambda: mx.broadcast_shapes(3, (2, 1)),
    "result_type": lambda: mx.result_type(np.ones(2), X),
    "result_type: ": lambda: mx.result_type(mx.float32, "a"),
    "can_cast": lambda: mx.can_cast("a", mx.float32),
    "issubdtype": lambda: mx.issubdtype(1, 2),
    "issubdtype: ": lambda: mx.issubdtype(mx.float32, 2),
    "isdtype": lambda: mx.isdtype(mx.bool_, [mx.int32]),
    "isdtype: ": lambda: mx.isdtype(mx.bool_, 5),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_arguments_are_named(what):
    with pytest.raises(mx.ArgumentError, match=what):
        WRONG[what]()


def test_sizes_beyond_64_bits():
    with pytest.raises(mx.RangeError, match="zeros: shape"):
        mx.zeros((2**70,))


def test_errors_of_others_stay():
    class Index:
        def __index__(self):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        mx.zeros((Index(),))


def test_trace_of_a_host_array():
    assert mx.trace(np.eye(2, dtype=np.float32)).item() == 2


def test_files_of_no_known_format(tmp_path):
    path = tmp_path / "a.xyz"
    path.write_bytes(b"nothing that is known")
    for file in (path, tmp_path / "missing.xyz", io.BytesIO(b"nothing")):
        for error in (ValueError, OSError, RuntimeError):
            with pytest.raises(error):
                mx.load(file)
    with pytest.raises(OSError, match="opened") as error:
        mx.load(tmp_path / "missing.npy")
    assert not isinstance(error.value, ValueError)


def test_namespace_info():
    info = mx.__array_namespace_info__()
    assert info.default_dtypes() == {
        "real floating": mx.float32,
        "complex floating": mx.complex64,
        "integral": mx.int32,
        "indexing": mx.int32,
    }
    assert info.default_dtypes()["real floating"] is mx.zeros(1).dtype
    assert info.dtypes(kind="bool") == {"bool": mx.bool_}
    assert info.default_device() in info.devices()
    assert mx.array_api.__array_namespace_info__().default_dtypes()["integral"] is mx.int64
