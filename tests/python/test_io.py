"""Files: both ways against NumPy and the safetensors package, objects with read and write, and what is refused."""

import io
import json
import struct
import zipfile

import numpy as np
import pytest
from safetensors import numpy as safetensors

import pymx as mx

DTYPES = [
    *["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"],
    *["float16", "float32", "float64", "complex64", "complex128"],
]
SHAPES = [(), (1,), (3,), (2, 3), (4, 1, 5), (0,), (2, 0, 3), (1,) * 12]


def sample(dtype, shape, order="C"):
    x = np.random.default_rng(0).integers(0, 100, shape) % (2 if dtype == "bool" else 100)
    return np.array(x, dtype=dtype, order=order)


def ours(x):
    """The array of the same dtype: float64 has to be asked for."""
    return mx.array(x, {"float64": mx.float64, "complex128": mx.complex128}.get(x.dtype.name))


def same(ours, theirs):
    ours = np.asarray(ours)
    assert ours.dtype == theirs.dtype.newbyteorder("=") and ours.shape == theirs.shape
    np.testing.assert_array_equal(ours, theirs)


def numpy_file(x, save=np.save, **kwargs):
    file = io.BytesIO()
    save(file, x, **kwargs)
    return file.getvalue()


def our_file(save, *args, **kwargs):
    file = io.BytesIO()
    save(file, *args, **kwargs)
    return file.getvalue()


# ---- npy


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_npy_is_numpys_byte_for_byte(dtype, shape):
    x = sample(dtype, shape)
    assert our_file(mx.save, ours(x)) == numpy_file(x)
    same(mx.load(io.BytesIO(numpy_file(x))), x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", "<>")
def test_npy_byte_order_and_columns(dtype, order):
    x = sample(dtype, (3, 4, 2), "F").astype(np.dtype(dtype).newbyteorder(order))
    same(mx.load(io.BytesIO(numpy_file(x))), x)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_npy_versions(version, tmp_path):
    x = sample("int32", (2, 3))
    with open(tmp_path / "x.npy", "wb") as f:
        np.lib.format.write_array(f, x, version)
    same(mx.load(tmp_path / "x.npy"), x)


def test_npy_of_other_layouts():
    x = sample("int32", (4, 6))
    a = mx.array(x)
    assert our_file(mx.save, a.T) == numpy_file(np.ascontiguousarray(x.T))
    assert our_file(mx.save, a[::-2, 1::2]) == numpy_file(np.ascontiguousarray(x[::-2, 1::2]))
    assert our_file(mx.save, mx.broadcast_to(a[0], (3, 6))) == numpy_file(
        np.ascontiguousarray(np.broadcast_to(x[0], (3, 6)))
    )


def test_bfloat16_is_two_raw_bytes():
    a = mx.array([1.0, -2.5, 3.0]).astype(mx.bfloat16)
    file = our_file(mx.save, a)
    assert np.load(io.BytesIO(file)).dtype == "V2"
    back = mx.load(io.BytesIO(file))
    assert back.dtype == mx.bfloat16 and back.tolist() == [1.0, -2.5, 3.0]


# ---- npz


@pytest.mark.parametrize("save", [mx.savez, mx.savez_compressed])
def test_npz_for_numpy(save, tmp_path):
    x, y = sample("float32", (300, 200)), sample("int64", ())
    save(tmp_path / "x", mx.array(x), mx.array(y), **{"näme": mx.array(y)})
    with np.load(tmp_path / "x.npz") as theirs:
        assert set(theirs) == {"arr_0", "arr_1", "näme"}
        np.testing.assert_array_equal(theirs["arr_0"], x)
        np.testing.assert_array_equal(theirs["näme"], y)
    with zipfile.ZipFile(tmp_path / "x.npz") as zip:
        assert zip.testzip() is None
        assert {i.compress_type for i in zip.infolist()} == {8 if save is mx.savez_compressed else 0}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("mmap", [False, True])
def test_npz_of_numpy(save, mmap, tmp_path):
    arrays = {"a": sample("float32", (300, 200), "F"), "b/c": sample("bool", (7,)), "d": sample(">i2", (3, 3))}
    save(tmp_path / "x.npz", **arrays)
    loaded = mx.load(str(tmp_path / "x.npz"), mmap=mmap)
    assert list(loaded) == list(arrays)
    for name, x in arrays.items():
        same(loaded[name], x)


def test_npz_of_an_unseekable_writer():
    """zipfile then writes sizes behind the data."""

    class Pipe(io.RawIOBase):
        parts = ()

        def writable(self):
            return True

        def write(self, data):
            self.parts += (bytes(data),)
            return len(data)

    pipe, x = Pipe(), sample("int16", (5,))
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as zip:
        zip.writestr("x.npy", numpy_file(x))
    same(mx.load(io.BytesIO(b"".join(pipe.parts)))["x"], x)


def test_npz_checksum():
    x = sample("uint8", (1000,))
    file = bytearray(numpy_file(x, lambda f, x: np.savez(f, x=x)))
    file[file.index(x.tobytes()) + 500] ^= 1
    with pytest.raises(OSError, match=r"x\.npy': CRC is"):
        mx.eval(mx.load(io.BytesIO(file))["x"])


# ---- safetensors


@pytest.mark.parametrize("metadata", [None, {"format": 'a"\\\né'}])
def test_safetensors_is_the_packages_byte_for_byte(metadata):
    dtypes = [d for d in DTYPES if not d.startswith("complex")]
    arrays = {f"{d}.{len(s)}": sample(d, s) for d in dtypes for s in SHAPES[:7]}
    file = our_file(mx.save_safetensors, {k: ours(v) for k, v in arrays.items()}, metadata)
    assert file == safetensors.save(arrays, metadata)


@pytest.mark.parametrize("mmap", [False, True])
def test_safetensors_of_the_package(mmap, tmp_path):
    arrays = {f"{d}.{len(s)}": sample(d, s) for d in DTYPES if not d.startswith("complex") for s in SHAPES}
    safetensors.save_file(arrays, tmp_path / "x.safetensors", {"k": "v", "é": ""})
    loaded, metadata = mx.load(tmp_path / "x.safetensors", return_metadata=True, mmap=mmap)
    assert loaded.keys() == arrays.keys() and metadata == {"k": "v", "é": ""}
    for name, x in arrays.items():
        same(loaded[name], x)


def test_safetensors_cannot_hold_complex128(tmp_path):
    with pytest.raises(NotImplementedError, match="complex128"):
        mx.save_safetensors(str(tmp_path / "x.safetensors"), {"x": mx.zeros(2, mx.complex128)})


def test_safetensors_of_other_dtypes():
    a = {"b": mx.array([1.5, 2]).astype(mx.bfloat16), "c": mx.array([1 + 2j])}
    back = mx.load(io.BytesIO(our_file(mx.save_safetensors, a)))
    assert {k: (v.dtype, v.tolist()) for k, v in back.items()} == {k: (v.dtype, v.tolist()) for k, v in a.items()}
    header = json.dumps(
        {"x": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [0, 2]}, "__metadata__": None}
    ).encode()
    back = mx.load(io.BytesIO(struct.pack("<Q", len(header)) + header + b"8@"))
    assert back["x"].dtype == mx.uint8 and mx.from_fp8(back["x"], mx.float32).tolist() == [1.0, 2.0]


# ---- files


def test_extensions(tmp_path):
    a = mx.array([1, 2])
    mx.save(str(tmp_path / "a"), a)
    mx.savez(str(tmp_path / "b.npz"), a)
    mx.save_safetensors(tmp_path / "c", {"": a})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.npy", "b.npz", "c.safetensors"]
    (tmp_path / "c.safetensors").rename(tmp_path / "c")
    assert mx.load(tmp_path / "c")[""].tolist() == [1, 2]  # by its first bytes
    assert mx.load(tmp_path / "c", format="safetensors")[""].tolist() == [1, 2]
    with open(tmp_path / "a.npy", "rb") as f:
        assert mx.load(f).tolist() == [1, 2]
    assert mx.load((tmp_path / "b.npz").open("rb"), "npz")["arr_0"].tolist() == [1, 2]


def test_a_file_is_read_when_an_array_is_evaluated(tmp_path):
    mx.save(tmp_path / "a.npy", mx.arange(100000))
    before = mx.get_active_memory()
    a = mx.load(tmp_path / "a.npy")
    (tmp_path / "a.npy").unlink()
    assert mx.get_active_memory() == before
    assert a.tolist() == list(range(100000))


def test_saving_over_the_file_that_is_loaded(tmp_path):
    file = tmp_path / "w.safetensors"
    mx.save_safetensors(file, {"w": mx.array([1.0, 2.0])})
    weights = mx.load(file)
    mx.save_safetensors(file, {"w": weights["w"] + 1})
    assert mx.load(file)["w"].tolist() == [2.0, 3.0] and weights["w"].tolist() == [1.0, 2.0]
    assert [p.name for p in tmp_path.iterdir()] == ["w.safetensors"]


def test_a_failed_save_leaves_the_file(tmp_path):
    file = tmp_path / "a.npz"
    mx.savez(file, mx.array([1]))
    before, missing = file.read_bytes(), tmp_path / "b.npy"
    mx.save(missing, mx.array([1, 2, 3]))
    bad = mx.load(missing)
    missing.write_bytes(missing.read_bytes()[:-1])
    with pytest.raises(OSError, match=r"b\.npy': ends before"):
        mx.savez(file, mx.array([1]), bad)
    missing.unlink()
    assert file.read_bytes() == before and list(tmp_path.iterdir()) == [file]


def test_handles():
    gc_file = our_file(mx.save, mx.array([1]))
    before = mx.handle_count()
    for _ in range(3):
        mx.load(io.BytesIO(gc_file))
        our_file(mx.save, mx.array([1]))
        with pytest.raises(OSError):
            mx.load(io.BytesIO(gc_file[:-1]))
    assert mx.handle_count() == before


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda p: mx.load(p / "none.npy"), RuntimeError, "none.npy"),
        (lambda p: mx.load(p / "none.npy"), OSError, "No such file"),
        (lambda p: mx.load(p), OSError, "not a regular file"),
        (lambda p: mx.load(p / "x", format="gguf"), ValueError, "gguf"),
        (lambda p: mx.load("a\0b"), ValueError, "null"),
        (lambda p: mx.load(3), TypeError, "int"),
        (lambda p: mx.load(io.BytesIO(numpy_file(np.zeros(1, "c32")))), RuntimeError, "<c32"),
        (lambda p: mx.load(io.BytesIO(numpy_file(np.array(["a"])))), RuntimeError, "<U1"),
        (lambda p: mx.load(io.BytesIO(numpy_file(np.zeros(1))), return_metadata=True), ValueError, "metadata"),
        (lambda p: mx.savez(p / "x", mx.array(1), arr_0=mx.array(1)), ValueError, "arr_0"),
        (lambda p: mx.save_safetensors(p / "x", {"__metadata__": mx.array(1)}), ValueError, "__metadata__"),
        (lambda p: mx.save_safetensors(p / "x", {1: mx.array(1)}), TypeError, "int"),
        (lambda p: mx.save_safetensors(p / "x", {"a": mx.array(1)}, {"k": 1}), TypeError, "int"),
        (lambda p: mx.save_safetensors(p / "x", {"a\0": mx.array(1)}), ValueError, "null"),
        (lambda p: mx.save(p / "none" / "x", mx.array(1)), OSError, "No such file"),
    ],
)
def test_refused(call, error, text, tmp_path):
    with pytest.raises(error, match=text):
        call(tmp_path)
    assert list(tmp_path.iterdir()) == []
