"""Matrices of few bits per element, and products with them: mx/quantize.h with MLX's names and signatures.

A mode is "affine" (the default: bits 2, 3, 4, 5, 6 or 8 in groups of 32, 64 or 128), "mxfp4", "mxfp8" or "nvfp4", which
have one number of bits and one size of groups each; mx/quantize.h describes them, and how codes are packed. None takes
what is usual: 4 bits in groups of 64 for "affine"."""

from __future__ import annotations

from ._ffi import fast
from ._rules import dtype_code, only_array
from .device import StreamOrDevice
from .dtype import Dtype, bfloat16, result_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .array import array

__all__ = ["dequantize", "gather_qmm", "gather_qqmm", "qqmm", "quantize", "quantized_matmul"]

_MODES = {"affine": 0, "mxfp4": 1, "mxfp8": 2, "nvfp4": 3}  # mx_quant_mode


def _format(group_size: int | None, bits: int | None, mode: str, name: str) -> tuple[int, int, int]:
    """The mode, group_size and bits as the library takes them: 0 stands for the default."""
    if mode not in _MODES:
        raise ValueError(f"{name}: mode must be one of {', '.join(_MODES)}, not {mode!r}")
    for what, value in (("group_size", group_size), ("bits", bits)):
        if value is not None and value <= 0:
            raise ValueError(f"{name}: {what} must be positive, not {value}")
    return _MODES[mode], group_size or 0, bits or 0


def quantize(
    w: array,
    /,
    group_size: int | None = None,
    bits: int | None = None,
    mode: str = "affine",
    global_scale: array | None = None,
    *,
    stream: StreamOrDevice = None,
) -> tuple[array, ...]:
    """The codes of w packed into uint32, scales, and in mode "affine" biases: one of each per `group_size` neighbours
    along the last axis, which must be a multiple of it. `global_scale`, a float32, is for mode "nvfp4": the largest
    magnitude that is to be held."""
    form = _format(group_size, bits, mode, "quantize")
    return tuple(fast.quantize(only_array(w, "quantize"), *form, global_scale, stream))


def dequantize(
    w: array,
    /,
    scales: array,
    biases: array | None = None,
    group_size: int | None = None,
    bits: int | None = None,
    mode: str = "affine",
    global_scale: array | None = None,
    dtype: Dtype | None = None,
    *,
    stream: StreamOrDevice = None,
) -> array:
    """The matrix behind packed codes: scale * code, in mode "affine" + bias. The dtype is that of scales and biases, or
    bfloat16 in the other modes, if none is given."""
    w, scales = only_array(w, "dequantize"), only_array(scales, "dequantize")
    form = _format(group_size, bits, mode, "dequantize")
    if dtype is None:
        dtype = bfloat16
        if mode == "affine":
            dtype = scales.dtype if biases is None else result_type(scales, biases)
    return fast.dequantize(w, scales, biases, *form, global_scale, dtype_code(dtype, "dequantize"), stream)


def quantized_matmul(
    x: array,
    w: array,
    /,
    scales: array,
    biases: array | None = None,
    transpose: bool = True,
    group_size: int | None = None,
    bits: int | None = None,
    mode: str = "affine",
    global_scale: array | None = None,
    *,
    stream: StreamOrDevice = None,
) -> array:
    """x @ dequantize(w, ...).T, or without the transposition, over broadcast batches. Has x's dtype, in mode "affine"
    the joint one with scales and biases; sums are in float32."""
    x, w = only_array(x, "quantized_matmul"), only_array(w, "quantized_matmul")
    form = _format(group_size, bits, mode, "quantized_matmul")
    return fast.quantized_matmul(x, w, scales, biases, transpose, *form, global_scale, stream)


def gather_qmm(
    x: array,
    w: array,
    /,
    scales: array,
    biases: array | None = None,
    lhs_indices: array | None = None,
    rhs_indices: array | None = None,
    transpose: bool = True,
    group_size: int | None = None,
    bits: int | None = None,
    mode: str = "affine",
    global_scale: array | None = None,
    *,
    sorted_indices: bool = False,
    stream: StreamOrDevice = None,
) -> array:
    """quantized_matmul of matrices picked by index: the batch axes of x and w are flattened, and the index arrays,
    broadcast against each other, choose from them. None takes the batches as they are. Products with the same matrix
    are brought together, whether the indices are sorted or not."""
    x, w = only_array(x, "gather_qmm"), only_array(w, "gather_qmm")
    form = _format(group_size, bits, mode, "gather_qmm")
    return fast.gather_qmm(x, w, scales, biases, lhs_indices, rhs_indices, transpose, *form, global_scale, stream)


def qqmm(
    x: array,
    w: array,
    scales: array | None = None,
    group_size: int | None = None,
    bits: int | None = None,
    mode: str = "nvfp4",
    global_scale_x: array | None = None,
    global_scale_w: array | None = None,
    *,
    stream: StreamOrDevice = None,
) -> array:
    """x @ w.T after both were quantized: w comes packed, with its scales, or as it is, without. Not for mode "affine".
    Global scales are for mode "nvfp4": both or none."""
    form = _format(group_size, bits, mode, "qqmm")
    return fast.qqmm(
        only_array(x, "qqmm"), only_array(w, "qqmm"), scales, *form, global_scale_x, global_scale_w, stream
    )


def gather_qqmm(
    x: array,
    w: array,
    /,
    scales: array | None = None,
    lhs_indices: array | None = None,
    rhs_indices: array | None = None,
    group_size: int | None = None,
    bits: int | None = None,
    mode: str = "nvfp4",
    global_scale_x: array | None = None,
    global_scale_w: array | None = None,
    *,
    sorted_indices: bool = False,
    stream: StreamOrDevice = None,
) -> array:
    """qqmm of matrices picked by index, as in gather_qmm."""
    x, w = only_array(x, "gather_qqmm"), only_array(w, "gather_qqmm")
    form = _format(group_size, bits, mode, "gather_qqmm")
    return fast.gather_qqmm(x, w, scales, lhs_indices, rhs_indices, *form, global_scale_x, global_scale_w, stream)
