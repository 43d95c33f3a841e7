"""Fused building blocks of neural networks: mx/fast.h with MLX's names and signatures."""

from __future__ import annotations

from . import _ffi, convert
from ._rules import only_array
from .device import StreamOrDevice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .array import array

__all__ = [
    "cuda_kernel",
    "layer_norm",
    "metal_kernel",
    "precompiled_cuda_kernel",
    "rms_norm",
    "rope",
    "scaled_dot_product_attention",
]

_fast = _ffi.fast


def rms_norm(x: array, weight: array | None, eps: float, *, stream: StreamOrDevice = None) -> array:
    """x / sqrt(mean(x^2) + eps) over the last axis, in float32 at least, then * weight (Zhang and Sennrich, "Root mean
    square layer normalization", 2019)."""
    return _fast.fast_rms_norm(only_array(x, "rms_norm"), weight, eps, stream)


def layer_norm(
    x: array, weight: array | None, bias: array | None, eps: float, *, stream: StreamOrDevice = None
) -> array:
    """(x - mean) / sqrt(var + eps) over the last axis, in float32 at least, then * weight + bias (Ba et al., "Layer
    normalization", 2016)."""
    return _fast.fast_layer_norm(only_array(x, "layer_norm"), weight, bias, eps, stream)


def rope(
    a: array,
    dims: int,
    *,
    traditional: bool,
    base: float | None,
    scale: float,
    offset: Any,
    freqs: array | None = None,
    stream: StreamOrDevice = None,
) -> array:
    """Rotary position embedding of (batch, ..., length, features) (Su et al., "RoFormer", 2021): the first `dims`
    features turn in pairs, neighbours if `traditional`, else the two halves. Give `base` or `freqs`, not both. `offset`
    is the first position, a number or an integer array (batch)."""
    if (base is None) == (freqs is None):
        raise ValueError("rope: give base or freqs, and not both")
    offset = convert.to_array(offset, "rope")
    number = 0.0 if base is None else base
    return _fast.fast_rope(only_array(a, "rope"), dims, traditional, number, scale, offset, freqs, stream)


def scaled_dot_product_attention(
    q: array,
    k: array,
    v: array,
    *,
    scale: float,
    mask: array | str | None = None,
    sinks: array | None = None,
    force_fused: bool = False,
    stream: StreamOrDevice = None,
) -> array:
    """softmax(scale q k^T + mask) v for q (batch, heads, length, features), k and v (batch, kv_heads, length_kv, ...),
    where heads is a multiple of kv_heads (Vaswani et al., 2017; grouped: Ainslie et al., 2023). `mask` broadcasts to
    (batch, heads, length, length_kv): bool keeps where true, floating is added; "causal" aligns the last query with the
    last key. `sinks` (heads) are extra logits in the softmax's sum."""
    if isinstance(mask, str) and mask != "causal":
        raise ValueError(f"scaled_dot_product_attention: mask must be an array or 'causal', not {mask!r}")
    causal = isinstance(mask, str)
    return _fast.fast_scaled_dot_product_attention(
        only_array(q, "scaled_dot_product_attention"), k, v, scale, None if causal else mask, causal, sinks, stream
    )


class metal_kernel:
    """A kernel in Metal's language. It can be made, so that modules that define some can be imported; calling it is a
    RuntimeError, since there is no Metal here."""

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        self.name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"metal_kernel {self.name!r}: this build has no Metal back-end")


def cuda_kernel(
    name: str,
    input_names: Any,
    output_names: Any,
    source: str,
    header: str = "",
    ensure_row_contiguous: bool = True,
    shared_memory: int = 0,
) -> Any:
    """RuntimeError: there is no CUDA here."""
    raise RuntimeError("cuda_kernel: this build has no CUDA back-end")


def precompiled_cuda_kernel(**arguments: Any) -> list[array]:
    """RuntimeError: there is no CUDA here."""
    raise RuntimeError("precompiled_cuda_kernel: this build has no CUDA back-end")
