"""Sizes of 0, 0-d arrays and axes that do not exist, over all functions: NumPy's shapes and values, or an error; eager
and compiled alike."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pymx as mx

SHAPES = [(), (0,), (1,), (0, 3), (3, 0), (2, 0, 3), (0, 0), (1, 1, 1)]

# Functions of one array that exist in NumPy under the same name, with the same arguments.
SAME = {
    "sum": {},
    "prod": {},
    "all": {},
    "any": {},
    "cumsum": {"axis": -1},
    "cumprod": {"axis": -1},
    "sort": {"axis": -1},
    "argsort": {"axis": -1},
    "flip": {},
    "transpose": {},
    "squeeze": {},
    "expand_dims": {"axis": (0, -1)},
    "reshape": {"shape": (-1,)},
    "repeat": {"repeats": 2},
    "tile": {"reps": (2, 1)},
    "roll": {"shift": 1},
    "pad": {"pad_width": 1},
    "diff": {"axis": -1},
    "atleast_2d": {},
    "atleast_3d": {},
    "nan_to_num": {},
    "round": {},
    "zeros_like": {},
    "ones_like": {},
    "tril": {},
    "triu": {},
    "max": {"axis": 0, "keepdims": True},
    "min": {"axis": -1},
    "argmax": {"axis": -1},
    "argmin": {"axis": 0, "keepdims": True},
    "trace": {},
    "diagonal": {},
    "var": {"axis": ()},
    "concatenate": {"axis": 0},
    "stack": {"axis": -1},
}
LISTS = ("concatenate", "stack")
POSITIONAL = ("reshape", "repeat", "tile", "roll", "pad", "expand_dims")


def call(module, name, x):
    arguments = dict(SAME[name])
    first = [arguments.pop(next(iter(arguments)))] if name in POSITIONAL else []
    x = [x, x] if name in LISTS else x
    return getattr(module, name)(x, *first, **arguments)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", SAME)
def test_sizes_of_zero(name, shape):
    x = np.ones(shape, np.float32)
    try:
        expected = np.asarray(call(np, name, x))
    except (ValueError, IndexError, TypeError):
        # an error of NumPy's may be a result here (the last axis of a 0-d array for example), but no crash
        expected = None
    for f in (lambda a: call(mx, name, a), mx.compile(lambda a: call(mx, name, a))):
        try:
            got = np.array(f(mx.array(x)))
        except ValueError:
            matrices_only = name in ("tril", "triu") and len(shape) < 2  # NumPy makes a square of a row
            assert expected is None or not shape or matrices_only, f"{name}{shape} failed"
            continue
        if expected is not None:
            assert got.shape == expected.shape
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    ("a", "b"),
    [((0, 3), (3, 2)), ((2, 0), (0, 2)), ((2, 3), (3, 0)), ((0,), (0,)), ((4, 0, 3), (3, 1)), ((0, 2, 3), (3,))],
)
def test_products_of_nothing(a, b):
    x, y = np.ones(a, np.float32), np.ones(b, np.float32)
    for f in (mx.matmul, mx.compile(mx.matmul)):
        np.testing.assert_array_equal(np.array(f(mx.array(x), mx.array(y))), x @ y)
    np.testing.assert_array_equal(np.array(mx.outer(mx.array(x), mx.array(y))), np.outer(x, y))


@pytest.mark.parametrize("axis", [2, -3, 2**31, -(2**31) - 1, 2**62, -(2**62)])
def test_axes_that_do_not_exist(axis):
    a = mx.ones((2, 3))
    names = ["sum", "max", "all", "argmax", "softmax", "logsumexp", "mean", "var", "cumsum", "sort", "argsort", "diff"]
    for name in [*names, "flip", "squeeze"]:
        with pytest.raises((ValueError, IndexError)):
            getattr(mx, name)(a, axis=axis)
    for f in (
        lambda: mx.expand_dims(a, axis + (1 if axis > 0 else -1)),
        lambda: mx.swapaxes(a, 0, axis),
        lambda: mx.moveaxis(a, axis, 0),
        lambda: mx.transpose(a, (0, axis)),
        lambda: mx.concatenate([a, a], axis=axis),
        lambda: mx.split(a, 1, axis=axis),
        lambda: mx.take(a, mx.array([0]), axis=axis),
        lambda: mx.take_along_axis(a, mx.array([[0]]), axis=axis),
        lambda: mx.repeat(a, 2, axis=axis),
        lambda: mx.roll(a, 1, axis),
        lambda: mx.unflatten(a, axis, (1, -1)),
        lambda: mx.sum(a, axis=(0, 0)),
    ):
        with pytest.raises((ValueError, IndexError)):
            f()


@settings(max_examples=100, deadline=None)
@given(hnp.mutually_broadcastable_shapes(num_shapes=3, min_side=0, max_dims=5, max_side=4), st.integers(0, 2**16))
def test_broadcasting_equals_numpys(shapes, seed):
    x, y, z = (np.random.default_rng(seed).integers(-9, 9, s).astype(np.int32) for s in shapes.input_shapes)
    f = lambda a, b, c: a * b + c  # noqa: E731
    for ours in (f, mx.compile(f)):
        got = np.array(ours(*map(mx.array, (x, y, z))))
        assert got.shape == shapes.result_shape
        np.testing.assert_array_equal(got, f(x, y, z))
    wide = mx.where(mx.array(x) > 0, mx.array(y), mx.array(z))
    np.testing.assert_array_equal(np.array(wide), np.where(x > 0, y, z))
