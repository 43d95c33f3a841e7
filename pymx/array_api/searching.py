"""Where elements are. Indices and counts are int64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import pymx as mx

from .data_types import INDEX
from .elementwise import Number, promoted

if TYPE_CHECKING:
    from ..array import array

__all__ = ["argmax", "argmin", "count_nonzero", "nonzero", "searchsorted", "take", "take_along_axis", "where"]


def _argument(function: str, x: array, axis: int | None, keepdims: bool) -> array:
    if axis is None:
        index = getattr(mx, function)(x.reshape(-1)).astype(INDEX)
        return index.reshape((1,) * x.ndim) if keepdims else index
    return getattr(mx, function)(x, axis=axis, keepdims=keepdims).astype(INDEX)


def argmax(x: array, /, *, axis: int | None = None, keepdims: bool = False) -> array:
    """The index of the first largest element along an axis, or in all."""
    return _argument("argmax", x, axis, keepdims)


def argmin(x: array, /, *, axis: int | None = None, keepdims: bool = False) -> array:
    """The index of the first smallest element along an axis, or in all."""
    return _argument("argmin", x, axis, keepdims)


def count_nonzero(x: array, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> array:
    """How many elements are not zero."""
    return mx.sum(mx.not_equal(x, 0).astype(INDEX), axis=axis, keepdims=keepdims)


def nonzero(x: array, /) -> tuple[array, ...]:
    """The indices of elements that are not zero, an array per dimension. Waits for `x`; a 0-d array is a ValueError."""
    if x.ndim == 0:
        raise ValueError("nonzero: a 0-d array has no dimension to index")
    return tuple(i.astype(INDEX) for i in mx.nonzero(x))


def searchsorted(
    x1: array, x2: array, /, *, side: Literal["left", "right"] = "left", sorter: array | None = None
) -> array:
    """Where the elements of `x2` would go in the sorted `x1`; `sorter` sorts it."""
    x1 = x1 if sorter is None else mx.take(x1, sorter, axis=0)
    return mx.searchsorted(*promoted(x1, x2), side=side).astype(INDEX)


def take(x: array, indices: array, /, *, axis: int | None = None) -> array:
    """The elements, or slices along an axis, at 1-d indices. The axis may be left out for 1-d arrays only."""
    if axis is None and x.ndim != 1:
        raise ValueError(f"take: needs an axis for {x.ndim} dimensions")
    return mx.take(x, indices, axis=0 if axis is None else axis)


def take_along_axis(x: array, indices: array, /, *, axis: int = -1) -> array:
    """Elements along an axis by indices of the same number of dimensions."""
    return mx.take_along_axis(x, indices, axis=axis)


def where(condition: array, x1: Number, x2: Number, /) -> array:
    """Elements of `x1` where the condition holds, else of `x2`."""
    if isinstance(x1, mx.array) or isinstance(x2, mx.array):
        return mx.where(condition, *promoted(x1, x2))
    raise TypeError("where: x1 or x2 must be an array")
