"""Looking for elements by value. How many there are is in the values, so a result whose size follows from them has to
be computed when it is asked for; inside a trace that is an error."""

from __future__ import annotations

from . import convert
from ._ffi import BufferBase, fast
from ._rules import only_array, to_array
from .device import StreamOrDevice
from .errors import TraceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .array import array

__all__ = ["argwhere", "nonzero", "unique"]


def argwhere(a: Any, *, size: int | None = None, stream: StreamOrDevice = None) -> array:
    """int64 (n, a.ndim): the positions of the elements that are not 0, in row-major order. Evaluates, unless `size`
    says how many rows are wanted: rows of 0 follow if there are fewer."""
    a = to_array(a, "argwhere")
    return fast.argwhere(a, _count(a, "argwhere", stream) if size is None else size, stream)


def nonzero(a: array, /, *, stream: StreamOrDevice = None) -> tuple[array, ...]:
    """The columns of argwhere: one array of indices per axis, so that a[nonzero(a)] are the elements that are not 0.
    Evaluates. ValueError for 0-d arrays."""
    if not only_array(a, "nonzero").ndim:
        raise ValueError("nonzero: a 0-dimensional array has no positions")
    return tuple(fast.unstack(fast.argwhere(a, _count(a, "nonzero", stream), stream), 1, stream))


def _count(a: array, name: str, stream: StreamOrDevice) -> int:
    try:
        return fast.count_nonzero(a, None, False, stream).item()
    except TraceError:
        text = f"{name}: how many elements are not 0 is in the values, which are not known inside a trace"
        raise TraceError(text) from None


def unique(
    a: array,
    /,
    size: int | None = None,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    fill_value: Any = None,
    *,
    stream: StreamOrDevice = None,
) -> array | tuple[array, ...]:
    """The distinct elements of a, upwards; every NaN counts as one. On request after them, as a tuple: the uint32 index
    of the first of each in the flattened a, the uint32 number among them of every element of a, and the int32 count of
    each.

    Evaluates to know how many there are, unless `size` says how many are wanted: the smallest then, and if there are
    fewer, `fill_value` (default: the smallest) with counts of 0. Where `size` cuts some off, what is said of them is
    lost: their inverse is the last entry."""
    a = only_array(a, "unique")
    fill = None if fill_value is None else _fill(fill_value, a)
    if size is None:
        try:
            size = fast.unique(a, 0, None, stream)[4].item()
        except TraceError:
            text = "unique: needs a size inside a trace, because the values are not known there"
            raise TraceError(text) from None
    values, index, inverse, counts, _ = fast.unique(a, size, fill, stream)
    wanted = ((return_index, index), (return_inverse, inverse), (return_counts, counts))
    extra = tuple(x for yes, x in wanted if yes)
    return (values, *extra) if extra else values


def _fill(value: Any, a: array) -> array:
    fill = value if isinstance(value, BufferBase) else convert.filling(value, a.dtype, "unique")
    if fill.ndim:
        raise ValueError(f"unique: fill_value must be a number, not an array of shape {fill.shape}")
    return fill  # type: ignore[return-value]
