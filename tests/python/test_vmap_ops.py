"""Ops mapped with vmap in ways that the table of ops does not reach: which operands differ between the lanes, along
which axes."""

import numpy as np
import pytest
from lanes import agree, rand

import pymx as mx
from pymx._ffi import fast

# ---- by index: which of the operands differ between the lanes

WHICH = [(m, n) for m in (0, 1, None) for n in (0, 1, None) if (m, n) != (None, None)]


def operands(axes, *shapes, limit=None):
    """An operand of each shape, with three lanes where it has an axis; with a limit: indices below it."""
    out = []
    for k, (axis, shape) in enumerate(zip(axes, shapes, strict=True)):
        full = list(shape)
        if axis is not None:
            full.insert(axis, 3)
        rng = np.random.default_rng(k)
        is_index = limit is not None and k > 0 and limit[k - 1]
        values = rng.integers(-limit[k - 1], limit[k - 1], full) if is_index else rng.normal(size=full)
        out.append(mx.array(values.astype(np.int32 if is_index else np.float32)))
    return out


@pytest.mark.parametrize("axes", WHICH)
def test_gathers(axes):
    x, i = operands(axes, (5, 6), (2, 4), limit=[5])
    for f in (
        lambda x, i: x[i],
        lambda x, i: x[:, i],
        lambda x, i: x[i, i + 1],
        lambda x, i: mx.take(x, i, axis=1),
        lambda x, i: mx.take(x, i),
        lambda x, i: mx.take_along_axis(x, i[:, :1] * mx.ones((1, 6), mx.int32), 0),
        lambda x, i: x[i.astype(mx.uint8), 1:3],
    ):
        agree(f, axes, x, i)


@pytest.mark.parametrize("axes", [(*w, u) for w in WHICH for u in (0, 2, None)])
def test_scatters(axes):
    x, i, v = operands(axes, (5, 6), (4,), (4, 6), limit=[5, 0])

    def assigned(x, i, v):
        x[i] = v
        return x

    for f in (
        assigned,
        lambda x, i, v: x.at[i].add(v),
        lambda x, i, v: x.at[:, i].multiply(v[0, 0]),
        lambda x, i, v: x.at[i, i].maximum(v[:, 0]),
        lambda x, i, v: mx.put_along_axis(x, i[:, None] * mx.ones((1, 6), mx.int32), v, 0),
        lambda x, i, v: x.at[1:5].add(v),
    ):
        agree(f, axes, x, i, v)


@pytest.mark.parametrize("axes", WHICH)
def test_slices_from_a_place_that_is_an_array(axes):
    x, start = operands(axes, (5, 6), (2,), limit=[9])  # beyond both ends: clipped
    agree(lambda x, start: mx.slice(x, start, (0, 1), (2, 3)), axes, x, start)
    agree(lambda x, start: mx.slice(x, start[:1], (1,), (5, 3)), axes, x, start)
    agree(lambda x, start: mx.slice_update(x, mx.ones((2, 3)), start, (0, 1)), axes, x, start)
    update = rand(3, 2, 3)
    agree(lambda x, start, u: mx.slice_update(x, u, start, (1, 0)), (*axes, 0), x, start, mx.swapaxes(update, 1, 2))


@pytest.mark.parametrize("axes", [(a, m, v) for a in (0, 1, None) for m in (0, 1, None) for v in (0, None)][:-1])
def test_masked_assignment(axes):
    x, _, v = operands(axes, (4, 2), (4,), (9,))
    shape = [4] if axes[1] is None else [3, 4] if axes[1] == 0 else [4, 3]
    rng = np.random.default_rng(1)
    mask = mx.array(rng.random(shape) > 0.5)

    def f(x, mask, v):
        x[mask] = v[:4][:, None]
        return x

    def g(x, mask, v):  # of all elements
        x[mx.stack([mask, mask], 1)] = v
        return x

    agree(f, axes, x, mask, v)
    agree(g, axes, x, mask, v)


@pytest.mark.parametrize("axes", WHICH)
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(axes, side):
    x, v = operands(axes, (40,), (5, 7))
    agree(lambda x, v: fast.searchsorted(mx.sort(x, 0), v, side == "right", None), axes, x, v)


def test_what_all_lanes_must_share():
    """As in MLX, whose tests look for it; the library itself can do more."""
    x = rand(3, 4)
    with pytest.raises(ValueError, match="sorted array of searchsorted"):
        mx.vmap(lambda line: mx.searchsorted(line, x))(x)
    with pytest.raises(ValueError, match="value of pad"):
        mx.vmap(lambda x, v: mx.pad(x, 1, constant_values=v + 1))(x, mx.zeros(3))
    with pytest.raises(ValueError, match="value of pad"):  # of an outer mapping
        mx.vmap(lambda v: mx.vmap(lambda x: mx.pad(x, 1, constant_values=v))(x))(mx.zeros(3))
    line, v = mx.arange(4.0), mx.array(2.0)
    agree(lambda x: mx.searchsorted(line, mx.pad(x, 1, constant_values=v)), (0,), x)


# ---- products, norms, attention


@pytest.mark.parametrize("axes", WHICH)
def test_products(axes):
    vector, matrix, stack = (5,), (4, 5), (2, 4, 5)
    pairs = [
        (matrix, (5, 6)),
        (matrix, vector),
        (vector, (5, 6)),
        (vector, vector),
        (stack, (5, 6)),
        (matrix, (2, 5, 1)),
    ]
    for a, b in pairs:
        agree(mx.matmul, axes, *operands(axes, a, b))


@pytest.mark.parametrize("axes", [(c, *w) for c in (0, 1, None) for w in WHICH] + [(0, None, None), (1, None, None)])
def test_addmm(axes):
    for shape in ((4, 6), (6,)):
        c, a, b = operands(axes, shape, (4, 5), (5, 6))
        agree(lambda c, a, b: mx.addmm(c, a, b, alpha=0.5, beta=2), axes, c, a, b)


@pytest.mark.parametrize("axes", [(x, w, b) for x in (0, 2, None) for w in (0, 1, None) for b in (0, None)][:-1])
def test_norms(axes):
    x, w, b = operands(axes, (4, 6), (6,), (6,))
    agree(lambda x, w, b: mx.fast.layer_norm(x, w, b, 1e-5), axes, x, w, b)
    agree(lambda x, w, b: mx.fast.layer_norm(x, None, b, 1e-5), axes, x, w, b)
    agree(lambda x, w, b: mx.fast.rms_norm(x, w, 1e-5) + b, axes, x, w, b)


@pytest.mark.parametrize("axes", [(0, None), (3, None), (None, 0), (0, 0), (2, 0)])
def test_rope(axes):
    rope = lambda x, offset, freqs=None: mx.fast.rope(  # noqa: E731
        x, 4, traditional=False, base=None if freqs is not None else 1e4, scale=1.0, offset=offset, freqs=freqs
    )
    x, _ = operands(axes, (2, 5, 6), (2,))
    offset = mx.array([3, 1, 7]) if axes[1] == 0 else mx.array(4)
    agree(rope, axes, x, offset)
    offsets = mx.array([[3, 1], [7, 2], [0, 5]]) if axes[1] == 0 else mx.array([4, 2])
    agree(rope, axes, x, offsets)
    freqs = mx.exp(rand(3, 2))
    agree(rope, (*axes, 0), x, offset, freqs)


@pytest.mark.parametrize("axes", [(0, 0, 0, 0, 0), (1, None, None, None, None), (None, 0, 2, None, None)])
@pytest.mark.parametrize("sinks", [0, None])
def test_attention(axes, sinks):
    axes = (*axes[:4], sinks)
    q, k, v, mask, s = operands(axes, (2, 4, 5, 8), (2, 2, 7, 8), (2, 2, 7, 8), (4, 5, 7), (4,))
    f = mx.fast.scaled_dot_product_attention
    agree(lambda q, k, v, mask, s: f(q, k, v, scale=0.3), axes, q, k, v, mask, s)
    agree(lambda q, k, v, mask, s: f(q, k, v, scale=0.3, mask="causal", sinks=s), axes, q, k, v, mask, s)
    agree(lambda q, k, v, mask, s: f(q, k, v, scale=0.3, mask=mask, sinks=s), axes, q, k, v, mask, s)
    agree(lambda q, k, v, mask, s: f(q, k, v, scale=0.3, mask=mask[0], sinks=s), axes, q, k, v, mask, s)
    agree(lambda q, k, v, mask, s: f(q, k, v, scale=0.3, mask=mx.stack([mask, mask])), axes, q, k, v, mask, s)


# ---- linear algebra


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_linear_algebra(axis):
    square = mx.moveaxis(rand(3, 4, 4) + 4 * mx.eye(4), 0, axis)
    for f in (
        mx.linalg.inv,
        lambda x: mx.linalg.cholesky(x @ x.T),
        lambda x: mx.linalg.tri_inv(mx.tril(x)),
        lambda x: mx.linalg.qr(x),
        lambda x: mx.linalg.svd(x, compute_uv=False),
        lambda x: mx.linalg.eigvalsh(x + x.T),
        lambda x: mx.linalg.lu_factor(x),
        lambda x: mx.linalg.lu(x),
        lambda x: mx.linalg.norm(x),
        lambda x: mx.linalg.norm(x, 2),
        lambda x: mx.linalg.pinv(x),
        lambda x: mx.linalg.cross(x[:, :3], x[:, 1:]),
    ):
        agree(lambda x, f=f: [y] if isinstance(y := f(x), mx.array) else list(y), (axis,), square, tolerance=1e-3)


@pytest.mark.parametrize("axes", WHICH)
def test_solve(axes):
    def solve(a, b):
        a = a + 4 * mx.eye(4)
        return mx.linalg.solve(a, b), mx.linalg.solve_triangular(mx.tril(a), b)

    for shape in ((4, 2), (4,)):
        agree(solve, axes, *operands(axes, (4, 4), shape), tolerance=1e-3)


# ---- shapes


def test_views_of_lanes():
    x = rand(2, 3, 4, 5)
    for axis in range(4):
        for f in (
            lambda x: x.reshape(-1, 2) if x.size % 2 == 0 else x.reshape(-1),
            lambda x: mx.flatten(x, 0, 1),
            lambda x: mx.flatten(x, 1, 2),
            lambda x: mx.expand_dims(x, (0, 2, 5)),
            lambda x: mx.diagonal(x, 1, 0, 2),
            lambda x: mx.roll(x, 3),
            lambda x: mx.transpose(x, (2, 0, 1)),
            lambda x: mx.broadcast_to(x[0], (2, *x.shape)),
            lambda x: mx.as_strided(x, (3, 2), (1, 2), 1),
            lambda x: x.view(mx.int16),
            lambda x: mx.full((2, *x.shape), x),
            lambda x: mx.unflatten(x, 1, (1, -1, 1)),
        ):
            agree(f, (axis,), x)
            agree(lambda x, f=f: mx.exp(f(x)), (axis,), x.astype(mx.float64), out_axis=-1)


# ---- random numbers


def test_keys_of_each_lane():
    keys = mx.random.split(mx.random.key(3), 4)
    draw = lambda key: mx.random.normal((3, 2), key=key)  # noqa: E731
    agree(draw, (0,), keys)
    agree(draw, (1,), keys.T)
    agree(lambda key: mx.random.split(key, 2), (0,), keys)
    agree(lambda key: mx.random.randint(0, 99, (5,), key=key), (0,), keys)
    agree(lambda key: mx.random.permutation(7, key=key), (0,), keys)
    agree(lambda x, key: mx.random.categorical(x, num_samples=6, key=key), (0, 0), rand(4, 5), keys)
