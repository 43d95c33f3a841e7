"""Products of matrices and tensors: the last part of mx/ops.h, and what is composed of it."""

from __future__ import annotations

from collections.abc import Sequence

from ._ffi import fast
from ._rules import dtype_code, only_array, to_array, to_pair
from .device import StreamOrDevice
from .dtype import Dtype, bool_, int64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .array import array

__all__ = [
    "addmm",
    "block_masked_mm",
    "convolve",
    "einsum",
    "einsum_path",
    "gather_mm",
    "inner",
    "kron",
    "matmul",
    "outer",
    "segmented_mm",
    "tensordot",
    "trace",
    "vecdot",
]


def matmul(a: array, b: array, /, *, stream: StreamOrDevice = None) -> array:
    """The matrix product of the last two axes, over broadcast batches; a 1-d operand is a row or a column."""
    return fast.matmul(only_array(a, "matmul"), only_array(b, "matmul"), stream)


def addmm(
    c: array, a: array, b: array, /, alpha: float = 1.0, beta: float = 1.0, *, stream: StreamOrDevice = None
) -> array:
    """alpha * matmul(a, b) + beta * c; c is broadcast to the product."""
    return fast.addmm(to_array(c, "addmm"), only_array(a, "addmm"), only_array(b, "addmm"), alpha, beta, stream)


def inner(a: array, b: array, /, *, stream: StreamOrDevice = None) -> array:
    """The sum of products over the last axes of both; a product if one is 0-d."""
    return fast.inner(*to_pair(a, b, "inner"), stream)


def outer(a: array, b: array, /, *, stream: StreamOrDevice = None) -> array:
    """The products of all pairs of the flattened operands: (size of a, size of b)."""
    return fast.outer(*to_pair(a, b, "outer"), stream)


def vecdot(a: array, b: array, /, axis: int = -1, *, stream: StreamOrDevice = None) -> array:
    """The sum of conjugate(a) * b along an axis of the broadcast operands."""
    return fast.vecdot(*to_pair(a, b, "vecdot"), axis, stream)


def tensordot(
    a: array, b: array, /, axes: int | Sequence[Sequence[int]] = 2, *, stream: StreamOrDevice = None
) -> array:
    """Contracts axes of a with axes of b: the last `axes` of a with the first of b, or two lists, pair by pair."""
    if isinstance(axes, int):
        if axes < 0:
            raise ValueError("tensordot: axes is negative")
        left: Sequence[int] = range(a.ndim - axes, a.ndim)
        right: Sequence[int] = range(axes)
    else:
        if len(axes) != 2:
            raise ValueError("tensordot: axes must be a number or two lists")
        left, right = (x if isinstance(x, Sequence) else (x,) for x in axes)
    return fast.tensordot(only_array(a, "tensordot"), only_array(b, "tensordot"), left, right, stream)


def kron(a: array, b: array, *, stream: StreamOrDevice = None) -> array:
    """The Kronecker product; the operand of lower rank gets leading axes of size 1."""
    return fast.kron(*to_pair(a, b, "kron"), stream)


def trace(
    a: array,
    /,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: Dtype | None = None,
    *,
    stream: StreamOrDevice = None,
) -> array:
    """The sum of a diagonal, cast to `dtype` first."""
    a = to_array(a, "trace")
    code = a._dtype_code if dtype is None else dtype_code(dtype, "trace")
    return fast.trace(a, offset, axis1, axis2, code, stream)


_CONVOLVE_MODES = {"full": 0, "valid": 1, "same": 2}


def convolve(a: array, v: array, /, mode: str = "full", *, stream: StreamOrDevice = None) -> array:
    """The convolution of two 1-d arrays: all of it ("full"), where both overlap fully ("valid"), or the middle in the
    size of the longer one ("same")."""
    if mode not in _CONVOLVE_MODES:
        raise ValueError(f"convolve: mode must be one of {', '.join(_CONVOLVE_MODES)}, not {mode!r}")
    return fast.convolve(*to_pair(a, v, "convolve"), _CONVOLVE_MODES[mode], stream)


def einsum(subscripts: str, *operands: Any, stream: StreamOrDevice = None) -> array:
    """Einstein summation: "ij,jk->ik" names the axes of every operand by letters, and those of the result; the others
    are summed over. Without an arrow the result has the letters that occur once, in alphabetical order. A letter that
    an operand repeats takes its diagonal, "..." stands for any axes, which are broadcast as sizes of 1 are. Operands
    are contracted in pairs, in the order that einsum_path tells."""
    return fast.einsum(subscripts, [to_array(x, "einsum") for x in operands], stream)


def einsum_path(subscripts: str, *operands: Any) -> tuple[list[tuple[int, ...]], str]:
    """The contractions of einsum, each as the positions of its operands in the list of those that are left, from which
    they go, and to the end of which their result comes; and a text that says so."""
    arrays = [to_array(x, "einsum_path") for x in operands]
    flat = iter(fast.einsum_path(subscripts, arrays))
    path = [tuple(next(flat) for _ in range(n)) for n in flat]
    shapes = ", ".join(str(x.shape) for x in arrays)
    return path, f"einsum {subscripts} of {shapes}:\n" + "".join(f"  contract {step}\n" for step in path)


def gather_mm(
    a: array,
    b: array,
    /,
    lhs_indices: array | None = None,
    rhs_indices: array | None = None,
    *,
    sorted_indices: bool = False,
    stream: StreamOrDevice = None,
) -> array:
    """matmul of matrices picked by index: the batch axes of a and b are flattened, and the index arrays, broadcast
    against each other, choose from them. None takes the batches as they are."""
    a, b = only_array(a, "gather_mm"), only_array(b, "gather_mm")
    return matmul(_pick(a, lhs_indices, stream), _pick(b, rhs_indices, stream), stream=stream)


def _pick(x: array, indices: array | None, stream: StreamOrDevice) -> array:
    if indices is None:
        return x
    if x.ndim < 2:
        raise ValueError("gather_mm: the operands must be matrices")
    # no sizes in the graph, so that it can be replayed on other shapes
    flat = fast.expand_dims(x, (0,), stream) if x.ndim == 2 else fast.flatten(x, 0, -3, stream)
    return fast.take(flat, indices, 0, stream)


def block_masked_mm(
    a: array,
    b: array,
    /,
    block_size: int = 64,
    mask_out: array | None = None,
    mask_lhs: array | None = None,
    mask_rhs: array | None = None,
    *,
    stream: StreamOrDevice = None,
) -> array:
    """matmul of matrices that are masked in square blocks of 32 or 64: each mask has an element per block (the last
    ones may be cut off) and is broadcast over the batch. A bool mask picks blocks, one of floats multiplies them."""
    if block_size not in (32, 64):
        raise ValueError(f"block_masked_mm: block_size must be 32 or 64, not {block_size}")
    a, b = (_masked(only_array(x, "block_masked_mm"), m, block_size, stream) for x, m in ((a, mask_lhs), (b, mask_rhs)))
    return _masked(matmul(a, b, stream=stream), mask_out, block_size, stream)


def _masked(x: array, mask: array | None, block: int, stream: StreamOrDevice) -> array:
    if mask is None:
        return x
    blocks = tuple(-(-n // block) for n in x.shape[-2:])
    if x.ndim < 2 or mask.shape[-2:] != blocks:
        raise ValueError(f"block_masked_mm: a mask of shape {mask.shape} for a matrix of shape {x.shape}")
    for axis in (-2, -1):
        mask = fast.repeat(mask, block, axis, stream)
    mask = mask[..., : x.shape[-2], : x.shape[-1]]
    if mask.dtype is bool_:  # what is not picked counts as 0, also if it is not finite
        return fast.where(mask, x, fast.array_scalar_weak(0, x._dtype_code), stream)
    return fast.astype(fast.multiply(x, mask, stream), x._dtype_code, stream)


def segmented_mm(a: array, b: array, /, segments: array, *, stream: StreamOrDevice = None) -> array:
    """(..., m, n): a[:, s:e] @ b[s:e] for every pair s, e of `segments`, which has shape (..., 2). a and b are
    matrices. Takes memory for a copy of a and of b per segment."""
    a, b, segments = (only_array(x, "segmented_mm") for x in (a, b, segments))
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError(f"segmented_mm: the operands must be matrices, but have shapes {a.shape} and {b.shape}")
    if not segments.ndim or segments.shape[-1] != 2:
        raise ValueError(f"segmented_mm: segments must have shape (..., 2), not {segments.shape}")
    inner_axis = fast.arange(0, a.shape[1], 1, int64._code, stream)
    start, end = segments[..., :1], segments[..., 1:]
    inside = fast.logical_and(inner_axis >= start, inner_axis < end, stream)
    left, right = fast.expand_dims(inside, (-2,), stream), fast.expand_dims(inside, (-1,), stream)
    return matmul(
        *(fast.where(mask, x, fast.array_scalar_weak(0, x._dtype_code), stream) for mask, x in ((left, a), (right, b))),
        stream=stream,
    )
