"""Reductions and scans. Sums and products of integers are int64 or uint64 if not said otherwise."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import pymx as mx

from ..dtype import Dtype, int64, isdtype, uint64
from .data_types import astype, result_type

if TYPE_CHECKING:
    from ..array import array

__all__ = ["all", "any", "cumulative_prod", "cumulative_sum", "diff", "max", "mean", "min", "prod", "std", "sum", "var"]

Axes: TypeAlias = "int | Sequence[int] | None"


def _summed(x: array, dtype: Dtype | None) -> tuple[array, Dtype]:
    """`x` in the dtype that a sum or product of it has, and this dtype."""
    if dtype is None:
        if isdtype(x.dtype, "unsigned integer"):
            dtype = uint64
        else:
            dtype = int64 if isdtype(x.dtype, ("bool", "signed integer")) else x.dtype
    return x if x.dtype is dtype else x.astype(dtype), dtype


def sum(x: array, /, *, axis: Axes = None, dtype: Dtype | None = None, keepdims: bool = False) -> array:
    """The sum of the elements, along axes or of all."""
    x, dtype = _summed(x, dtype)
    return astype(mx.sum(x, axis=axis, keepdims=keepdims), dtype, copy=False)


def prod(x: array, /, *, axis: Axes = None, dtype: Dtype | None = None, keepdims: bool = False) -> array:
    """The product of the elements, along axes or of all."""
    x, dtype = _summed(x, dtype)
    return astype(mx.prod(x, axis=axis, keepdims=keepdims), dtype, copy=False)


def max(x: array, /, *, axis: Axes = None, keepdims: bool = False) -> array:
    """The largest element; NaN if there is one."""
    return mx.max(x, axis=axis, keepdims=keepdims)


def min(x: array, /, *, axis: Axes = None, keepdims: bool = False) -> array:
    """The smallest element; NaN if there is one."""
    return mx.min(x, axis=axis, keepdims=keepdims)


def all(x: array, /, *, axis: Axes = None, keepdims: bool = False) -> array:
    """Whether all elements are true."""
    return mx.all(x, axis=axis, keepdims=keepdims)


def any(x: array, /, *, axis: Axes = None, keepdims: bool = False) -> array:
    """Whether any element is true."""
    return mx.any(x, axis=axis, keepdims=keepdims)


def mean(x: array, /, *, axis: Axes = None, keepdims: bool = False) -> array:
    """The arithmetic mean."""
    return mx.mean(x, axis=axis, keepdims=keepdims)


def var(x: array, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> array:
    """The variance, divided by N - correction."""
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    n = math.prod(x.shape[a] for a in axes)
    squares = mx.square(x - mx.mean(x, axis=axis, keepdims=True))
    return mx.divide(mx.sum(squares, axis=axis, keepdims=keepdims), builtins.max(n - correction, 0.0))


def std(x: array, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> array:
    """The square root of the variance."""
    return mx.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def _cumulative(function: Callable[..., array], x: array, axis: int | None, initial: Any, dtype: Dtype | None) -> array:
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"cumulative: needs an axis for {x.ndim} dimensions")
        axis = 0
    x, dtype = _summed(x, dtype)
    result = astype(function(x, axis=axis), dtype, copy=False)
    if initial is None:
        return result
    shape = list(x.shape)
    shape[axis] = 1
    return mx.concatenate([mx.full(shape, initial, dtype=result.dtype), result], axis=axis)


def cumulative_sum(
    x: array, /, *, axis: int | None = None, dtype: Dtype | None = None, include_initial: bool = False
) -> array:
    """Running sums along an axis, from 0 if `include_initial`."""
    return _cumulative(mx.cumsum, x, axis, 0 if include_initial else None, dtype)


def cumulative_prod(
    x: array, /, *, axis: int | None = None, dtype: Dtype | None = None, include_initial: bool = False
) -> array:
    """Running products along an axis, from 1 if `include_initial`."""
    return _cumulative(mx.cumprod, x, axis, 1 if include_initial else None, dtype)


def diff(
    x: array, /, *, axis: int = -1, n: int = 1, prepend: array | None = None, append: array | None = None
) -> array:
    """The n-th differences along an axis, of `x` between what stands before and after it."""
    parts = [part for part in (prepend, x, append) if part is not None]
    dtype = result_type(*parts)
    joined = mx.concatenate([p.astype(dtype) for p in parts], axis=axis) if len(parts) > 1 else x
    return mx.diff(joined, n=n, axis=axis)
