"""Unique elements. Every NaN is an element of its own. Data decide the shapes, so these functions wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pymx as mx

from .data_types import INDEX

if TYPE_CHECKING:
    from ..array import array

__all__ = ["unique_all", "unique_counts", "unique_inverse", "unique_values"]


class UniqueAll(NamedTuple):
    """values, sorted; the index of the first of each; where each element's value is; how many there are of each."""

    values: array
    indices: array
    inverse_indices: array
    counts: array


class UniqueCounts(NamedTuple):
    """values, sorted, and how many there are of each."""

    values: array
    counts: array


class UniqueInverse(NamedTuple):
    """values, sorted, and where each element's value is."""

    values: array
    inverse_indices: array


def unique_all(x: array, /) -> UniqueAll:
    """Unique elements with indices, inverse and counts."""
    values, indices, inverse, counts = mx.unique(x, return_index=True, return_inverse=True, return_counts=True)
    return UniqueAll(values, indices.astype(INDEX), inverse.astype(INDEX).reshape(x.shape), counts.astype(INDEX))


def unique_counts(x: array, /) -> UniqueCounts:
    """Unique elements and counts."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: array, /) -> UniqueInverse:
    """Unique elements and where each element's value is."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: array, /) -> array:
    """Unique elements."""
    return mx.unique(x)  # type: ignore[return-value]
