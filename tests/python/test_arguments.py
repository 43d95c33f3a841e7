"""What functions make of their arguments."""

import io

import numpy as np
import pytest

import pymx as mx

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
WRONG = {
    "zeros: shape": lambda: mx.zeros(2.0),
    "ones: shape": lambda: mx.ones((2.0,)),
    "full: shape": lambda: mx.full("ab", 1),
    "reshape: shape": lambda: mx.reshape(X, None),
    "sum: axes": lambda: mx.sum(X, "a"),
    "zeros: stream": lambda: mx.zeros((2,), stream=5.0),
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
