"""fast: fused blocks against their definitions in NumPy."""

import numpy as np
import pytest

import pymx as mx


def tensor(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def close(got, expected, tolerated=1e-5):
    np.testing.assert_allclose(np.array(got.astype(mx.float32)), expected, rtol=tolerated, atol=tolerated)


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
def test_norms(dtype):
    x, w, b = tensor(3, 5, 16), tensor(16, seed=1), tensor(16, seed=2)
    a, weight, bias = (mx.array(v).astype(dtype) for v in (x, w, b))
    x, w, b = (np.array(v.astype(mx.float32)) for v in (a, weight, bias))
    tolerated = {mx.float32: 1e-5, mx.float16: 1e-2, mx.bfloat16: 1e-1}[dtype]
    rms = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)
    close(mx.fast.rms_norm(a, weight, 1e-5), rms * w, tolerated)
    close(mx.fast.rms_norm(a, None, 1e-5), rms, tolerated)
    layer = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    close(mx.fast.layer_norm(a, weight, bias, 1e-5), layer * w + b, tolerated)
    close(mx.fast.layer_norm(a, None, None, 1e-5), layer, tolerated)
    assert mx.fast.rms_norm(a, weight, 1e-5).dtype is dtype


def rope(x, dims, traditional, scale, offset, freqs):
    half = dims // 2
    angle = (np.arange(x.shape[-2]) + offset)[:, None] * scale / freqs
    cos, sin = np.cos(angle), np.sin(angle)
    out = x.copy()
    first, second = (slice(0, dims, 2), slice(1, dims, 2)) if traditional else (slice(0, half), slice(half, dims))
    out[..., first] = x[..., first] * cos - x[..., second] * sin
    out[..., second] = x[..., first] * sin + x[..., second] * cos
    return out


@pytest.mark.parametrize("traditional", [False, True])
@pytest.mark.parametrize(("dims", "offset", "scale"), [(8, 0, 1.0), (4, 3, 0.5)])
def test_rope(traditional, dims, offset, scale):
    x = tensor(2, 3, 5, 8)
    base = 10000.0 ** (2 * np.arange(dims // 2) / dims)
    args = {"traditional": traditional, "scale": scale, "offset": offset}
    close(mx.fast.rope(mx.array(x), dims, base=10000.0, **args), rope(x, dims, traditional, scale, offset, base), 1e-4)
    freqs = np.arange(1, dims // 2 + 1, dtype=np.float32)
    got = mx.fast.rope(mx.array(x), dims, base=None, freqs=mx.array(freqs), **args)
    close(got, rope(x, dims, traditional, scale, offset, freqs), 1e-4)
    args["offset"] = mx.array(offset)
    close(mx.fast.rope(mx.array(x), dims, base=10000.0, **args), rope(x, dims, traditional, scale, offset, base), 1e-4)
    with pytest.raises(ValueError):
        mx.fast.rope(mx.array(x), dims, base=None, **args)


def attention(q, k, v, scale, mask=None, causal=False, sinks=None):
    repeats = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, repeats, 1), np.repeat(v, repeats, 1)
    scores = scale * q @ k.swapaxes(-1, -2)
    n, m = scores.shape[-2:]
    if causal:
        scores = np.where(np.tril(np.ones((n, m), bool), m - n), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    extra = (
        np.full((*scores.shape[:-1], 1), -np.inf)
        if sinks is None
        else np.broadcast_to(sinks[:, None, None], (*scores.shape[:-1], 1))
    )
    scores = np.concatenate([scores, extra], -1)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True))[..., :-1] @ v


@pytest.mark.parametrize("heads", [(4, 4), (4, 2), (3, 1)])
@pytest.mark.parametrize("lengths", [(5, 5), (1, 7), (3, 9)])
def test_attention(heads, lengths):
    q, k, v = (
        tensor(2, heads[0], lengths[0], 8),
        tensor(2, heads[1], lengths[1], 8, seed=1),
        tensor(2, heads[1], lengths[1], 8, seed=2),
    )
    a, b, c = mx.array(q), mx.array(k), mx.array(v)
    run = mx.fast.scaled_dot_product_attention
    close(run(a, b, c, scale=0.3), attention(q, k, v, 0.3), 1e-4)
    close(run(a, b, c, scale=0.3, mask="causal"), attention(q, k, v, 0.3, causal=True), 1e-4)
    additive = tensor(*lengths, seed=3)
    close(run(a, b, c, scale=0.3, mask=mx.array(additive)), attention(q, k, v, 0.3, additive), 1e-4)
    keep = additive > -1
    keep[:, 0] = True
    close(run(a, b, c, scale=0.3, mask=mx.array(keep)), attention(q, k, v, 0.3, keep), 1e-4)
    sinks = tensor(heads[0], seed=4)
    close(run(a, b, c, scale=0.3, sinks=mx.array(sinks)), attention(q, k, v, 0.3, sinks=sinks), 1e-4)
    turned = mx.swapaxes(mx.contiguous(mx.swapaxes(a, 1, 2)), 1, 2)
    close(run(turned, b, c, scale=0.3), attention(q, k, v, 0.3), 1e-4)
    with pytest.raises(ValueError):
        run(a, b, c, scale=0.3, mask="diagonal")


def test_metal_kernels_can_be_made_but_not_called():
    kernel = mx.fast.metal_kernel(name="k", input_names=["a"], output_names=["b"], source="")
    with pytest.raises(RuntimeError, match="Metal"):
        kernel(inputs=[mx.array(1)])
