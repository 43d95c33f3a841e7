"""Sorting: always stable, NaN last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pymx as mx

from .data_types import INDEX
from .manipulation import flip

if TYPE_CHECKING:
    from ..array import array

__all__ = ["argsort", "sort"]


def argsort(x: array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> array:
    """The indices that sort along an axis, as int64."""
    if not descending:
        return mx.argsort(x, axis=axis).astype(INDEX)
    # Sorted from the back and read from the back, equal elements keep their order.
    order = mx.argsort(flip(x, axis=axis), axis=axis).astype(INDEX)
    return flip(x.shape[axis] - 1 - order, axis=axis)


def sort(x: array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> array:
    """The elements sorted along an axis."""
    return flip(mx.sort(x, axis=axis), axis=axis) if descending else mx.sort(x, axis=axis)
