"""Packing matrices and unpacking them, against NumPy and against files of MLX; and misuse of packed matrices."""

import ml_dtypes
import numpy as np
import pytest
from packed import (
    DTYPES,
    E2M1,
    EPSILON,
    FLOATING,
    FORMATS,
    array,
    bytes_of,
    e4m3,
    e8m0,
    host,
    kwargs,
    matrix,
    normal,
    unpacked,
    wide,
)

import pymx as mx

NUMPY = {mx.float32: np.float32, mx.float16: np.float16, mx.bfloat16: ml_dtypes.bfloat16}
LARGEST = {"mxfp4": 6.0, "nvfp4": 6.0, "mxfp8": 448.0}


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
