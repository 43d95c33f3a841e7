"""Products of matrices and tensors: the last part of mx/ops.h, and what is composed of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._ffi import fast
from ._rules import only_array, to_array, to_pair
from .device import StreamOrDevice
from .dtype import Dtype

if TYPE_CHECKING:
    from .array import array

__all__ = ["addmm", "gather_mm", "inner", "kron", "matmul", "outer", "tensordot", "trace", "vecdot"]


def matmul(a: array, b: array, /, *, stream: StreamOrDevice = None) -> array:
    """The matrix product of the last two axes, over broadcast batches; a 1-d operand is a row or a column."""
    return fast.matmul(only_array(a, "matmul"), only_array(b, "matmul"), stream)


def addmm(
    c: array, a: array, b: array, /, alpha: float = 1.0, beta: float = 1.0, *, stream: StreamOrDevice = None
) -> array:
    """alpha * matmul(a, b) + beta * c; c is broadcast to the product."""
    return fast.addmm(to_array(c), only_array(a, "addmm"), only_array(b, "addmm"), alpha, beta, stream)


def inner(a: array, b: array, /, *, stream: StreamOrDevice = None) -> array:
    """The sum of products over the last axes of both; a product if one is 0-d."""
    return fast.inner(*to_pair(a, b), stream)


def outer(a: array, b: array, /, *, stream: StreamOrDevice = None) -> array:
    """The products of all pairs of the flattened operands: (size of a, size of b)."""
    return fast.outer(*to_pair(a, b), stream)


def vecdot(a: array, b: array, /, *, axis: int = -1, stream: StreamOrDevice = None) -> array:
    """The sum of conjugate(a) * b along an axis of the broadcast operands."""
    return fast.vecdot(*to_pair(a, b), axis, stream)


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
    return fast.kron(*to_pair(a, b), stream)


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
    code = a._dtype_code if dtype is None else dtype._code
    return fast.trace(only_array(a, "trace"), offset, axis1, axis2, code, stream)


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
