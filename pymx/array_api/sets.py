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
    flat = x.reshape(-1)
    n = flat.size
    if n == 0:
        none = mx.zeros((0,), dtype=INDEX)
        return UniqueAll(flat, none, none.reshape(x.shape), none)
    order = mx.argsort(flat).astype(INDEX)
    ordered = mx.take(flat, order, axis=0)
    starts_group = mx.concatenate([mx.array([True]), ordered[1:] != ordered[:-1]])
    starts = mx.nonzero(starts_group)[0].astype(INDEX)
    group = mx.cumsum(starts_group.astype(INDEX)) - 1
    inverse = mx.put_along_axis(mx.zeros((n,), dtype=INDEX), order, group, axis=0)
    ends = mx.concatenate([starts[1:], mx.array([n], dtype=INDEX)])
    return UniqueAll(
        mx.take(ordered, starts, axis=0), mx.take(order, starts, axis=0), inverse.reshape(x.shape), ends - starts
    )


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
    return unique_all(x).values
