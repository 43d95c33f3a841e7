"""What the tests of packed matrices share: the formats, from their definition, in NumPy in float64: bits are taken one
by one, the float codes from a list of all numbers that they have."""

import numpy as np

import pymx as mx

AFFINE = [("affine", group, bits) for group in (32, 64, 128) for bits in (2, 3, 4, 5, 6, 8)]
FLOATING = [("mxfp4", 32, 4), ("mxfp8", 32, 8), ("nvfp4", 16, 4)]
FORMATS = [*AFFINE, *FLOATING]
DTYPES = [mx.float32, mx.float16, mx.bfloat16]
EPSILON = {mx.float32: 2e-6, mx.float16: 2e-3, mx.bfloat16: 1.6e-2}
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


def bytes_of(x):
    return bytes(mx.contiguous(x))
