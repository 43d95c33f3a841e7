"""Products with packed matrices, and their derivatives, against those of the unpacked matrices."""

import functools
import itertools

import numpy as np
import pytest
from packed import DTYPES, EPSILON, FLOATING, FORMATS, array, bytes_of, kwargs, matrix, normal, wide

import pymx as mx


def split(parts):
    """Codes, scales, and biases or None."""
    return (*parts, None)[:3]


@functools.lru_cache
def operands(form, dtype, rows, columns):
    parts = mx.quantize(array(normal(rows, columns, seed=rows) / columns**0.5, dtype), **kwargs(form))
    return parts, matrix(parts, form)


def close(got, expected, dtype, k):
    """Within the rounding of the result, and of float32 sums, or of elements rounded to bfloat16."""
    assert got.shape == expected.shape
    assert got.dtype is dtype
    absolute = {mx.float32: 2e-6, mx.float16: 1e-3, mx.bfloat16: 1e-2}[dtype]
    np.testing.assert_allclose(wide(got), expected, rtol=EPSILON[dtype], atol=absolute * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("transpose", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMATS)
def test_quantized_matmul(form, dtype, transpose):
    group = form[1]
    for groups, others, m in itertools.product((1, 3, 5), (1, 37, 96), (1, 2, 3, 7, 33)):
        rows, columns = others, groups * group
        parts, w = operands(form, dtype, rows, columns)
        k = columns if transpose else rows
        x = array(normal(m, k, seed=m), dtype)
        got = mx.quantized_matmul(x, *split(parts), transpose=transpose, **kwargs(form))
        close(got, wide(x) @ (w.T if transpose else w), dtype, k)


@pytest.mark.parametrize("form", [("affine", 64, 4), ("affine", 32, 8), ("affine", 128, 3), *FLOATING])
def test_large_products(form):
    """Several blocks of k, of rows and of columns, on several threads."""
    parts, w = operands(form, mx.float32, 1100, 1152)
    for dtype, m, transpose in itertools.product((mx.float32, mx.bfloat16), (1, 8, 9, 130), (True, False)):
        biases = [p.astype(dtype) if form[0] == "affine" else p for p in parts[1:]]
        w = matrix((parts[0], *biases), form)
        x = array(normal(m, 1152 if transpose else 1100), dtype)
        got = mx.quantized_matmul(x, *split((parts[0], *biases)), transpose=transpose, **kwargs(form))
        close(got, wide(x) @ (w.T if transpose else w), dtype, 1152)


def test_scales_may_have_another_dtype():
    x, w = array(normal(3, 64)), array(normal(40, 64), mx.float16)
    codes, scales, biases = mx.quantize(w)
    expected = matrix((codes, scales, biases), ("affine", 64, 4))
    got = mx.quantized_matmul(x, codes, scales, biases)
    close(got, wide(x) @ expected.T, mx.float32, 64)
    got = mx.quantized_matmul(x.astype(mx.float16), codes, scales.astype(mx.float32), biases)
    close(got, wide(x.astype(mx.float16)) @ expected.T, mx.float32, 64)
    assert mx.quantized_matmul(x.astype(mx.int32), codes, scales, biases).dtype is mx.float16


@pytest.mark.parametrize("form", [("affine", 64, 4), ("affine", 32, 6), ("nvfp4", 16, 4)])
@pytest.mark.parametrize("transpose", [True, False])
def test_batches(form, transpose):
    for x_batch, w_batch in [
        ((2, 3), ()),
        ((), (3,)),
        ((2, 1), (3,)),
        ((1,), (1, 1)),
        ((2, 3), (2, 3)),
        ((40,), (40,)),
    ]:
        parts = mx.quantize(array(normal(*w_batch, 24, 64)), **kwargs(form))
        w = matrix(parts, form)
        for m in (1, 5):
            x = array(normal(*x_batch, m, 64 if transpose else 24, seed=1))
            got = mx.quantized_matmul(x, *split(parts), transpose=transpose, **kwargs(form))
            close(got, wide(x) @ (w.swapaxes(-1, -2) if transpose else w), mx.float32, 64)
    x = array(normal(64 if transpose else 24))
    got = mx.quantized_matmul(x, *split([p[0] for p in parts]), transpose=transpose, **kwargs(form))
    close(got, wide(x) @ (w[0].T if transpose else w[0]), mx.float32, 64)


def views(x):
    """The same values in other layouts."""
    yield x
    yield mx.contiguous(x.swapaxes(-1, -2)).swapaxes(-1, -2)
    yield mx.concatenate([x, x], -1)[..., : x.shape[-1]]
    yield mx.repeat(x, 2, -1)[..., ::2]
    yield mx.contiguous(x[..., ::-1])[..., ::-1]
    yield mx.contiguous(x[::-1])[::-1]


def test_operands_in_any_layout():
    form = ("affine", 32, 4)
    x, parts = array(normal(3, 64)), mx.quantize(array(normal(40, 64)), **kwargs(form))
    expected = bytes_of(mx.quantized_matmul(x, *parts, **kwargs(form)))
    for laid in zip(*map(views, (x, *parts)), strict=True):
        assert bytes_of(mx.quantized_matmul(*laid, **kwargs(form))) == expected
        assert bytes_of(mx.dequantize(*laid[1:], **kwargs(form))) == bytes_of(mx.dequantize(*parts, **kwargs(form)))
    for laid in views(array(normal(40, 64))):
        assert [bytes_of(p) for p in mx.quantize(laid, **kwargs(form))] == [bytes_of(p) for p in parts]
    scales = mx.broadcast_to(mx.array(130, mx.uint8), (40, 2))
    codes = mx.quantize(array(normal(40, 64)), mode="mxfp4")[0]
    got, same = (mx.quantized_matmul(x, codes, s, mode="mxfp4") for s in (scales, mx.contiguous(scales)))
    assert bytes_of(got) == bytes_of(same)


def test_empty():
    for transpose, m in itertools.product((True, False), (0, 1, 20)):
        for rows, columns in ((0, 64), (3, 0), (0, 0)):
            parts = mx.quantize(mx.zeros((rows, columns)))
            assert mx.dequantize(*parts).shape == (rows, columns)
            k, n = (columns, rows) if transpose else (rows, columns)
            got = mx.quantized_matmul(mx.ones((m, k)), *parts, transpose=transpose)
            np.testing.assert_array_equal(np.array(got), np.zeros((m, n)))
    parts = mx.quantize(mx.zeros((0, 4, 64)))
    assert mx.quantized_matmul(mx.ones((0, 2, 64)), *parts).shape == (0, 2, 4)


# ---- by index


@pytest.mark.parametrize("form", [("affine", 64, 4), ("affine", 32, 5), *FLOATING])
@pytest.mark.parametrize("transpose", [True, False])
def test_gather_qmm(form, transpose):
    parts = mx.quantize(array(normal(2, 3, 40, 64)), **kwargs(form))
    w = matrix(parts, form)
    w = (w.swapaxes(-1, -2) if transpose else w).reshape(6, *w.shape[:1:-1] if transpose else w.shape[2:])
    for m, batch in itertools.product((1, 4, 20), ((), (5,), (2, 2))):
        x = array(normal(*batch, m, w.shape[1]))
        flat = wide(x).reshape(-1, m, w.shape[1])
        rng = np.random.default_rng(m)
        for lhs_shape, rhs_shape in (((4,), (4,)), ((2, 1), (3,)), ((), (7,)), ((2, 9), ())):
            lhs = rng.integers(-len(flat), len(flat), lhs_shape)
            rhs = rng.integers(-6, 6, rhs_shape)
            got = mx.gather_qmm(
                x,
                *split(parts),
                lhs_indices=mx.array(lhs),
                rhs_indices=mx.array(rhs),
                transpose=transpose,
                **kwargs(form),
            )
            close(got, flat[lhs] @ w[rhs], mx.float32, 64)
    x = array(normal(2, 1, 5, w.shape[1]))
    rhs = np.array([[1, 1, 5], [0, 1, 2]])
    got = mx.gather_qmm(x, *split(parts), rhs_indices=mx.array(rhs), transpose=transpose, **kwargs(form))
    close(got, wide(x) @ w[rhs], mx.float32, 64)
    got = mx.gather_qmm(x, *split(parts), lhs_indices=mx.array([[1], [0]]), transpose=transpose, **kwargs(form))
    close(got, wide(x)[[1, 0]] @ w.reshape(2, 3, *w.shape[1:]), mx.float32, 64)
    got = mx.gather_qmm(x, *split(parts), transpose=transpose, **kwargs(form))
    close(got, wide(x) @ w.reshape(2, 3, *w.shape[1:]), mx.float32, 64)


def test_gather_qmm_of_slices_and_out_of_range():
    parts = mx.quantize(array(normal(4, 80, 64)))
    x = array(normal(9, 1, 64))
    rhs = mx.array([3, 3, 0, 1, 3, 2, 2, 0, 0], mx.uint32)
    for part in (slice(0, 40), slice(40, 80)):
        sliced = [p[:, part] for p in parts]
        got = mx.gather_qmm(x, *sliced, rhs_indices=rhs, sorted_indices=False)
        w = matrix([np.array(p) if p.dtype is mx.uint32 else p for p in sliced], ("affine", 64, 4))
        close(got, wide(x) @ w.swapaxes(-1, -2)[np.array(rhs)], mx.float32, 64)
    far, last = (mx.gather_qmm(x, *parts, rhs_indices=mx.array([i] * 9)) for i in (99, 3))
    assert bytes_of(far) == bytes_of(last)
    nothing = mx.quantize(mx.zeros((0, 80, 64)))
    with pytest.raises(IndexError, match=r"gather_qmm.*\(0, 80, 8\)"):
        mx.eval(mx.gather_qmm(x, *nothing, rhs_indices=rhs))


# ---- both operands


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FLOATING)
def test_qqmm(form, dtype):
    mode, group, _ = form
    w = array(normal(33, 2 * group, seed=5), dtype)
    packed, scales = mx.quantize(w, mode=mode)
    for shape in ((1,), (2,), (40,), (2, 3), ()):
        x = array(normal(*shape, 2 * group), dtype)
        two = x if shape else mx.expand_dims(x, 0)
        expected = matrix(mx.quantize(two, mode=mode), form) @ matrix((packed, scales), form).T
        expected = expected.reshape(*shape, 33)
        close(mx.qqmm(x, packed, scales, mode=mode), expected, dtype, 64)
        close(mx.qqmm(x, w, mode=mode), expected, dtype, 64)


def test_qqmm_with_global_scales():
    x, w = normal(5, 64), normal(7, 64, seed=1)
    gx, gw = (np.float32(np.abs(v).max()) for v in (x, w))
    form = FLOATING[2]
    parts = [mx.quantize(array(v), mode="nvfp4", global_scale=mx.array(g)) for v, g in ((x, gx), (w, gw))]
    expected = matrix(parts[0], form, gx) @ matrix(parts[1], form, gw).T
    scales = {"global_scale_x": mx.array(gx), "global_scale_w": mx.array(gw)}
    close(mx.qqmm(array(x), *parts[1], **scales), expected, mx.float32, 64)
    close(mx.qqmm(array(x), array(w), **scales), expected, mx.float32, 64)
    rhs = mx.array([0, 0])
    got = mx.gather_qqmm(array(x), *parts[1], rhs_indices=rhs, lhs_indices=rhs, **scales)
    close(got, np.stack([expected, expected]), mx.float32, 64)


def test_gather_qqmm():
    for form in FLOATING:
        mode = form[0]
        x, w = array(normal(3, 2, 64)), array(normal(4, 24, 64, seed=2))
        packed, scales = mx.quantize(w, mode=mode)
        left, right = matrix(mx.quantize(x, mode=mode), form), matrix((packed, scales), form).swapaxes(-1, -2)
        lhs, rhs = np.array([2, 0, 1, 1, 2]), np.array([3, 3, 0, 1, 2])
        indices = {"lhs_indices": mx.array(lhs), "rhs_indices": mx.array(rhs)}
        close(mx.gather_qqmm(x, packed, scales, **indices, mode=mode), left[lhs] @ right[rhs], mx.float32, 64)
        close(mx.gather_qqmm(x, w, **indices, mode=mode), left[lhs] @ right[rhs], mx.float32, 64)
        close(mx.gather_qqmm(x[:1], packed, scales, mode=mode), left[:1] @ right, mx.float32, 64)


# ---- compiled, mapped, derived


def test_compiled_for_any_shape():
    parts = mx.quantize(array(normal(4, 40, 64)))
    one = [p[0] for p in parts]
    index = mx.array([0, 3, 1])

    def f(x):
        return (
            mx.quantized_matmul(x, *one),
            mx.gather_qmm(x, *parts, lhs_indices=index, rhs_indices=index),
            mx.dequantize(*mx.quantize(x, bits=3), bits=3),
            mx.qqmm(x, x[0], mode="mxfp8"),
        )

    any_shape = mx.compile(f, shapeless=True)
    for rows in (4, 8, 1, 40):
        x = array(normal(4, rows, 64, seed=rows))
        assert [bytes_of(y) for y in any_shape(x)] == [bytes_of(y) for y in f(x)]
        assert [bytes_of(y) for y in mx.compile(f)(x)] == [bytes_of(y) for y in f(x)]


def test_mapped():
    for form in (("affine", 32, 4), ("mxfp8", 32, 8), ("nvfp4", 16, 4)):
        x, w = array(normal(3, 5, 64)), array(normal(3, 40, 64, seed=1))
        parts = mx.quantize(w, **kwargs(form))
        quantized = mx.vmap(lambda w: mx.quantize(w, **kwargs(form)))(w)  # noqa: B023
        assert [bytes_of(p) for p in quantized] == [bytes_of(p) for p in parts]
        unpacked = mx.vmap(lambda *p: mx.dequantize(*p, **kwargs(form)))(*parts)  # noqa: B023
        assert bytes_of(unpacked) == bytes_of(mx.dequantize(*parts, **kwargs(form)))
        product = lambda x, *p: mx.quantized_matmul(x, *split(p), **kwargs(form))  # noqa: B023, E731
        picked = lambda x, *p: mx.gather_qmm(x, *split(p), rhs_indices=mx.array(0), **kwargs(form))  # noqa: B023, E731
        one, n = [p[0] for p in parts], len(parts)
        for axes, args, expected in (
            ((0, *[0] * n), (x, *parts), mx.stack([product(x[i], *[p[i] for p in parts]) for i in range(3)])),
            ((1, *[None] * n), (x, *one), mx.stack([product(x[:, i], *one) for i in range(5)])),
            ((None, *[0] * n), (x, *parts), mx.stack([product(x, *[p[i] for p in parts]) for i in range(3)])),
        ):
            got = mx.vmap(product, in_axes=axes)(*args)
            np.testing.assert_allclose(np.array(got), np.array(expected), atol=1e-5)
        got = mx.vmap(picked, in_axes=(0, *[None] * n))(x, *parts)
        np.testing.assert_allclose(np.array(got), np.array(product(x, *one)), atol=1e-5)
    scale = mx.array([3.0, 5.0, 4.0])
    got = mx.vmap(lambda w, g: mx.quantize(w, mode="nvfp4", global_scale=g))(w, scale)
    for i in range(3):
        assert [bytes_of(p[i]) for p in got] == [
            bytes_of(p) for p in mx.quantize(w[i], mode="nvfp4", global_scale=scale[i])
        ]


@pytest.mark.parametrize("transpose", [True, False])
def test_derivatives(transpose):
    """Those of the composed product, which unpacks the matrix."""
    form = ("affine", 32, 4)
    parts = mx.quantize(array(normal(3, 40, 64)), **kwargs(form))
    k = 64 if transpose else 40
    turn = lambda w: w.swapaxes(-1, -2) if transpose else w  # noqa: E731
    unpack = lambda c, s, b: turn(mx.dequantize(c, s, b, **kwargs(form)))  # noqa: E731
    rhs, lhs = mx.array([2, 0, 2, 1]), mx.array([1, 1, 0, 2])
    product = lambda x, s, b: mx.quantized_matmul(x, parts[0], s, b, transpose, **kwargs(form))  # noqa: E731
    picked = lambda x, s, b: mx.gather_qmm(x, parts[0], s, b, lhs, rhs, transpose, **kwargs(form))  # noqa: E731
    right = lambda x, s, b: mx.gather_qmm(x[:, None], parts[0], s, b, None, rhs, transpose, **kwargs(form))  # noqa: E731
    one = lambda x, s, b: mx.quantized_matmul(x, parts[0][0], s[0], b[0], transpose, **kwargs(form))  # noqa: E731
    cases = (
        (product, lambda x, s, b: x @ unpack(parts[0], s, b)),
        (one, lambda x, s, b: x @ unpack(parts[0], s, b)[0]),
        (picked, lambda x, s, b: x[lhs] @ unpack(parts[0], s, b)[rhs]),
        (right, lambda x, s, b: x[:, None] @ unpack(parts[0], s, b)[rhs]),
    )
    x = array(normal(3, 5, k))
    for f, composed in cases:
        weights = array(normal(*f(x, *parts[1:]).shape, seed=9))
        got, expected = (
            mx.grad(lambda *a: (g(*a) * weights).sum(), argnums=(0, 1, 2))(x, *parts[1:])  # noqa: B023
            for g in (f, composed)
        )
        for a, b in zip(got, expected, strict=True):
            np.testing.assert_allclose(np.array(a), np.array(b), rtol=1e-4, atol=1e-3)
