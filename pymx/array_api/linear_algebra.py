"""Products of arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pymx as mx

from ..dtype import isdtype
from .data_types import astype, result_type

if TYPE_CHECKING:
    from ..array import array

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


def _alike(x1: array, x2: array) -> tuple[array, array]:
    dtype = result_type(x1, x2)
    return astype(x1, dtype, copy=False), astype(x2, dtype, copy=False)


def matmul(x1: array, x2: array, /) -> array:
    """The matrix product; the first dimensions are broadcast. Integers are multiplied as integers."""
    x1, x2 = _alike(x1, x2)
    if not isdtype(x1.dtype, "integral"):
        return mx.matmul(x1, x2)
    if not x1.ndim or not x2.ndim:
        raise ValueError(f"matmul: needs at least one dimension, got shapes {x1.shape} and {x2.shape}")
    rows = x1[None, :] if x1.ndim == 1 else x1
    columns = x2[:, None] if x2.ndim == 1 else x2
    if rows.shape[-1] != columns.shape[-2]:
        raise ValueError(
            f"matmul: shapes {x1.shape} and {x2.shape} do not fit: {rows.shape[-1]} != {columns.shape[-2]}"
        )
    # The products are summed as they are made: nothing of this size is stored.
    products = mx.expand_dims(rows, -1) * mx.expand_dims(columns, -3)
    result = mx.sum(products, axis=-2).astype(x1.dtype)
    if x2.ndim == 1:
        result = mx.squeeze(result, -1)
    return mx.squeeze(result, -1 if x2.ndim == 1 else -2) if x1.ndim == 1 else result


def matrix_transpose(x: array, /) -> array:
    """The last two dimensions swapped."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: needs two dimensions, not {x.ndim}")
    return mx.swapaxes(x, -1, -2)


def tensordot(x1: array, x2: array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> array:
    """Sums over pairs of axes: the last of `x1` with the first of `x2`, or two lists."""
    x1, x2 = _alike(x1, x2)
    first, second = (range(x1.ndim - axes, x1.ndim), range(axes)) if isinstance(axes, int) else axes
    if not isdtype(x1.dtype, "integral"):
        return mx.tensordot(x1, x2, axes=[list(first), list(second)])
    summed1, summed2 = [a % x1.ndim for a in first], [a % x2.ndim for a in second]
    kept1 = [a for a in range(x1.ndim) if a not in summed1]
    kept2 = [a for a in range(x2.ndim) if a not in summed2]
    n = math.prod(x1.shape[a] for a in summed1)
    if [x1.shape[a] for a in summed1] != [x2.shape[a] for a in summed2]:
        raise ValueError(f"tensordot: shapes {x1.shape} and {x2.shape} do not fit along axes {axes}")
    shape = [x1.shape[a] for a in kept1], [x2.shape[a] for a in kept2]
    rows = mx.transpose(x1, kept1 + summed1).reshape(math.prod(shape[0]), n)
    columns = mx.transpose(x2, summed2 + kept2).reshape(n, math.prod(shape[1]))
    return matmul(rows, columns).reshape(shape[0] + shape[1])


def vecdot(x1: array, x2: array, /, *, axis: int = -1) -> array:
    """The dot product along an axis, with the conjugate of `x1`."""
    x1, x2 = _alike(x1, x2)
    return astype(mx.vecdot(x1, x2, axis=axis), x1.dtype, copy=False)
