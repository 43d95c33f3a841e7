"""Packed matrices against NumPy in float64, from the definition of the formats: bits are taken one by one, the float
codes from a list of all numbers that they have."""

import functools
import itertools

import ml_dtypes
import numpy as np
import pytest

import pymx as mx

AFFINE = [("affine", group, bits) for group in (32, 64, 128) for bits in (2, 3, 4, 5, 6, 8)]
FLOATING = [("mxfp4", 32, 4), ("mxfp8", 32, 8), ("nvfp4", 16, 4)]
FORMATS = [*AFFINE, *FLOATING]
DTYPES = [mx.float32, mx.float16, mx.bfloat16]
NUMPY = {mx.float32: np.float32, mx.float16: np.float16, mx.bfloat16: ml_dtypes.bfloat16}
EPSILON = {mx.float32: 2e-6, mx.float16: 2e-3, mx.bfloat16: 1.6e-2}
LARGEST = {"mxfp4": 6.0, "nvfp4": 6.0, "mxfp8": 448.0}
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def e4m3():
    """The numbers of the codes from 0 to 126, which grow."""
    exponent, mantissa = np.divmod(np.arange(127), 8)
    return np.where(exponent == 0, mantissa * 2.0**-9, (8 + mantissa) * 2.0 ** (exponent - 10.0))


def numbers_of(mode):
    """What a code of a float format stands for, by code."""
    sizes = np.append(e4m3(), np.nan) if mode == "mxfp8" else E2M1
    return np.concatenate([sizes, -sizes])


def e8m0(codes):
    return np.where(codes == 255, np.nan, 2.0 ** (codes.astype(np.float64) - 127))


def host(x):
    return np.array(x.astype(mx.float32)) if x.dtype is mx.bfloat16 else np.array(x)


def wide(x):
    return host(x).astype(np.float64)


def unpacked(words, bits):
    """The codes of packed rows, bit by bit."""
    string = words[..., None] >> np.arange(32, dtype=np.uint32) & 1
    string = string.reshape(*words.shape[:-1], -1, bits)
    return (string << np.arange(bits, dtype=np.uint32)).sum(-1)


def matrix(parts, form, global_scale=None):
    """The matrix in float64 behind the results of quantize."""
    mode, group, bits = form
    codes = unpacked(np.array(parts[0]), bits)
    grouped = codes.reshape(*codes.shape[:-1], -1, group)
    if mode == "affine":
        scales, biases = (wide(x)[..., None] for x in parts[1:])
        return (grouped * scales + biases).reshape(codes.shape)
    scales = np.array(parts[1])
    factor = 1 if global_scale is None else global_scale / (448 * 6)
    values = numbers_of("mxfp8")[scales] * factor if mode == "nvfp4" else e8m0(scales)
    return (numbers_of(mode)[grouped] * values[..., None]).reshape(codes.shape)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def array(x, dtype=mx.float32):
    return mx.array(x.astype(np.float32)).astype(dtype)


def kwargs(form):
    return dict(zip(("mode", "group_size", "bits"), form, strict=True))


def split(parts):
    """Codes, scales, and biases or None."""
    return (*parts, None)[:3]


def bytes_of(x):
    return bytes(mx.contiguous(x))


# ---- quantize and dequantize


def quantized_affine(x, group, bits):
    """Codes, scales and biases, each operation rounded to float32."""
    f = np.float32
    x = x.astype(f).reshape(*x.shape[:-1], -1, group)
    low, high, most = x.min(-1), x.max(-1), f(2**bits - 1)
    scale = np.maximum((high - low) / most, f(1e-7)) * np.where(np.abs(low) > np.abs(high), f(1), f(-1))
    edge = np.where(np.abs(low) > np.abs(high), low, high)
    steps = np.round(edge / scale)
    with np.errstate(all="ignore"):
        scale = np.where(steps != 0, edge / steps, scale)
    bias = np.where(steps != 0, edge, f(0))
    codes = np.clip(np.round((x - bias[..., None]) / scale[..., None]), 0, most)
    return codes.astype(int).reshape(*x.shape[:-2], -1), scale, bias


def nearest(x, numbers):
    """The codes of the nearest of growing numbers >= 0, ties to even codes, and whether the sign is negative."""
    size = np.minimum(np.abs(x), numbers[-1])
    above = np.clip(np.searchsorted(numbers, size), 1, len(numbers) - 1)
    down, up = size - numbers[above - 1], numbers[above] - size
    lower = (down < up) | ((down == up) & (above % 2 == 1))
    return above - lower, np.signbit(x)


def quantized_floating(x, mode, group, global_scale=None):
    x = x.astype(np.float32).reshape(*x.shape[:-1], -1, group)
    most, f = LARGEST[mode], np.float32
    factor = f(1) if global_scale is None else f(448 * 6) / f(global_scale)
    size = np.abs(x).max(-1) / f(most)
    if mode == "nvfp4":
        scales = nearest(size * factor, e4m3())[0]
        values = e4m3()[scales].astype(f)
    else:
        with np.errstate(divide="ignore"):
            exponent = np.round(np.log2(size.astype(np.float64)))
        scales = np.where(size == 0, 127, np.clip(exponent, -127, 127) + 127).astype(int)
        values = e8m0(scales).astype(f)
    with np.errstate(all="ignore"):
        y = np.where(values[..., None] == 0, f(0), x / values[..., None] * factor)
    codes, negative = nearest(y, e4m3() if mode == "mxfp8" else E2M1)
    codes = codes + negative * (128 if mode == "mxfp8" else 8)
    return codes.reshape(*x.shape[:-2], -1), scales


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMATS)
def test_quantize(form, dtype):
    mode, group, bits = form
    x = normal(3, 5, 3 * group) * np.exp2(np.random.default_rng(1).integers(-9, 9, (3, 5, 1)))
    x[0, 0, :group] = 0
    x[0, 1, :group] = 2.5
    x[0, 2, :group] = -np.abs(x[0, 2, :group])
    a = array(x, dtype)
    x = wide(a)
    parts = mx.quantize(a, **kwargs(form))
    codes = unpacked(np.array(parts[0]), bits)
    assert parts[0].dtype is mx.uint32
    assert parts[0].shape == (3, 5, 3 * group * bits // 32)
    if mode == "affine":
        expected, scales, biases = quantized_affine(x, group, bits)
        for got, want in zip(parts[1:], (scales, biases), strict=True):
            assert got.dtype is dtype
            np.testing.assert_array_equal(host(got), want.astype(NUMPY[dtype]).astype(host(got).dtype))
    else:
        expected, scales = quantized_floating(x, mode, group)
        assert parts[1].dtype is mx.uint8
        np.testing.assert_array_equal(np.array(parts[1]), scales)
        signs = 128 if mode == "mxfp8" else 8
        zero = (codes % signs == 0) & (expected % signs == 0)  # in a group without a scale zeros have no sign
        codes, expected = np.where(zero, 0, codes), np.where(zero, 0, expected)
    np.testing.assert_array_equal(codes, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMATS)
def test_dequantize(form, dtype):
    parts = mx.quantize(array(normal(2, 7, 3 * form[1]), dtype), **kwargs(form))
    expected = matrix(parts, form)
    for wanted in (None, *DTYPES):
        got = mx.dequantize(*parts, **kwargs(form), dtype=wanted)
        default = dtype if form[0] == "affine" else mx.bfloat16
        assert got.dtype is (wanted or default)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(wide(got), expected, rtol=EPSILON[got.dtype] / 2, atol=1e-6 * scale)
    got = mx.compile(lambda *p: mx.dequantize(*p, **kwargs(form)))(*parts)
    assert bytes_of(got) == bytes_of(mx.dequantize(*parts, **kwargs(form)))


def test_every_code_of_the_float_formats():
    for mode, group, bits in FLOATING:
        codes = np.arange(2**bits, dtype=np.uint32)
        codes = np.resize(codes, (256, max(group, 2**bits)))
        words = (codes.reshape(256, -1, 32 // bits) << np.arange(0, 32, bits, dtype=np.uint32)).sum(-1, dtype=np.uint32)
        scales = np.repeat(np.arange(256, dtype=np.uint8)[:, None], codes.shape[1] // group, 1)
        got = mx.dequantize(mx.array(words), mx.array(scales), mode=mode, dtype=mx.float32)
        with np.errstate(over="ignore"):
            expected = matrix((words, scales), (mode, group, bits)).astype(np.float32)
        np.testing.assert_array_equal(np.array(got), expected)


# What MLX 0.32.4 makes of `stirred`: the first and last words of codes, scale and bias.
MLX = {
    2: (1956242023, 2312267593, -21.5, 43),
    3: (3018904991, 2259600697, -8.600000381469727, 43),
    4: (3894037615, 2192889609, -4.300000190734863, 43),
    5: (122972607, 2435620280, -2.047619104385376, 43),
    6: (2873317055, 2426115041, -1, 43),
    8: (1104570879, 2451880525, -0.24712643027305603, 43),
}


def stirred():
    return mx.array((np.arange(64) * 37 % 64 - 20).astype(np.float32).reshape(1, 64))


@pytest.mark.parametrize("bits", MLX)
def test_codes_are_packed_as_in_files_of_mlx(bits):
    codes, scales, biases = mx.quantize(stirred(), group_size=64, bits=bits)
    assert (codes[0, 0].item(), codes[0, -1].item(), scales.item(), biases.item()) == MLX[bits]


def test_float_codes_are_packed_as_in_files_of_mlx():
    codes, scales = mx.quantize(stirred(), mode="mxfp8")
    assert codes[0, :3].tolist() == [1995075826, 4033509632, 1551361650]
    assert scales.tolist() == [[124, 124]]
    packed = mx.array([[3547360093, 1816598181]], mx.uint32), mx.array([[77]], mx.uint8)
    got = mx.dequantize(*packed, mode="nvfp4", dtype=mx.float32)
    np.testing.assert_allclose(np.array(got), np.array(stirred())[:, :16], atol=6.5)


def test_groups_that_are_not_finite_become_nan():
    for form in FORMATS:
        for bad in (np.nan, np.inf, -np.inf):
            x = normal(2, 2 * form[1])
            x[1, 3] = bad
            parts = mx.quantize(array(x), **kwargs(form))
            got = np.array(mx.dequantize(*parts, **kwargs(form), dtype=mx.float32))
            assert np.isnan(got[1, : form[1]]).all()
            assert np.isfinite(got[0]).all()
            assert np.isfinite(got[1, form[1] :]).all()


def test_the_range_of_float32():
    for scale in (3e38, 1e-30, 1e-42):
        x = np.linspace(-1, 1, 256).reshape(2, 128).astype(np.float32) * np.float32(scale)
        for mode, group, _ in FLOATING[:2]:  # the nearest scale may be too small by the square root of 2
            parts = mx.quantize(mx.array(x), mode=mode)
            got = np.array(mx.dequantize(*parts, mode=mode, dtype=mx.float32))
            largest = np.abs(x).reshape(2, -1, group).max(-1).repeat(group).reshape(x.shape)
            assert (np.abs(got - x) <= largest * 0.3 + 2.0**-125).all()
    for size, finite in ((1.6e38, True), (3e38, False)):
        x = np.array([[size, -size] * 32], np.float32)
        got = np.array(mx.dequantize(*mx.quantize(mx.array(x), bits=8), bits=8))
        if finite:
            np.testing.assert_allclose(got, x, rtol=0.01)
        else:
            assert np.isnan(got).all()


def test_global_scale():
    x = normal(6, 64) * 1e4
    largest = np.float32(np.abs(x).max())
    scale = mx.array(largest)
    parts = mx.quantize(array(x), mode="nvfp4", global_scale=scale)
    codes, scales = quantized_floating(x, "nvfp4", 16, largest)
    np.testing.assert_array_equal(np.array(parts[1]), scales)
    np.testing.assert_array_equal(unpacked(np.array(parts[0]), 4) % 8, codes % 8)
    expected = matrix(parts, FLOATING[2], largest)
    got = mx.dequantize(*parts, mode="nvfp4", global_scale=scale, dtype=mx.float32)
    np.testing.assert_allclose(wide(got), expected, rtol=1e-6)
    assert np.abs(expected - x).max() < largest / 6
    a = normal(3, 64, seed=3)
    for rows in (1, 3):
        y = mx.quantized_matmul(array(a[:rows]), *parts, mode="nvfp4", global_scale=scale)
        np.testing.assert_allclose(wide(y), a[:rows] @ expected.T, atol=1e-5 * largest * 8)


# ---- products


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


# ---- compiled, and misuse


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


def test_misuse_is_named():
    x, w = mx.zeros((2, 64)), mx.zeros((40, 64))
    codes, scales, biases = mx.quantize(w)
    cases = [
        (lambda: mx.quantize(w, mode="int4"), "quantize: mode must be one of affine, mxfp4, mxfp8, nvfp4, not 'int4'"),
        (lambda: mx.quantize(w, bits=7), "quantize: bits must be 2, 3, 4, 5, 6 or 8 in mode affine, not 7"),
        (lambda: mx.quantize(w, 16), "quantize: group_size must be 32, 64 or 128 in mode affine, not 16"),
        (lambda: mx.quantize(w, 0), "quantize: group_size must be positive, not 0"),
        (lambda: mx.quantize(w, 64, mode="mxfp4"), "group_size must be 32 in mode mxfp4, not 64"),
        (lambda: mx.quantize(w, bits=4, mode="mxfp8"), "bits must be 8 in mode mxfp8, not 4"),
        (lambda: mx.quantize(w[:, :40]), r"quantize: the last axis of w, of shape \(40, 40\).*64"),
        (lambda: mx.quantize(w[0]), r"quantize: w must have 2 dimensions or more, but its shape is \(64,?\)"),
        (lambda: mx.quantize(w.astype(mx.int32)), "quantize.*int32"),
        (lambda: mx.quantize(w, global_scale=mx.array(1.0)), "quantize: a global_scale is for mode nvfp4"),
        (lambda: mx.quantize(w, mode="nvfp4", global_scale=mx.ones(2)), r"global_scale must have one element.*\(2,?\)"),
        (lambda: mx.quantize(w, mode="nvfp4", global_scale=mx.array(1)), "quantize.*int32"),
        (lambda: mx.dequantize(codes, scales), "dequantize: mode affine needs biases"),
        (
            lambda: mx.dequantize(codes, scales, biases, bits=8),
            r"dequantize: packed codes of shape \(40, 8\).*\(40, 1\)",
        ),
        (lambda: mx.dequantize(codes, scales, biases[:3]), r"scales of shape \(40, 1\) and biases of shape \(3, 1\)"),
        (lambda: mx.dequantize(scales, scales, biases), "dequantize.*float32"),
        (lambda: mx.dequantize(codes, scales, mode="mxfp4"), "scales of mode mxfp4 must be uint8, not float32"),
        (lambda: mx.dequantize(codes, scales, biases, dtype=mx.int32), "dequantize.*int32"),
        (lambda: mx.quantized_matmul(x[:, :32], codes, scales, biases), r"quantized_matmul.*\(2, 32\).*\(40, 64\)"),
        (
            lambda: mx.quantized_matmul(x, codes, scales, biases, False),
            r"quantized_matmul.*\(2, 64\).*rows.*\(40, 64\)",
        ),
        (lambda: mx.quantized_matmul(mx.array(1.0), codes, scales, biases), "quantized_matmul: x must have 2 dim"),
        (lambda: mx.quantized_matmul(x, codes, scales, biases, mode="nvfp4"), "mode nvfp4 has no biases"),
        (lambda: mx.quantized_matmul(x.astype(mx.complex64), codes, scales, biases), "quantized_matmul.*complex64"),
        (
            lambda: mx.gather_qmm(x, codes, scales, biases, rhs_indices=mx.array([0.5])),
            "gather_qmm.*float32.*integers",
        ),
        (lambda: mx.qqmm(x, w, mode="affine"), "qqmm: the modes are mxfp4, mxfp8 and nvfp4, not affine"),
        (lambda: mx.qqmm(x, codes), "qqmm: w is packed, but there are no scales"),
        (lambda: mx.qqmm(x, w, scales), "qqmm: scales are given, but w is float32, not packed"),
        (lambda: mx.qqmm(x, w, global_scale_x=mx.array(1.0)), "global_scale_x and global_scale_w must be given both"),
        (lambda: mx.gather_qqmm(x, w.astype(mx.int8), rhs_indices=mx.array(0)), "gather_qqmm.*int8"),
    ]
    for call, message in cases:
        with pytest.raises((ValueError, TypeError), match=message):
            call()
