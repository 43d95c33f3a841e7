"""Indexing against NumPy: get, set and .at, with every kind of key."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pymx as mx

settings.register_profile("pymx", deadline=None, max_examples=150)
settings.load_profile("pymx")


def numbers(shape):
    return np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)


SHAPES = hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=5)


@st.composite
def basic_cases(draw):
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5))
    return shape, draw(hnp.basic_indices(shape, allow_ellipsis=True, allow_newaxis=True))


@st.composite
def advanced_cases(draw):
    """Keys that mix ints, slices, None, an ellipsis and integer arrays that broadcast against each other."""
    shape = draw(SHAPES)
    joint = draw(st.sampled_from([(), (1,), (3,), (2, 3)]))
    front = draw(st.integers(0, len(shape)))
    back = draw(st.integers(0, len(shape) - front))
    key = []
    for size in shape[:front] + shape[len(shape) - back :]:
        kind = draw(st.sampled_from(["int", "slice", "array", "array", "narrow"]))
        if kind == "int":
            key.append(draw(st.integers(-size, size - 1)))
        elif kind == "slice":
            key.append(draw(st.slices(size)))
        else:
            dims = joint if kind == "array" else (1,) * len(joint)
            key.append(draw(hnp.arrays(np.int32, dims, elements=st.integers(-size, size - 1))))
    if back or draw(st.booleans()):
        key.insert(front, Ellipsis)
    for _ in range(draw(st.integers(0, 2))):
        key.insert(draw(st.integers(0, len(key))), None)
    return shape, tuple(key)


def ours(key):
    """The key with arrays of ours."""
    items = key if isinstance(key, tuple) else (key,)
    new = tuple(mx.array(k) if isinstance(k, np.ndarray) else k for k in items)
    return new if isinstance(key, tuple) else new[0]


@given(basic_cases())
def test_basic_get(case):
    shape, key = case
    x = numbers(shape)
    out = mx.array(x)[key]
    assert out.shape == x[key].shape
    np.testing.assert_array_equal(np.array(out), x[key])


@given(basic_cases())
def test_basic_set(case):
    shape, key = case
    x = numbers(shape)
    a = mx.array(x)
    value = numbers(x[key].shape) + 100
    x[key] = value
    a[key] = mx.array(value)
    np.testing.assert_array_equal(np.array(a), x)


@given(advanced_cases())
def test_advanced_get(case):
    shape, key = case
    x = numbers(shape)
    out = mx.array(x)[ours(key)]
    assert out.shape == x[key].shape
    np.testing.assert_array_equal(np.array(out), x[key])


@given(advanced_cases())
def test_advanced_set(case):
    shape, key = case
    x = numbers(shape)
    a = mx.array(x)
    value = np.broadcast_to(np.int32(-7), x[key].shape)
    x[key] = value
    a[ours(key)] = mx.array(value)
    np.testing.assert_array_equal(np.array(a), x)


@given(advanced_cases())
def test_advanced_add_counts_repeats(case):
    shape, key = case
    x = numbers(shape)
    out = mx.array(x).at[ours(key)].add(1)
    np.add.at(x, key, 1)
    np.testing.assert_array_equal(np.array(out), x)


@given(st.data())
def test_masks(data):
    shape = data.draw(SHAPES)
    n = data.draw(st.integers(1, len(shape)))
    mask = data.draw(hnp.arrays(bool, shape[:n]))
    x = numbers(shape)
    a = mx.array(x)
    np.testing.assert_array_equal(np.array(a[mx.array(mask)]), x[mask])
    value = numbers(x[mask].shape) - 50
    x[mask] = value
    a[mx.array(mask)] = mx.array(value)
    np.testing.assert_array_equal(np.array(a), x)
    x[mask], a[mx.array(mask)] = 3, 3
    np.testing.assert_array_equal(np.array(a), x)


def test_masks_mixed_with_other_items():
    x = numbers((3, 4, 5))
    a, rows, columns = mx.array(x), np.array([True, False, True]), np.array([True, False, True, True])
    for key in [
        (rows, 1),
        (rows, slice(1, 3)),
        (slice(None), columns),
        (Ellipsis, np.array([True] * 4 + [False])),
        (rows, np.array([0, 1])),
        (None, rows),
        True,
        False,
    ]:
        expected = x[key]
        out = a[ours(key)]
        assert out.shape == expected.shape
        np.testing.assert_array_equal(np.array(out), expected)
    assert [i.tolist() for i in mx.nonzero(mx.array([[0, 1], [1, 0]]) > 0)] == [[0, 1], [1, 0]]


def test_mask_inside_a_trace_is_an_error():
    f = mx.compile(lambda x: x[x > 0])
    with pytest.raises(mx.TraceError, match="mask"):
        f(mx.array([1, -1]))
    g = mx.compile(lambda x: mx.where(x > 0, x, 0))
    assert g(mx.array([1, -1])).tolist() == [1, 0]


def _assign(key, value):
    def f(x):
        x[key] = value
        return x

    return f


def test_scalar_and_narrow_assignment():
    for key, value in [
        (0, 5),
        ((slice(None), 1), [1, 2, 3]),
        (Ellipsis, 2.9),
        ((), 4),
        (slice(1), np.ones((1, 4), np.int32)),
        ((slice(None), None, 0), np.ones((1, 3, 1), np.int32)),
        ([0, 2], 9),
        ([], 9),
    ]:
        x = numbers((3, 4))
        a = mx.array(x)
        _assign(key, value)(x)
        _assign(key, value)(a)
        np.testing.assert_array_equal(np.array(a), x)


def test_lists_and_numpy_index():
    x = numbers((4, 3))
    a = mx.array(x)
    for key in [
        [0, 2],
        [[0], [1]],
        np.array([1, -1]),
        (np.int64(1), slice(None)),
        np.uint8(2),
        [True, False, True, False],
    ]:
        np.testing.assert_array_equal(np.array(a[key]), x[key])
    assert a[mx.array(1)].tolist() == x[1].tolist()
    for dtype in (mx.uint8, mx.int16, mx.uint32, mx.int64, mx.uint64):
        assert a[mx.array([3, 0], dtype)].tolist() == x[[3, 0]].tolist()


@pytest.mark.parametrize(
    "key",
    [4, -5, (0, 3), (0, 0, 0), (Ellipsis, Ellipsis), "x", 1.5, slice(0.5, 2), (0, "y"), np.zeros(3, bool), np.ones(2)],
)
def test_wrong_keys(key):
    a = mx.zeros((4, 3))
    with pytest.raises((IndexError, ValueError, TypeError)):
        a[key]
    with pytest.raises((IndexError, ValueError, TypeError)):
        a[key] = 1


def test_errors_are_index_errors():
    with pytest.raises(IndexError, match="out of bounds"):
        mx.zeros((2,))[2]
    with pytest.raises(IndexError, match="too many"):
        mx.zeros((2,))[..., 0, 0]
    with pytest.raises(ValueError, match="step"):
        mx.zeros((2,))[::0]


@pytest.mark.parametrize("value", [np.zeros(3), np.zeros((2, 4)), np.zeros((2, 1, 4))])
def test_values_that_do_not_fit(value):
    a = mx.zeros((3, 4))
    with pytest.raises(ValueError):
        a[0] = mx.array(value)


def test_too_few_values_for_a_mask():
    a = mx.zeros((4,))
    with pytest.raises(ValueError, match="mask"):
        a[mx.array([True, True, True, False])] = mx.array([1.0, 2.0])
    assert a.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.int32, mx.complex64, mx.complex128])
def test_at(dtype):
    a = mx.array([1, 2, 4], dtype)
    i = mx.array([0, 0, 2])
    assert a.at[i].add(1).tolist() == [3, 2, 5]
    assert a.at[i].subtract(1).tolist() == [-1, 2, 3]
    assert a.at[i].multiply(2).tolist() == [4, 2, 8]
    assert a.at[1:].divide(2).tolist() == [1, 1, 2]
    if not mx.issubdtype(dtype, mx.complexfloating):
        assert a.at[i].maximum(3).tolist() == [3, 2, 4]
        assert a.at[i].minimum(3).tolist() == [1, 2, 3]
    assert a.tolist() == [1, 2, 4]
    for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum"):
        with pytest.raises(ValueError, match="index"):
            getattr(a.at, name)(1)


def test_assignment_keeps_views_of_before():
    a = mx.arange(6)
    b, c = a[2:4], a + 0
    a[2] = 50
    assert b.tolist() == [2, 3] and c.tolist() == [0, 1, 2, 3, 4, 5] and a.tolist() == [0, 1, 50, 3, 4, 5]


@pytest.mark.parametrize("dtype", [mx.complex64, mx.complex128, mx.bool_, mx.bfloat16, mx.uint8, mx.float64])
def test_four_dimensional_assignment(dtype):
    x = np.zeros((2, 3, 4, 5), np.float32)
    a = mx.zeros(x.shape, dtype)
    x[1, :, [0, 2]] = 1
    a[1, :, mx.array([0, 2])] = 1
    x[..., -1] = 1
    a[..., -1] = 1
    np.testing.assert_array_equal(np.array(a.astype(mx.float32)), x)


@pytest.mark.parametrize("value", [0.1, 0.1j, [0.1, 0.2j], np.array([0.1, 0.2j])])
def test_assigned_numbers_keep_double_precision(value):
    a = mx.zeros(2, mx.complex128)
    a[:] = value
    assert np.array_equal(np.array(a), np.broadcast_to(value, 2))
    assert np.array_equal(np.array(mx.zeros(2, mx.complex128).at[:].add(value)), np.broadcast_to(value, 2))


def test_many_assignments_in_place():
    a = mx.zeros((1000,))
    for i in range(1000):
        a[i] = i
    assert a.tolist() == list(range(1000))


def test_take_and_put_along_axis():
    x = numbers((3, 4))
    i = np.argsort(-x, axis=1)
    assert mx.take_along_axis(mx.array(x), mx.array(i), axis=1).tolist() == np.take_along_axis(x, i, 1).tolist()
    assert mx.put_along_axis(mx.array(x), mx.array(i[:, :1]), mx.array(7), axis=1).tolist() == [
        [0, 1, 2, 7],
        [4, 5, 6, 7],
        [8, 9, 10, 7],
    ]
    assert mx.take(mx.array(x), 5).item() == 5 and mx.take(mx.array(x), mx.array([[1]]), axis=0).shape == (1, 1, 4)


def test_no_indices_may_have_any_dtype():
    a, none = mx.array([1, 2, 3]), mx.array([])
    assert mx.take(a, none).shape == (0,) and mx.take_along_axis(a, none, axis=0).shape == (0,)
    assert mx.put_along_axis(a, none, none, axis=None).tolist() == [1, 2, 3]
    with pytest.raises(ValueError):
        mx.take(a, mx.array([0.0]))


def test_slice_functions():
    x = mx.arange(12).reshape(3, 4)
    assert mx.slice(x, mx.array([1, 2]), (0, 1), (2, 2)).tolist() == [[6, 7], [10, 11]]
    assert mx.slice_update(x, mx.zeros((1, 2), mx.int32), mx.array(1), (1,)).tolist()[0] == [0, 0, 0, 3]


@pytest.mark.parametrize("value", [0.1, [0.1], np.array([0.1])], ids=["number", "list", "numpy"])
def test_double_precision_is_kept_when_assigned_to_a_double(value):
    for key in (0, slice(0, 1), mx.array([0]), mx.array([True, False])):
        x = mx.zeros((2,), mx.float64)
        x[key] = value[0] if isinstance(key, int) and not isinstance(value, float) else value
        assert x.tolist() == [0.1, 0.0], key
    assert mx.zeros((2,), mx.float64).at[0].add(0.1).tolist() == [0.1, 0.0]


def _row_wise(a, u, i):
    return a.at[i].add(u)


def _column_wise(a, u, i):
    b = a + 0
    b[:, i] = u[:, None]
    return b


@pytest.mark.parametrize("f", [_row_wise, _column_wise])
def test_updates_of_shapeless_functions_stretch_to_the_new_shape(f):
    compiled = mx.compile(f, shapeless=True)
    for rows, columns in ((16, 1), (8, 3), (20, 9)):
        a, i = mx.zeros((rows, columns)), mx.array([0, 0])
        u = mx.arange(columns if f is _row_wise else rows).astype(mx.float32)
        assert compiled(a, u, i).tolist() == f(a, u, i).tolist()
    assert compiled.cache_info().traces == 1
