"""Arrays on read-only memory of the host: nothing that they export can be written to, and nothing writes to them."""

import types

import numpy as np
import pytest

import pymx as mx
from pymx import array_api


def frozen(n=6):
    x = np.arange(n, dtype=np.float32)
    x.flags.writeable = False
    return x


SOURCES = {
    "bytes": lambda: mx.asarray(bytes(range(6)), copy=False),
    "memoryview": lambda: mx.asarray(memoryview(bytearray(range(6))).toreadonly(), copy=False),
    "numpy": lambda: mx.asarray(frozen(), copy=False),
    "dlpack": lambda: mx.from_dlpack(frozen(), copy=False),
    "another array of ours": lambda: mx.from_dlpack(mx.asarray(frozen(), copy=False), copy=False),
    "array_api": lambda: array_api.asarray(frozen(), copy=False),
}
VIEWS = {
    "itself": lambda a: a,
    "slice": lambda a: a[1:],
    "reversed": lambda a: a[::-1],
    "reshape": lambda a: a.reshape(2, 3),
    "transpose": lambda a: a.reshape(2, 3).T,
    "broadcast": lambda a: mx.broadcast_to(a, (2, 6)),
    "view": lambda a: a.view(mx.uint8),
    "squeeze": lambda a: a[None].squeeze(0),
    "identity": lambda a: array_api.asarray(a),
    "compiled": lambda a: mx.compile(lambda x: x[2:])(a),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("source", SOURCES)
def test_exports_are_read_only(source, view):
    a = VIEWS[view](SOURCES[source]())
    mx.eval(a)
    exported = memoryview(a)
    assert exported.readonly
    for x in (np.asarray(a), np.array(a, copy=False), np.asarray(exported)):
        assert not x.flags.writeable and x.tolist() == a.tolist()
        with pytest.raises(ValueError, match="read-only"):
            x[:] = 0
        with pytest.raises(ValueError):  # the memory below is not writable either
            x.flags.writeable = True


@pytest.mark.parametrize("source", SOURCES)
def test_interface_is_read_only(source):
    a = SOURCES[source]()
    shared = np.asarray(types.SimpleNamespace(__array_interface__=a.__array_interface__))
    assert not shared.flags.writeable and shared.tolist() == a.tolist()


@pytest.mark.parametrize("source", SOURCES)
def test_writable_buffer_is_refused(source):
    a = SOURCES[source]()
    with open("/dev/zero", "rb") as zeros, pytest.raises((BufferError, TypeError)):
        zeros.readinto(a)  # PyBUF_WRITABLE
    assert a.tolist() == list(range(6))


@pytest.mark.parametrize("source", SOURCES)
def test_dlpack_says_so(source):
    a = SOURCES[source]()
    assert not np.from_dlpack(a).flags.writeable
    for version in (None, (0, 8)):  # a consumer that could not be told
        with pytest.raises(BufferError, match="read-only"):
            a.__dlpack__(max_version=version)
    assert np.from_dlpack(types.SimpleNamespace(__dlpack__=lambda **_: a.__dlpack__(copy=True))).tolist() == a.tolist()
    assert a.__dlpack__(max_version=(1, 0), copy=True) is not None
    assert a.__dlpack__(copy=True) is not None


@pytest.mark.parametrize("source", SOURCES)
def test_updates_copy(source):
    a = SOURCES[source]()
    shared = np.asarray(a)
    a[0] = 9
    a += 1
    mx.eval(a)
    assert a.tolist() == [10, 2, 3, 4, 5, 6] and shared.tolist() == list(range(6))
    assert not memoryview(a).readonly and np.asarray(a).flags.writeable
    fresh = mx.array(SOURCES[source]())
    assert not memoryview(fresh + 0).readonly


def test_writable_memory_stays_writable():
    x, raw = np.arange(6, dtype=np.float32), bytearray(range(6))
    a, b = mx.asarray(x, copy=False), mx.asarray(raw, copy=False)
    memoryview(a)[1] = 7
    np.asarray(b)[1] = 7
    np.from_dlpack(mx.from_dlpack(x, copy=False))  # NumPy before 2.1 makes these read-only itself
    assert a.__dlpack__() is not None and x[1] == 7 and raw[1] == 7


SAVE = {
    "x.npy": mx.save,
    "x.safetensors": lambda path, x: mx.save_safetensors(path, {"x": x}),
}


@pytest.mark.parametrize("name", SAVE)
def test_mapped_files_are_read_only(name, tmp_path):
    path = str(tmp_path / name)
    SAVE[name](path, mx.arange(1, 4097))

    def load():
        a = mx.load(path, mmap=True)
        return a if isinstance(a, mx.array) else a["x"]

    a = load()
    assert memoryview(a).readonly  # in the mapping, where a write would be SIGSEGV
    a[0] = 5
    assert a[:2].tolist() == [5, 2] and load()[0].item() == 1


OVERLAPPING = {
    "a row for all": lambda a: mx.broadcast_to(a[0], (5, *a[0].shape)),
    "a column for all": lambda a: mx.broadcast_to(a[:, :1], a.shape),
    "windows": lambda a: mx.as_strided(a, (2, 3), (1, 1)),
}
APART = {
    "transposed": lambda a: a.T,
    "reversed": lambda a: a[::-1, ::-1],
    "steps": lambda a: a[::2, 1:],
    "one row of many": lambda a: mx.broadcast_to(a[0], (1, *a[0].shape)),
    "windows that do not meet": lambda a: mx.as_strided(a, (2, 2), (2, 1)),
}


def numbers():
    return mx.array(np.arange(12, dtype=np.float32).reshape(3, 4))


@pytest.mark.parametrize("view", OVERLAPPING)
def test_elements_in_the_same_place_are_read_only(view):
    """As NumPy has it: writing to one element would change others."""
    a = OVERLAPPING[view](numbers())
    mx.eval(a)
    assert memoryview(a).readonly
    for x in (np.asarray(a), np.array(a, copy=False), np.from_dlpack(a)):
        assert not x.flags.writeable and x.tolist() == a.tolist()
    copy = np.array(a)
    copy[0, 0] = -1
    assert copy.flags.writeable and (copy == -1).sum() == 1
    with pytest.raises(BufferError):
        a.__dlpack__(copy=False)
    old = types.SimpleNamespace(__dlpack__=lambda **_: a.__dlpack__(), __dlpack_device__=a.__dlpack_device__)
    assert mx.from_dlpack(old).tolist() == a.tolist()  # who cannot be told gets a copy


@pytest.mark.parametrize("view", APART)
def test_elements_in_places_of_their_own_are_writable(view):
    a = APART[view](numbers())
    mx.eval(a)
    assert not memoryview(a).readonly and np.asarray(a).flags.writeable
