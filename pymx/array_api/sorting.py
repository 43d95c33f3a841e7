"""Sorting: always stable; NaN is the largest value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pymx as mx

from .data_types import INDEX

if TYPE_CHECKING:
    from ..array import array

__all__ = ["argsort", "sort"]


def argsort(x: array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> array:
    """The indices that sort along an axis, as int64."""
    return mx.argsort(x, axis=axis, descending=descending, stable=stable).astype(INDEX)


def sort(x: array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> array:
    """The elements sorted along an axis."""
    return mx.sort(x, axis=axis, descending=descending, stable=stable)
