"""Shapes and order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pymx as mx

from .data_types import result_type

if TYPE_CHECKING:
    from ..array import array

__all__ = [
    "broadcast_arrays",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tile",
    "unstack",
]


def _promoted(arrays: Sequence[array]) -> list[array]:
    dtype = result_type(*arrays)
    return [x if x.dtype is dtype else x.astype(dtype) for x in arrays]


def broadcast_arrays(*arrays: array) -> list[array]:
    """All arrays in their common shape."""
    return list(mx.broadcast_arrays(*arrays))


def broadcast_to(x: array, /, shape: tuple[int, ...]) -> array:
    """`x` in a shape that it can be broadcast to."""
    return mx.broadcast_to(x, shape)


def concat(arrays: Sequence[array], /, *, axis: int | None = 0) -> array:
    """Arrays one after the other along an axis; flattened with axis=None."""
    parts = _promoted(arrays)
    if axis is None:
        return mx.concatenate([x.reshape(-1) for x in parts], axis=0)
    return mx.concatenate(parts, axis=axis)


def expand_dims(x: array, /, axis: int) -> array:
    """A dimension of size 1 at `axis`; IndexError if it is out of range."""
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise IndexError(f"expand_dims: axis {axis} is out of range for {x.ndim} dimensions")
    return mx.expand_dims(x, axis)


def flip(x: array, /, *, axis: int | Sequence[int] | None = None) -> array:
    """The elements along some or all axes in reversed order."""
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    for a in axes:
        if not -x.ndim <= a < x.ndim:
            raise IndexError(f"flip: axis {a} is out of range for {x.ndim} dimensions")
    return mx.flip(x, axis=list(axes))


def moveaxis(x: array, source: int | Sequence[int], destination: int | Sequence[int], /) -> array:
    """Axes moved to other positions; the others keep their order."""
    sources = [source] if isinstance(source, int) else list(source)
    targets = [destination] if isinstance(destination, int) else list(destination)
    if len(sources) != len(targets):
        raise ValueError(f"moveaxis: {len(sources)} sources, {len(targets)} destinations")
    sources, targets = [a % x.ndim for a in sources], [a % x.ndim for a in targets]
    order = [a for a in range(x.ndim) if a not in sources]
    for target, a in sorted(zip(targets, sources, strict=True)):
        order.insert(target, a)
    return mx.transpose(x, order)


def permute_dims(x: array, /, axes: tuple[int, ...]) -> array:
    """The dimensions in the order of `axes`."""
    return mx.transpose(x, list(axes))


def repeat(x: array, repeats: int | array, /, *, axis: int | None = None) -> array:
    """Every element, or slice along an axis, `repeats` times; an array says how often each one is. Waits for it."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    if isinstance(repeats, int):
        return mx.repeat(x, repeats, axis=axis)
    counts = repeats.reshape(-1).tolist()
    if len(counts) == 1:
        return mx.repeat(x, int(counts[0]), axis=axis)
    if len(counts) != x.shape[axis]:
        raise ValueError(f"repeat: {len(counts)} counts for {x.shape[axis]} elements")
    indices = [i for i, n in enumerate(counts) for _ in range(int(n))]
    return mx.take(x, mx.array(indices, dtype=mx.int64), axis=axis)


def reshape(x: array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> array:
    """The elements in another shape. copy=False promises no copy, which is not known before evaluation: ValueError
    unless the array is contiguous anyway."""
    return mx.reshape(mx.array(x) if copy else x, shape)


def roll(x: array, /, shift: int | Sequence[int], *, axis: int | Sequence[int] | None = None) -> array:
    """Elements shifted along axes, those that fall off one end come back at the other; flat with axis=None."""
    return mx.roll(x, shift, axis) if x.size else x


def squeeze(x: array, /, axis: int | Sequence[int]) -> array:
    """Without the given dimensions, which must have size 1 (ValueError)."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for a in axes:
        if x.shape[a] != 1:
            raise ValueError(f"squeeze: axis {a} of shape {x.shape} has not size 1")
    return mx.squeeze(x, axes)


def stack(arrays: Sequence[array], /, *, axis: int = 0) -> array:
    """Arrays of one shape along a new axis."""
    return mx.stack(_promoted(arrays), axis=axis)


def tile(x: array, repetitions: tuple[int, ...], /) -> array:
    """`x` repeated along every axis."""
    return mx.tile(x, repetitions)


def unstack(x: array, /, *, axis: int = 0) -> tuple[array, ...]:
    """The slices along an axis."""
    parts = mx.moveaxis(x, axis, 0)
    return tuple(parts[i] for i in range(parts.shape[0]))
