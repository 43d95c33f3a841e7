"""Changing the shape and layout of arrays, taking and putting by index: the larger part of mx/shape.h with MLX's names
and signatures. Shape ops cost nothing where the memory layout allows it, else one copy. creation.py has the rest."""

from __future__ import annotations

from collections.abc import Sequence

from ._ffi import NO_AXIS, fast
from ._rules import (
    Axes,
    arrays,
    axes,
    dtype_code,
    named,
    one_axis,
    only_array,
    several,
    shared,
    sizes,
    to_array,
    to_pair,
)
from .device import StreamOrDevice
from .dtype import Dtype, int64
from .errors import ArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .array import array

__all__ = [
    "as_strided",
    "astype",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "concatenate",
    "contiguous",
    "depends",
    "diag",
    "diagonal",
    "expand_dims",
    "flatten",
    "flip",
    "matrix_transpose",
    "moveaxis",
    "pad",
    "permute_dims",
    "put_along_axis",
    "repeat",
    "reshape",
    "roll",
    "slice",
    "slice_update",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "take",
    "take_along_axis",
    "tile",
    "transpose",
    "unflatten",
    "unstack",
    "view",
]

# ---- dtype and layout


def astype(a: array, /, dtype: Dtype, *, stream: StreamOrDevice = None) -> array:
    """The elements as another dtype: floats to integers towards zero, to bool by != 0, complex by the real part."""
    if not isinstance(dtype, Dtype):
        raise ArgumentError(f"astype: expected a Dtype, got {dtype!r}")
    return fast.astype(only_array(a, "astype"), dtype._code, stream)


def view(a: Any, dtype: Dtype, stream: StreamOrDevice = None) -> array:
    """The same bytes as another dtype; the last axis scales with the item size. ValueError if it does not divide."""
    return fast.view_dtype(to_array(a, "view"), dtype_code(dtype, "view"), stream)


def contiguous(a: array, /, allow_col_major: bool = False, *, stream: StreamOrDevice = None) -> array:
    """Row-major in memory, copied if it is not; column-major will do if allow_col_major."""
    return fast.contiguous(only_array(a, "contiguous"), allow_col_major, stream)


def as_strided(
    a: array,
    /,
    shape: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    offset: int = 0,
    *,
    stream: StreamOrDevice = None,
) -> array:
    """Elements at offset + sum(index * stride), counted in elements of the flattened array. ValueError where that
    leaves it. Without strides: row-major ones for the shape."""
    a = only_array(a, "as_strided")
    shape = a.shape if shape is None else sizes(shape)
    if strides is None:
        strides, size = [], 1
        for n in reversed(shape):
            strides.insert(0, size)
            size = int(n) * size  # n may be an array, which *= would change in place
    return fast.as_strided(a, shape, strides, offset, stream)


# ---- shape


def reshape(a: array, /, shape: Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """The row-major elements in another shape; one size may be -1: what is left."""
    return fast.reshape(only_array(a, "reshape"), sizes(shape), stream)


def flatten(a: array, /, start_axis: int = 0, end_axis: int = -1, *, stream: StreamOrDevice = None) -> array:
    """Merges the axes start_axis to end_axis (included); 0-d becomes 1-d."""
    return fast.flatten(only_array(a, "flatten"), start_axis, end_axis, stream)


def unflatten(a: array, /, axis: int, shape: Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """Replaces an axis by the axes `shape`, of which one may be -1."""
    return fast.unflatten(only_array(a, "unflatten"), axis, shape, stream)


def squeeze(a: array, /, axis: Axes = None, *, stream: StreamOrDevice = None) -> array:
    """Removes axes of size 1, all of them if None. ValueError if a given one has another size."""
    return fast.squeeze(only_array(a, "squeeze"), axes(axis), stream)


def expand_dims(a: array, /, axis: int | Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """Inserts axes of size 1 at these places of the result."""
    return fast.expand_dims(only_array(a, "expand_dims"), axes(axis), stream)


def transpose(a: array, /, axes: Sequence[int] | None = None, *, stream: StreamOrDevice = None) -> array:
    """Reorders the axes; None reverses them."""
    return fast.transpose(only_array(a, "transpose"), axes, stream)


permute_dims = transpose


def matrix_transpose(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """The last two axes swapped."""
    return fast.swapaxes(only_array(a, "matrix_transpose"), -1, -2, stream)


def moveaxis(a: array, /, source: int, destination: int, *, stream: StreamOrDevice = None) -> array:
    """Moves one axis to another place."""
    return fast.moveaxis(only_array(a, "moveaxis"), source, destination, stream)


def swapaxes(a: array, /, axis1: int, axis2: int, *, stream: StreamOrDevice = None) -> array:
    """Swaps two axes."""
    return fast.swapaxes(only_array(a, "swapaxes"), axis1, axis2, stream)


def flip(a: array, /, axis: Axes = None, *, stream: StreamOrDevice = None) -> array:
    """Reverses the order along axes, all of them if None."""
    return fast.flip(only_array(a, "flip"), axes(axis), stream)


def broadcast_to(a: Any, /, shape: int | Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """Repeats along new axes and axes of size 1, without a copy."""
    return fast.broadcast_to(to_array(a, "broadcast_to"), sizes(shape), stream)


def broadcast_arrays(*arrays_: array, stream: StreamOrDevice = None) -> list[array]:
    """All arrays, broadcast against each other."""
    return fast.broadcast_arrays(arrays(arrays_, "broadcast_arrays"), stream)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that these shapes broadcast to. ValueError if they do not."""
    if not shapes:
        raise ValueError("broadcast_shapes: needs a shape")
    out: list[int] = []
    for shape in shapes:
        if not hasattr(shape, "__len__"):
            raise ArgumentError(f"broadcast_shapes: expected shapes, got {type(shape).__name__}")
        padded = [1] * (len(out) - len(shape)) + list(shape)
        out = [1] * (len(shape) - len(out)) + out
        for i, (x, y) in enumerate(zip(out, padded, strict=True)):
            if x != y and 1 not in (x, y):
                raise ValueError(f"broadcast_shapes: {', '.join(str(tuple(s)) for s in shapes)} do not fit each other")
            out[i] = x if y == 1 else y
    return tuple(out)


def split(
    a: array, /, indices_or_sections: int | Sequence[int], axis: int = 0, *, stream: StreamOrDevice = None
) -> list[array]:
    """Splits along an axis: into as many equal parts, or before each index."""
    a, where = only_array(a, "split"), several(indices_or_sections)
    return (fast.split_equal if hasattr(where, "__index__") else fast.split)(a, where, axis, stream)


def unstack(x: array, /, *, axis: int = 0, stream: StreamOrDevice = None) -> tuple[array, ...]:
    """One array per index along an axis, without that axis."""
    return tuple(fast.unstack(only_array(x, "unstack"), axis, stream))


def concatenate(arrays: Sequence[array], axis: int | None = 0, *, stream: StreamOrDevice = None) -> array:
    """Joins arrays along an existing axis; None joins the flattened arrays."""
    return fast.concatenate(_arrays(arrays, "concatenate"), one_axis(axis), stream)


concat = concatenate
_arrays = arrays


def stack(arrays: Sequence[array], axis: int | None = 0, *, stream: StreamOrDevice = None) -> array:
    """Joins arrays of one shape along a new axis; None is 0."""
    return fast.stack(_arrays(arrays, "stack"), 0 if axis is None else axis, stream)


def repeat(array: array, repeats: int, axis: int | None = None, *, stream: StreamOrDevice = None) -> array:
    """Repeats every element along an axis; without one those of the flattened array."""
    return fast.repeat(only_array(array, "repeat"), repeats, one_axis(axis), stream)


def tile(a: array, reps: int | Sequence[int], /, *, stream: StreamOrDevice = None) -> array:
    """Repeats the whole array along every axis; missing leading reps and axes count as 1."""
    return fast.tile(only_array(a, "tile"), sizes(reps), stream)


_PAD_MODES = {"constant": 0, "edge": 1, "reflect": 2, "symmetric": 3}


def pad(
    a: array,
    pad_width: int | Sequence[int] | Sequence[Sequence[int]],
    mode: str = "constant",
    constant_values: Any = 0,
    *,
    stream: StreamOrDevice = None,
) -> array:
    """Adds elements before and after along every axis: one width for all, one pair for all, or a pair per axis. `mode`
    is "constant", "edge", "reflect" or "symmetric"."""
    a = only_array(a, "pad")
    if mode not in _PAD_MODES:
        raise ValueError(f"pad: mode must be one of {', '.join(_PAD_MODES)}, not {mode!r}")
    low, high = _pad_widths(pad_width, a.ndim)
    value = fast.astype(shared(to_pair(a, constant_values, "pad")[1], "the value of pad"), a._dtype_code, stream)
    return fast.pad(a, range(a.ndim), low, high, _PAD_MODES[mode], value, stream)


def _pad_widths(width: Any, ndim: int) -> tuple[list[int], list[int]]:
    width = several(width)
    if hasattr(width, "__index__"):
        return [width] * ndim, [width] * ndim
    if all(hasattr(w, "__index__") for w in width):
        pair = [*width, *width] if len(width) == 1 else [*width]
        if len(pair) != 2:
            raise ValueError("pad: one pair for all axes, or a pair for each")
        return [pair[0]] * ndim, [pair[1]] * ndim
    pairs = [(w[0], w[-1]) for w in width]
    if len(pairs) == 1:
        pairs *= ndim
    if len(pairs) != ndim:
        raise ValueError(f"pad: {len(pairs)} pairs for {ndim} axes")
    return [w[0] for w in pairs], [w[1] for w in pairs]


def roll(a: array, /, shift: int | Sequence[int], axis: Axes = None, *, stream: StreamOrDevice = None) -> array:
    """Moves elements along axes, those that leave come back at the other end; without axes in the flattened array."""
    return fast.roll(only_array(a, "roll"), sizes(shift), axes(axis), stream)


def _at_least(n: int) -> Any:
    call = getattr(fast, f"atleast_{n}d")

    def op(*arys: Any, stream: StreamOrDevice = None) -> Any:
        found = [call(to_array(x, f"atleast_{n}d"), stream) for x in arys]
        return found[0] if len(found) == 1 else found

    return named(
        op, f"atleast_{n}d", f"Each array with at least {n} axes; one array alone, several as a list.", __name__
    )


atleast_1d = _at_least(1)
atleast_2d = _at_least(2)
atleast_3d = _at_least(3)


def diagonal(a: array, offset: int = 0, axis1: int = 0, axis2: int = 1, stream: StreamOrDevice = None) -> array:
    """The diagonal of two axes, as the last axis of the result."""
    return fast.diagonal(only_array(a, "diagonal"), offset, axis1, axis2, stream)


def diag(a: array, /, k: int = 0, *, stream: StreamOrDevice = None) -> array:
    """Of a 1-d array the matrix with it on the k-th diagonal, of a matrix its k-th diagonal."""
    return fast.diag(only_array(a, "diag"), k, stream)


def depends(inputs: Any, dependencies: Any) -> Any:
    """The inputs (an array or several), computed only after all dependencies are."""
    one = not isinstance(inputs, (list, tuple))
    xs = arrays((inputs,) if one else inputs, "depends")
    after = arrays(dependencies if isinstance(dependencies, (list, tuple)) else (dependencies,), "depends")
    found = fast.depends(xs, after, None)
    return found[0] if one else found


# ---- by index


def _indices(x: Any, name: str) -> array:
    """Indices; none at all may have any dtype, because that is what array([]) gives."""
    found = to_array(x, name)
    return found if found.size or found._dtype_code <= int64._code else fast.astype(found, int64._code, None)


def take(a: array, /, indices: Any, axis: int | None = None, *, stream: StreamOrDevice = None) -> array:
    """The elements at indices along an axis, or of the flattened array; negative ones count from the end."""
    return fast.take(only_array(a, "take"), _indices(indices, "take"), one_axis(axis), stream)


def take_along_axis(a: array, /, indices: array, axis: int | None = None, *, stream: StreamOrDevice = None) -> array:
    """Per position of `indices`, which has a's rank, the element along an axis."""
    return fast.take_along_axis(
        only_array(a, "take_along_axis"), _indices(indices, "take_along_axis"), one_axis(axis), stream
    )


def put_along_axis(
    a: array, /, indices: array, values: Any, axis: int | None = None, *, stream: StreamOrDevice = None
) -> array:
    """A copy of a with `values` written where take_along_axis would read."""
    values = to_pair(only_array(a, "put_along_axis"), values, "put_along_axis")[1]
    return fast.put_along_axis(
        a, _indices(indices, "put_along_axis"), values, NO_AXIS if axis is None else axis, stream
    )


def slice(
    a: array, start_indices: array, axes: Sequence[int], slice_size: Sequence[int], *, stream: StreamOrDevice = None
) -> array:
    """The slice of this size (one per axis of a) whose place along `axes` is in a 1-d array, moved to fit into a."""
    return fast.dynamic_slice(only_array(a, "slice"), _starts(start_indices, "slice"), axes, slice_size, stream)


def slice_update(
    a: array, update: array, start_indices: array, axes: Sequence[int], *, stream: StreamOrDevice = None
) -> array:
    """A copy of a with `update` written where slice would read."""
    update = to_pair(only_array(a, "slice_update"), update, "slice_update")[1]
    return fast.dynamic_slice_update(a, update, _starts(start_indices, "slice_update"), axes, stream)


def _starts(x: Any, name: str) -> array:
    start = to_array(x, name)
    return start if start.ndim else fast.reshape(start, (1,), None)
