"""Indexing: what a[key], a[key] = v and a.at[key] mean. Keys are NumPy's: ints, slices, None, Ellipsis, integer arrays
that are broadcast against each other, and boolean masks.

A key is first sorted into one entry per axis (`_parse`). Ints and slices alone become one strided slice, a view. With
index arrays, ints count as index arrays too: the slices are taken first, then the arrays gather from (or scatter into)
what is left. Slices stay what they were given as, so a compiled function may be replayed on other sizes. Where masks
select has to be known when the key is used, which forces their evaluation; inside a trace that is an error.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import convert
from ._ffi import BufferBase, fast
from ._number import is_integral, number
from .dtype import bool_, complex128, float64, inexact, issubdtype
from .errors import OutOfRangeError, RangeError, TraceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .array import array

__all__ = ["ASSIGN", "ArrayAt", "get", "updated"]

ASSIGN, ADD, MULTIPLY, MAXIMUM, MINIMUM = range(5)  # mx_update_mode
_END, _BEGIN = 2**63 - 1, -(2**63)  # clipped by the library: to the end, through the first element


class _MaskAxis:
    """Indices that come from a mask, and the mask's size along their axis."""

    __slots__ = ("indices", "size")

    def __init__(self, indices: array, size: int) -> None:
        self.indices, self.size = indices, size


class _NewAxis:
    """A new axis and the indices into it: what True and False stand for."""

    __slots__ = ("indices",)

    def __init__(self, chosen: bool) -> None:
        self.indices: array = fast.array_new(bytes(4 * chosen), (int(chosen),), 7)


class _Key:
    """A parsed key. Per axis of the array one of: an int, a slice, an array."""

    __slots__ = ("entries", "gap", "order")

    def __init__(self, entries: list[Any], order: list[int | _NewAxis | None], gap: int | None) -> None:
        self.entries = entries
        self.gap = gap  # where in the order an ellipsis stands that stands for no axis, but separates index arrays
        self.order = order  # the key's items from left to right: the axis that they index, None for a new one

    @property
    def has_arrays(self) -> bool:
        return any(isinstance(e, BufferBase) for e in self.entries) or any(isinstance(e, _NewAxis) for e in self.order)


# ---- parsing


def _parse(x: array, key: Any) -> _Key:
    items = list(key) if isinstance(key, tuple) else [key]
    items = [new for item in items for new in _item(item)]
    used = sum(item is not None and item is not Ellipsis and not isinstance(item, _NewAxis) for item in items)
    ndim = x.ndim
    if used > ndim:
        raise OutOfRangeError(f"{used} indices are too many for an array with {ndim} dimensions")
    if sum(item is Ellipsis for item in items) > 1:
        raise OutOfRangeError("an index can have only one ellipsis")
    at = next((i for i, item in enumerate(items) if item is Ellipsis), len(items))
    gap = at if at < len(items) and used == ndim else None
    items[at : at + 1] = [slice(None)] * (ndim - used)
    entries: list[Any] = []
    order: list[int | _NewAxis | None] = []
    shape = x.shape
    for item in items:
        if item is None or isinstance(item, _NewAxis):
            order.append(item)
            continue
        axis = len(entries)
        if isinstance(item, _MaskAxis):
            if item.size != shape[axis]:
                raise OutOfRangeError(f"a mask of size {item.size} cannot index axis {axis} of size {shape[axis]}")
            item = item.indices
        if isinstance(item, int) and not -shape[axis] <= item < shape[axis]:
            raise OutOfRangeError(f"index {item} is out of bounds for axis {axis} with size {shape[axis]}")
        order.append(axis)
        entries.append(item)
    return _Key(entries, order, gap)


def _item(item: Any) -> Sequence[Any]:
    """One item of a key as ints, slices, None, Ellipsis and integer arrays."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return (item,)
    if isinstance(item, bool):  # a mask without dimensions
        return (_NewAxis(item),)
    if is_integral(item):
        return (int(item),)
    if isinstance(item, list):
        found = convert.from_host(item) if item else fast.array_new(b"", (0,), 7)
    elif isinstance(item, BufferBase):
        found = item
    elif convert._has_memory(item):
        found = convert.from_host(item)
    else:
        raise OutOfRangeError(f"an array cannot be indexed by {type(item).__name__}")
    if found._dtype_code == bool_._code:
        if not found.ndim:
            return (_NewAxis(bool(found)),)
        return [_MaskAxis(i, n) for i, n in zip(_places(found), found.shape, strict=True)]
    if found._dtype_code > 8:
        raise OutOfRangeError(f"an array cannot be indexed by an array of {found.dtype}")
    return (found,)


def _places(mask: array) -> tuple[array, ...]:
    """Where a boolean array of at least one dimension is true: one array of indices per axis. Forces evaluation."""
    try:
        n = fast.count_nonzero(mask, None, False, None).item()
    except TraceError:
        raise TraceError("a boolean mask as index needs its values, which are not known inside a trace") from None
    return tuple(fast.unstack(fast.argwhere(mask, n, None), 1, None))


# ---- basic indexing


def _bounds(entry: Any) -> tuple[int, int, int]:
    """Start, stop and step of an int or a slice."""
    if isinstance(entry, int):
        return entry, entry + 1 if entry != -1 else _END, 1
    step = 1 if entry.step is None else _index(entry.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    start = (0 if step > 0 else _END) if entry.start is None else _index(entry.start)
    stop = (_END if step > 0 else _BEGIN) if entry.stop is None else _index(entry.stop)
    return start, stop, step


def _index(x: Any) -> int:
    try:
        i = x.__index__()
    except AttributeError:
        raise OutOfRangeError(f"slices need integers, not {type(x).__name__}") from None
    if not -(2**31) <= i < 2**31 and _BEGIN < i < _END:  # as MLX has it; sys.maxsize means as far as it goes
        raise RangeError(f"a slice index of {i} does not fit in 32 bits")
    return max(_BEGIN, min(_END, i))


def _is_full(entry: Any) -> bool:
    return isinstance(entry, slice) and entry.start is None and entry.stop is None and entry.step in (None, 1)


def _strided(x: array, entries: list[Any]) -> array:
    if all(map(_is_full, entries)):
        return x
    return fast.slice(x, *zip(*map(_bounds, entries), strict=True), None)


def get(x: array, key: Any) -> array:
    """x[key]."""
    parsed = _parse(x, key)
    if parsed.has_arrays:
        return _gather(x, parsed)
    out = _strided(x, parsed.entries)
    ints = [axis for axis, e in enumerate(parsed.entries) if isinstance(e, int)]
    if ints:
        out = fast.squeeze(out, ints, None)
    kept = [axis for axis in parsed.order if axis not in ints]
    new = [i for i, axis in enumerate(kept) if axis is None]
    if new:
        out = fast.expand_dims(out, new, None)
    return fast.positive(out, None) if out is x else out


# ---- index arrays


def _prepare(x: array, key: _Key) -> tuple[array, list[array], list[int], int]:
    """What is left once the slices are taken, with the new axes; the index arrays, the axes that they index, and where
    their joint axes go in the result."""
    entries = [slice(None) if not isinstance(e, slice) else e for e in key.entries]
    base = _strided(x, entries)
    new = [i for i, axis in enumerate(key.order) if not isinstance(axis, int)]
    if new:
        base = fast.expand_dims(base, new, None)
    arrays, axes = [], []
    for i, axis in enumerate(key.order):
        entry = key.entries[axis] if isinstance(axis, int) else axis.indices if axis else None
        if isinstance(entry, int):
            entry = fast.array_scalar(entry, 8)
        if isinstance(entry, BufferBase):
            arrays.append(entry)
            axes.append(i)
    together = axes == list(range(axes[0], axes[0] + len(axes)))
    if key.gap is not None and axes[0] < key.gap <= axes[-1]:
        together = False
    return base, arrays, axes, axes[0] if together else 0  # type: ignore[return-value]


def _gather(x: array, key: _Key) -> array:
    base, arrays, axes, place = _prepare(x, key)
    if len(arrays) == 1:
        return fast.take(base, arrays[0], axes[0], None)
    sizes = [1 if i in axes else n for i, n in enumerate(base.shape)]
    out = fast.gather(base, arrays, axes, sizes, None)
    joint = out.ndim - base.ndim
    out = fast.squeeze(out, [joint + i for i in axes], None)
    if place == 0 or joint == 0:
        return out
    order = [*range(joint, joint + place), *range(joint), *range(joint + place, out.ndim)]
    return fast.transpose(out, order, None)


def _scatter(x: array, key: _Key, value: array, mode: int) -> array:
    base, arrays, axes, place = _prepare(x, key)
    joint_shape = fast.broadcast_arrays(arrays, None)[0].shape
    rest = [n for i, n in enumerate(base.shape) if i not in axes]
    joint = len(joint_shape)
    value = _drop_leading(value, joint + len(rest))
    stretched = fast.broadcast_to(value, (*rest[:place], *joint_shape, *rest[place:]), None)
    # In a trace for all shapes, to whatever is indexed then; its values are not needed, so nothing computes them.
    is_traced = any(map(fast.array_is_tracer, (base, value, *arrays)))
    value = fast.broadcast_arrays([value, _gather(x, key)], None)[0] if is_traced else stretched
    if place and joint:
        order = [*range(place, place + joint), *range(place), *range(place + joint, value.ndim)]
        value = fast.transpose(value, order, None)
    value = fast.expand_dims(value, [joint + i for i in axes], None)
    value = fast.astype(value, x._dtype_code, None)
    out = fast.scatter(base, arrays, value, axes, mode, None)
    new = [i for i, axis in enumerate(key.order) if not isinstance(axis, int)]
    if new:
        out = fast.squeeze(out, new, None)
    entries = [e if isinstance(e, slice) else slice(None) for e in key.entries]
    if all(map(_is_full, entries)):
        return out
    return fast.slice_update(x, out, *zip(*map(_bounds, entries), strict=True), ASSIGN, None)


def _drop_leading(value: array, ndim: int) -> array:
    """Without axes of size 1 beyond the rank of what is assigned to."""
    extra = value.ndim - ndim
    if extra <= 0:
        return value
    if any(n != 1 for n in value.shape[:extra]):
        raise ValueError(f"a value of shape {value.shape} cannot be assigned to {ndim} dimensions")
    return fast.squeeze(value, range(extra), None)


# ---- updates


def _value(x: array, value: Any, name: str = "at") -> array:
    if isinstance(value, BufferBase):
        return value  # type: ignore[return-value]
    if number(value) is not None:
        return convert.beside(value, x._dtype_code, name)
    # Numbers of the host have double precision, which only such an array keeps.
    return convert.from_host(value, x.dtype if x._dtype_code in (float64._code, complex128._code) else None)


def updated(x: array, key: Any, value: Any, mode: int) -> array:
    """x with `value` combined into x[key]; x itself stays."""
    update = _value(x, value, "assignment" if mode == ASSIGN else "at")
    mask = _lone_mask(x, key)
    if mask is not None and mode == ASSIGN:
        return _masked(x, mask, update)
    parsed = _parse(x, key)
    if parsed.has_arrays:
        return _scatter(x, parsed, update, mode)
    if update.ndim:
        update = _aligned(parsed, update)
    bounds = list(zip(*map(_bounds, parsed.entries), strict=True)) or [(), (), ()]
    return fast.slice_update(x, update, *bounds, mode, None)


def _aligned(key: _Key, value: array) -> array:
    """The value with one axis per axis of the array: size 1 for ints, and none for the key's new axes."""
    kept = [axis for axis in key.order if not (isinstance(axis, int) and isinstance(key.entries[axis], int))]
    if kept == list(range(len(key.entries))) and value.ndim <= len(kept):
        return value
    value = _drop_leading(value, len(kept))
    shape = [1] * (len(kept) - value.ndim) + list(value.shape)
    sizes = [1] * len(key.entries)
    for axis, n in zip(kept, shape, strict=True):
        if isinstance(axis, int):
            sizes[axis] = n
        elif n != 1:
            raise ValueError(f"a value of shape {value.shape} cannot be assigned to a new axis of size 1")
    return fast.reshape(value, sizes, None)


def _lone_mask(x: array, key: Any) -> array | None:
    """The mask if the key is nothing else, so that no evaluation is needed."""
    if isinstance(key, tuple):
        if len(key) != 1:
            return None
        key = key[0]
    is_list = isinstance(key, list) and bool(key) and isinstance(key[0], (bool, list))
    if is_list or (not isinstance(key, (BufferBase, list)) and convert._has_memory(key)):
        key = convert.from_host(key)
    if not isinstance(key, BufferBase) or key._dtype_code != bool_._code or not key.ndim:
        return None
    if key.ndim > x.ndim:
        raise OutOfRangeError(f"a mask with {key.ndim} dimensions for an array with {x.ndim}")
    if key.shape != x.shape[: key.ndim]:
        raise OutOfRangeError(f"a mask of shape {key.shape} does not fit an array of shape {x.shape}")
    return key  # type: ignore[return-value]


def _masked(x: array, mask: array, value: array) -> array:
    rest = x.ndim - mask.ndim
    value = _drop_leading(fast.astype(value, x._dtype_code, None), rest + 1)
    if value.ndim == rest + 1 and value.shape[0] == 1:
        value = fast.squeeze(value, (0,), None)
    if value.ndim <= rest:  # the same for every place
        wide = fast.expand_dims(mask, range(mask.ndim, x.ndim), None) if rest else mask
        return fast.where(wide, value, x, None)
    if not fast.array_is_tracer(mask):
        n = fast.sum(mask, None, False, None).item()
        if n > value.shape[0]:  # what is left of more values is not used, as in MLX
            raise ValueError(f"{value.shape[0]} values cannot be assigned to the {n} places of a mask")
    value = fast.broadcast_to(value, (value.shape[0], *x.shape[mask.ndim :]), None)
    return fast.masked_scatter(x, mask, value, None)


_NO_KEY = object()


class ArrayAt:
    """a.at[key]: its methods return a copy of the array with an update at x[key]; where an array in the key names a
    place several times, all of them count."""

    __slots__ = ("_array", "_key")

    def __init__(self, x: array, key: Any = _NO_KEY) -> None:
        self._array, self._key = x, key

    def __getitem__(self, key: Any) -> ArrayAt:
        return ArrayAt(self._array, key)

    def _update(self, value: Any, mode: int) -> array:
        if self._key is _NO_KEY:
            raise ValueError("at: an index is missing, as in a.at[0].add(1)")
        return updated(self._array, self._key, value, mode)

    def add(self, value: Any) -> array:
        """x[key] + value."""
        return self._update(value, ADD)

    def subtract(self, value: Any) -> array:
        """x[key] - value."""
        return self._update(fast.negative(_value(self._array, value), None), ADD)

    def multiply(self, value: Any) -> array:
        """x[key] * value."""
        return self._update(value, MULTIPLY)

    def divide(self, value: Any) -> array:
        """x[key] / value; integers are divided as floats and truncated."""
        inverse = fast.reciprocal(_value(self._array, value), None)
        dtype = self._array.dtype
        if issubdtype(dtype, inexact):
            return self._update(inverse, MULTIPLY)
        wide = ArrayAt(fast.astype(self._array, 10, None), self._key)
        return fast.astype(wide._update(inverse, MULTIPLY), dtype._code, None)

    def maximum(self, value: Any) -> array:
        """maximum(x[key], value)."""
        return self._update(value, MAXIMUM)

    def minimum(self, value: Any) -> array:
        """minimum(x[key], value)."""
        return self._update(value, MINIMUM)
