"""Products that are composed of others: the Hadamard transform, matrices masked in blocks, products of segments."""

import numpy as np
import pytest

import pymx as mx


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def hadamard(n):
    """The matrix of the transform, from the transform of the unit vectors."""
    return np.array(mx.hadamard_transform(mx.eye(n), scale=1.0)).T


@pytest.mark.parametrize("n", [1, 2, 8, 64, 256, 12, 20, 28, 24, 160, 448])
def test_hadamard_matrices(n):
    h = hadamard(n)
    assert set(np.unique(h)) <= {-1, 1} and np.array_equal(h @ h.T, n * np.eye(n))
    if n % 2 == 0 and n not in (12, 20, 28):
        assert np.array_equal(h, np.kron(hadamard(n // 2), [[1, 1], [1, -1]]))


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16, mx.float64, mx.int32, mx.bool_])
def test_hadamard_transform(dtype):
    x = mx.array(normal(5, 2, 40) * 3).astype(dtype)
    wide = np.array(x[::2].astype(mx.float64))
    for f in (mx.hadamard_transform, mx.compile(mx.hadamard_transform)):
        out = f(x[::2])
        assert out.dtype is (dtype if mx.issubdtype(dtype, mx.floating) else mx.float32)
        tolerated = {mx.float16: 1e-2, mx.bfloat16: 1e-1, mx.float64: 1e-13}.get(dtype, 1e-5)
        expected = wide @ hadamard(40).T / np.sqrt(40)
        np.testing.assert_allclose(np.array(out.astype(mx.float64)), expected, atol=tolerated, rtol=0)
    assert (
        mx.hadamard_transform(mx.array(5), scale=0.2).item() == 1 and mx.hadamard_transform(mx.ones((0, 4))).size == 0
    )
    for n in (0, 3, 6, 10, 14, 36):
        with pytest.raises(ValueError, match=str(n)):
            mx.hadamard_transform(mx.ones((2, n)))
    with pytest.raises(ValueError):
        mx.hadamard_transform(mx.array([1j]))


def masked(x, mask, block=32):
    if mask is None:
        return x
    wide = np.repeat(np.repeat(mask, block, -2), block, -1)[..., : x.shape[-2], : x.shape[-1]]
    return np.where(wide, x, 0) if mask.dtype == bool else x * wide


@pytest.mark.parametrize("floats", [False, True])
@pytest.mark.parametrize(("a", "b"), [((70, 33), (33, 64)), ((1, 64), (64, 40)), ((2, 1, 40, 64), (3, 64, 32))])
def test_block_masked_mm(a, b, floats):
    x, y = normal(*a), normal(*b, seed=1)
    product = x @ y
    masks = [normal(*(-(-n // 32) for n in z.shape[-2:]), seed=i) for i, z in enumerate((product, x, y))]
    masks = masks if floats else [m > 0 for m in masks]
    for used in [(0, 0, 0), (1, 0, 0), (0, 1, 1), (1, 1, 1)]:
        out, lhs, rhs = (m if use else None for m, use in zip(masks, used, strict=True))
        arrays = [None if m is None else mx.array(m) for m in (out, lhs, rhs)]
        got = mx.block_masked_mm(mx.array(x), mx.array(y), 32, *arrays)
        np.testing.assert_allclose(np.array(got), masked(masked(x, lhs) @ masked(y, rhs), out), rtol=1e-4, atol=1e-4)


def test_masked_blocks_that_are_not_finite_count_for_nothing():
    x = mx.ones((32, 64)).at[:, 32:].add(mx.inf)
    out = mx.block_masked_mm(x, mx.ones((64, 32)), 32, None, mx.array([[True, False]]))
    assert (np.array(out) == 32).all()
    for size, mask in ((16, None), (32, mx.array([[True]]))):
        with pytest.raises(ValueError):
            mx.block_masked_mm(x, mx.ones((64, 32)), size, None, mask)


@pytest.mark.parametrize("dtype", [mx.uint32, mx.int64])
def test_segmented_mm(dtype):
    x, y = normal(5, 20), normal(20, 7, seed=1)
    x[:, 19] = np.nan  # in no segment
    y[18] = np.inf
    segments = np.array([[[0, 3], [3, 18]], [[7, 7], [17, 18]]])
    expected = np.stack([x[:, s:e] @ y[s:e] for s, e in segments.reshape(-1, 2)]).reshape(2, 2, 5, 7)
    for f in (mx.segmented_mm, mx.compile(mx.segmented_mm)):
        got = f(mx.array(x), mx.array(y.T.copy()).T, mx.array(segments).astype(dtype))
        np.testing.assert_allclose(np.array(got), expected, rtol=1e-5, atol=1e-5)
    for bad in (mx.ones((2, 5, 20)), mx.ones((20,))):
        with pytest.raises(ValueError, match="matrices"):
            mx.segmented_mm(bad, mx.array(y), mx.array(segments))
    with pytest.raises(ValueError, match="segments"):
        mx.segmented_mm(mx.array(x), mx.array(y), mx.array([1, 2, 3]))
