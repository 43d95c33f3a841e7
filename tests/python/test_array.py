"""class array: construction, protocols, operators with all kinds of operands, exchange."""

import asyncio
import contextlib
import copy
import gc
import pickle
import types
import weakref

import numpy as np
import pytest

import pymx as mx

DTYPES = {
    "bool": mx.bool_,
    "uint8": mx.uint8,
    "uint16": mx.uint16,
    "uint32": mx.uint32,
    "uint64": mx.uint64,
    "int8": mx.int8,
    "int16": mx.int16,
    "int32": mx.int32,
    "int64": mx.int64,
    "float16": mx.float16,
    "float32": mx.float32,
    "float64": mx.float64,
    "complex64": mx.complex64,
    "complex128": mx.complex128,
}


@pytest.mark.parametrize(
    ("value", "dtype", "shape"),
    [
        (1, mx.int32, ()),
        (2**40, mx.int64, ()),
        (2**63, mx.uint64, ()),
        (True, mx.bool_, ()),
        (1.5, mx.float32, ()),
        (1 + 2j, mx.complex64, ()),
        ([1, 2], mx.int32, (2,)),
        ([1, 2**31], mx.int64, (2,)),
        ((1, 2.5, True), mx.float32, (3,)),
        ([True, 2], mx.int32, (2,)),
        ([[1], [2]], mx.int32, (2, 1)),
        ([1j, 2], mx.complex64, (2,)),
        ([], mx.float32, (0,)),
        ([[], []], mx.float32, (2, 0)),
        (b"ab", mx.uint8, (2,)),
        (np.float64(1), mx.float32, ()),
        ([np.float32(1), 2], mx.float32, (2,)),
    ],
)
def test_defaults_of_host_data(value, dtype, shape):
    a = mx.array(value)
    assert a.dtype is dtype and a.shape == shape
    expected = list(value) if isinstance(value, bytes) else np.asarray(value).tolist()
    assert a.tolist() == expected


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ([[1, 2], [3]], ValueError),
        ([1, [2]], ValueError),
        ([1, "x"], ValueError),
        ("x", ValueError),
        (None, TypeError),
        ([None], ValueError),
        ({1: 2}, ValueError),
        (2**64, OverflowError),
        ([2**64], OverflowError),
        ([mx.array([1]), mx.array([1, 2])], ValueError),
    ],
)
def test_what_is_no_host_data(value, error):
    with pytest.raises(error):
        mx.array(value)


def test_conversion_of_lists_follows_astype():
    assert mx.array([300], mx.uint8).tolist() == [44]
    assert mx.array([1.9, -1.9], mx.int32).tolist() == [1, -1]
    assert mx.array([0.5, 0.0], mx.bool_).tolist() == [True, False]
    assert mx.array([1, 2], mx.complex64).tolist() == [1, 2]
    assert mx.array([2**64 - 1], mx.uint64).tolist() == [2**64 - 1]
    assert mx.array([0.1], mx.float64).tolist() == [0.1]
    for value in (0.1, 0.1 - 0.3j, 3, True, np.float64(0.1), np.complex128(0.1j)):
        assert mx.array(value, mx.complex128).item() == mx.array([[value]], mx.complex128).tolist()[0][0] == value
    assert mx.array([1, 2], mx.bfloat16).dtype is mx.bfloat16


def test_lists_of_arrays():
    a = mx.array([[mx.array([1, 2]), mx.array([3, 4])]])
    assert a.shape == (1, 2, 2) and a.tolist() == [[[1, 2], [3, 4]]]
    assert mx.array([mx.array(1), 2.5]).dtype is mx.float32
    mixed = mx.array([[mx.array([True]), [2.0]], [[3], mx.array([4])]])
    assert mixed.dtype is mx.float32 and mixed.tolist() == [[[1], [2]], [[3], [4]]]
    for bad in ([mx.array([1, 2]), [1]], [[1, 2], mx.array([1])], [mx.array([1]), 1]):
        with pytest.raises(ValueError):
            mx.array(bad)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("layout", ["row", "column", "step", "reversed", "empty", "scalar"])
def test_numpy_round_trip(name, layout):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (4, 6)).astype(name) if name == "bool" else (rng.random((4, 6)) * 100).astype(name)
    x = {
        "row": x,
        "column": x.T,
        "step": x[::2, 1::3],
        "reversed": x[::-1, ::-2],
        "empty": x[:0],
        "scalar": x[0, 0],
    }[layout]
    a = mx.array(x, DTYPES[name])
    assert a.dtype is DTYPES[name] and a.shape == x.shape
    back = np.array(a)
    assert back.dtype == x.dtype
    np.testing.assert_array_equal(back, x)
    np.testing.assert_array_equal(np.asarray(a.T if a.ndim == 2 else a), x.T if x.ndim == 2 else x)
    assert a.tolist() == x.tolist()


def test_wide_floats_become_narrow():
    assert mx.array(np.ones(2)).dtype is mx.float32
    assert mx.array(np.ones(2), mx.float64).dtype is mx.float64
    assert mx.array(np.ones(2, np.complex128)).dtype is mx.complex64
    assert mx.array(np.full(2, 0.1j), mx.complex128).tolist() == [0.1j, 0.1j]
    assert mx.array(np.arange(3)).dtype is mx.int64
    assert mx.array(np.arange(3, dtype=">i4")).tolist() == [0, 1, 2]


def test_bfloat16_exchange():
    import ml_dtypes

    x = np.array([1.5, -2, 3e38], ml_dtypes.bfloat16)
    a = mx.array(x)
    assert a.dtype is mx.bfloat16 and a.tolist() == x.astype(np.float32).tolist()
    assert memoryview(a).format == "bfloat16"
    with pytest.raises((TypeError, ValueError), match="bfloat16"):
        np.array(a)


def test_import_is_a_copy():
    x = np.zeros(300_000, np.float32)
    a, lazy = mx.array(x), mx.asarray(x) + 1
    x[:] = 7
    assert a.tolist()[:2] == [0, 0] and lazy.tolist()[:2] == [1, 1]


def test_export_shares_memory_and_owns_it():
    a = mx.arange(6).reshape(2, 3)
    view = np.array(a.T, copy=False)
    assert view.strides == (4, 12) and view.tolist() == [[0, 3], [1, 4], [2, 5]]
    a += 1
    a[0, 0] = 100
    mx.eval(a)
    assert view[0, 0] == 0 and a.tolist() == [[100, 2, 3], [4, 5, 6]]
    flat = memoryview(mx.array([1, 2]))
    assert flat.tolist() == [1, 2] and not flat.readonly
    formats = {"bool": "?", "int64": "q", "uint64": "Q", "float16": "e", "complex64": "Zf", "complex128": "Zd"}
    for name, code in formats.items():
        assert memoryview(mx.zeros((2,), DTYPES[name])).format == code
    assert bytes(mx.array([[1, 2], [3, 4]], mx.uint8).T) == bytes([1, 3, 2, 4])


def test_export_outlives_the_array():
    gc.collect()
    before = mx.handle_count()
    a = mx.array([1, 2, 3])
    view, alive = memoryview(a), weakref.ref(a)
    del a
    assert alive() is not None  # a memoryview owns the object that exported it
    assert view.tolist() == [1, 2, 3]
    view.release()
    gc.collect()
    assert alive() is None and mx.handle_count() == before


def test_zero_copy_import():
    x = np.arange(10, dtype=np.float32)
    a = mx.asarray(x, copy=False)
    assert np.array(a, copy=False).__array_interface__["data"][0] == x.__array_interface__["data"][0]
    with pytest.raises(ValueError):
        mx.asarray(x, mx.float16, copy=False)
    with pytest.raises(ValueError):
        mx.asarray([1, 2], copy=False)
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is not None and a.tolist() == list(range(10))
    del a
    gc.collect()
    gc.collect()
    assert alive() is None


def test_asarray_keeps_arrays():
    a = mx.array([1, 2])
    assert mx.asarray(a) is a and mx.asarray(a, copy=True) is not a
    assert mx.asarray(a, mx.float32).dtype is mx.float32
    with pytest.raises(ValueError):  # as in MLX
        mx.asarray(a, copy=False)


@pytest.mark.parametrize("name", DTYPES)
def test_dlpack_round_trip(name):
    x = np.arange(6).reshape(2, 3).astype(name)
    a = mx.array(x, DTYPES[name])
    np.testing.assert_array_equal(np.from_dlpack(a), x)
    np.testing.assert_array_equal(np.from_dlpack(a.T), x.T)
    back = mx.from_dlpack(x.T)
    narrower = {"float64": "float32", "complex128": "complex64"}.get(name, name)
    np.testing.assert_array_equal(np.array(back), x.T.astype(narrower))
    assert a.__dlpack_device__() == (1, 0)


def test_dlpack_without_a_copy_and_errors():
    x = np.arange(4, dtype=np.int32)
    a = mx.from_dlpack(x, copy=False)
    x[0] = 9
    assert a.tolist() == [9, 1, 2, 3]
    assert mx.from_dlpack(np.ones(2, np.complex128)).dtype is mx.complex64
    for double in (np.ones(2), np.ones(2, np.complex128)):  # would have to become single precision
        with pytest.raises(ValueError, match="copy"):
            mx.from_dlpack(double, copy=False)
        with pytest.raises(ValueError, match="copy"):
            mx.asarray(double, copy=False)
        assert mx.asarray(double, DTYPES[double.dtype.name], copy=False).dtype is DTYPES[double.dtype.name]
    with pytest.raises(ValueError, match="negative"):
        mx.from_dlpack(x[::-1])
    with pytest.raises(TypeError):
        mx.from_dlpack([1])
    capsule = a.__dlpack__()
    del a, capsule
    gc.collect()


def test_dlpack_layouts():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for view in (x, x.T, x[:, ::2], np.broadcast_to(np.float32(7), (3, 2))):
        a = mx.from_dlpack(view)
        assert a.tolist() == view.tolist() and memoryview(a).strides == view.strides
    column = x[:, 1]  # spans more than twice what it holds: not worth copying as it is
    assert mx.from_dlpack(column).tolist() == column.tolist() and memoryview(mx.from_dlpack(column)).c_contiguous
    copied = mx.from_dlpack(x.T)
    x[0, 0] = 99
    assert copied[0, 0].item() == 0


def test_dlpack_versions():
    a = mx.arange(6).reshape(2, 3)
    for version in (None, (0, 8), (1, 0), (1, 1)):
        capsule = a.__dlpack__(max_version=version)
        assert ("versioned" in repr(capsule)) == (version is not None and version >= (1, 0))

        producer = types.SimpleNamespace(__dlpack__=lambda capsule=capsule, **kwargs: capsule)
        assert mx.from_dlpack(producer).tolist() == a.tolist()
        with pytest.raises(ValueError, match="consumed"):
            mx.from_dlpack(producer)
    x = np.arange(3)
    x.flags.writeable = False
    assert mx.from_dlpack(x).tolist() == [0, 1, 2]
    assert a.__dlpack__(copy=True) is not None
    with pytest.raises(BufferError):
        a.__dlpack__(dl_device=(2, 0))


def test_torch_takes_and_gives():
    torch = pytest.importorskip("torch", reason="torch is no dependency of the tests")
    a = mx.arange(6, dtype=mx.float32).reshape(2, 3)
    t = torch.from_dlpack(a.T)
    assert t.tolist() == a.T.tolist() and t.stride() == (1, 3)
    assert mx.from_dlpack(t.T).tolist() == a.tolist()
    half = torch.ones(2, dtype=torch.bfloat16)
    assert mx.from_dlpack(half).dtype is mx.bfloat16 and mx.array(torch.ones(2)).tolist() == [1, 1]
    assert torch.from_dlpack(mx.ones((2,), mx.bfloat16)).dtype is torch.bfloat16


def test_mlx_array_protocol():
    class Wrapped:
        def __mlx_array__(self):
            return mx.array([1, 2])

    assert mx.array(Wrapped()).tolist() == [1, 2]
    assert (mx.array([1, 1]) + Wrapped()).tolist() == [2, 3]
    assert mx.add(Wrapped(), 1).tolist() == [2, 3]
    assert mx.array(mx.ArrayLike([3])).tolist() == [3]


def test_array_interface():
    a = mx.arange(6).reshape(2, 3).T
    interface = a.__array_interface__
    assert interface["shape"] == (3, 2) and interface["typestr"] == "<i4"

    class Only:
        __array_interface__ = interface

    assert np.asarray(Only()).tolist() == a.tolist()


@pytest.mark.parametrize("protocol", range(2, 6))
def test_pickle(protocol):
    for a in (mx.array(3), mx.zeros((0, 2)), mx.arange(6).reshape(2, 3).T, mx.array([1.5], mx.bfloat16)):
        b = pickle.loads(pickle.dumps(a, protocol))
        assert b.dtype is a.dtype and b.shape == a.shape and b.tolist() == a.tolist()
    assert pickle.loads(pickle.dumps(mx.float16)) is mx.float16


def test_pickle_out_of_band():
    a, buffers = mx.arange(1000), []
    data = pickle.dumps(a, 5, buffer_callback=buffers.append)
    assert len(buffers) == 1 and len(data) < 500
    assert pickle.loads(data, buffers=buffers).tolist() == a.tolist()


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, mx.array])
def test_copies_are_independent(copier):
    a = mx.array([1, 2])
    b = copier(a)
    b[0] = 9
    b += 1
    assert a.tolist() == [1, 2] and b.tolist() == [10, 3]


def test_in_place_keeps_the_object():
    a = mx.array([1.0, 2.0])
    alias, identity = a, id(a)
    for name in ("+=", "-=", "*=", "/=", "//=", "%=", "**="):
        exec(f"a {name} 2", {"a": a})
    b = mx.array([6, 3])
    before = id(b)
    b &= 3
    b |= 4
    b ^= 1
    b <<= 1
    b >>= 1
    assert id(b) == before and b.tolist() == [((6 & 3) | 4) ^ 1, ((3 & 3) | 4) ^ 1]
    m = mx.eye(2)
    m @= mx.array([[1.0, 2], [3, 4]])
    assert m.tolist() == [[1, 2], [3, 4]]
    assert id(a) == identity and alias is a


def test_operators_take_other_operands():
    a = mx.array([1, 2, 3])
    assert (a + 1).dtype is mx.int32 and (a + 1.5).dtype is mx.float32 and (a + 1j).dtype is mx.complex64
    assert (mx.array([True]) + 1).dtype is mx.int32 and (mx.array([1.0], mx.float16) * 2.5).dtype is mx.float16
    assert (2**a).tolist() == [2, 4, 8] and (7 // a).tolist() == [7, 3, 2] and (1 - a).tolist() == [0, -1, -2]
    assert (np.array([1, 2, 3]) + a).tolist() == [2, 4, 6] and isinstance(np.array([1, 2, 3]) + a, mx.array)
    assert (a + np.int8(1)).dtype is mx.int32
    assert [x.tolist() for x in divmod(a, 2)] == [[0, 1, 1], [1, 0, 1]]
    assert (~a).tolist() == [-2, -3, -4] and (-a).tolist() == [-1, -2, -3] and abs(-a).tolist() == [1, 2, 3]
    assert pow(a, 2).tolist() == [1, 4, 9]


def test_numpys_functions_take_arrays():
    a, x = mx.array([[1.0, 4.0], [9.0, 16.0]]), np.array([[1, 4], [9, 16]], np.float32)
    assert isinstance(np.sqrt(a), np.ndarray) and np.sqrt(a).tolist() == [[1, 2], [3, 4]]
    assert np.add(x, a).tolist() == (x + x).tolist() and np.allclose(x, a)
    assert np.all(x == a) and np.all(a == x) and not np.any(a != x)
    for name in ("sum", "prod", "min", "max"):
        assert getattr(np, name)(a).item() == getattr(np, name)(x)
        assert getattr(np, name)(a, axis=0).tolist() == getattr(np, name)(x, axis=0).tolist()
    with pytest.raises(TypeError, match="out"):
        np.sum(a, out=x)


def test_division_in_place_needs_floats():
    for dtype in (mx.bool_, mx.int32, mx.uint8):
        a = mx.array([1], dtype)
        with pytest.raises(ValueError, match="in place"):
            a /= 1
        assert a.dtype is dtype
    for dtype in (mx.float16, mx.complex64, mx.complex128):
        a = b = mx.array([3], dtype)
        a /= 2
        assert a is b and a.dtype is dtype and a.item() == 1.5


@pytest.mark.parametrize("other", [[1, 2, 3], (1, 2, 3), (1,), (), "x", None, {}, object()])
def test_unknown_operands(other):
    a = mx.array([1, 2, 3])
    with pytest.raises(ValueError, match="addition"):
        a + other
    with pytest.raises(ValueError, match="addition"):
        other + a
    with pytest.raises(ValueError, match="multiplication"):
        a *= other
    with pytest.raises(ValueError, match="less than"):
        a < other  # noqa: B015
    assert (a == other) is False and (a != other) is True


@pytest.mark.parametrize("value", [256, -1, 2**70])
def test_weak_scalars_must_fit(value):
    with pytest.raises(ValueError):
        mx.array([1], mx.uint8) + value


def test_identity_hash_and_weakref():
    a, b = mx.array([1]), mx.array([1])
    assert len({a, b}) == 2 and hash(a) == hash(a)
    alive = weakref.ref(a)
    del a
    assert alive() is None
    assert not hasattr(b, "__dict__")


def test_conversions_to_python():
    assert mx.array([3]).item() == 3 and isinstance(mx.array(3).item(), int)
    assert isinstance(mx.array(True).item(), bool) and mx.array(2j).item() == 2j
    assert int(mx.array(2.7)) == 2 and float(mx.array(3)) == 3.0 and complex(mx.array(1j)) == 1j
    assert [10, 20, 30][mx.array(1)] == 20
    assert bool(mx.array([2])) and not mx.array(0.0)
    for f in (bool, int, float, complex):
        with pytest.raises(ValueError):
            f(mx.array([1, 2]))
    for x in (mx.array([1]), mx.array(1.0), mx.array(True)):
        with pytest.raises(TypeError):
            x.__index__()
    with pytest.raises(ValueError):
        mx.array([1, 2]).item()


def test_len_and_iteration():
    a = mx.arange(24).reshape(12, 2)
    assert len(a) == 12 and [x.tolist() for x in a] == a.tolist()
    assert [x.item() for x in mx.arange(3)] == [0, 1, 2] and list(mx.zeros((0, 2))) == []
    for f in (len, iter):
        with pytest.raises(TypeError):
            f(mx.array(1))
    x, y = mx.array([1, 2])
    assert (x.item(), y.item()) == (1, 2)


def test_attributes():
    a = mx.zeros((2, 3, 4), mx.float16)
    assert (a.shape, a.ndim, a.size, a.itemsize, a.nbytes) == ((2, 3, 4), 3, 24, 2, 48)
    assert a.T.shape == (4, 3, 2) and a.mT.shape == (2, 4, 3)
    c = mx.array([1 + 2j])
    assert c.real.tolist() == [1] and c.imag.tolist() == [2] and c.conj().tolist() == [1 - 2j]
    assert a.__array_namespace__() is mx
    with pytest.raises(AttributeError):
        a.shape = (1,)


def test_methods_are_the_functions():
    a = mx.array([[1.0, 2], [3, 4]])
    assert a.sum(axis=0).tolist() == mx.sum(a, axis=0).tolist() == [4, 6]
    assert a.reshape(4).tolist() == a.reshape([4]).tolist() == a.reshape(-1).tolist() == a.flatten().tolist()
    assert a.reshape(1, 2, 2).shape == (1, 2, 2) and a.transpose(1, 0).tolist() == a.T.tolist()
    assert a.transpose([1, 0]).tolist() == a.transpose().tolist()
    assert a.astype(mx.int32).dtype is mx.int32 and a.view(mx.uint8).shape == (2, 8)
    assert [x.tolist() for x in a.split(2, axis=1)] == [[[1], [3]], [[2], [4]]]
    with pytest.raises(TypeError):
        a.astype("float32")


def test_deep_graphs_neither_overflow_nor_recurse():
    x = mx.array([1.0])
    for _ in range(100_000):
        x = x + 1
    assert x.item() == 100_001
    y = mx.array([1.0])
    for _ in range(100_000):
        y = y * 1
    del y
    gc.collect()


def test_await():
    async def main():
        a, b = mx.ones((64, 64)) @ mx.ones((64, 64)), mx.array(1)
        return [(await x).shape for x in (a, b)]

    assert asyncio.run(main()) == [(64, 64), ()]


def test_nothing_leaks():
    a = mx.array([1.0, 2.0])
    mx.eval(a)
    gc.collect()
    before = mx.handle_count()
    for _ in range(10):
        b = (a + 1) * 2 - a
        b[0] = 3
        b.tolist()
        list(b)
        with contextlib.suppress(ValueError):
            a + mx.zeros((3,))
    del b
    gc.collect()
    assert mx.handle_count() == before
