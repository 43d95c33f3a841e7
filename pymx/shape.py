"""Making arrays, changing their shape and layout, taking and putting by index: mx/shape.h with MLX's names and
signatures. Shape ops cost nothing where the memory layout allows it, else one copy."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from . import convert
from ._ffi import NO_AXIS, fast
from ._rules import Axes, Scalar, arrays, axes, named, one_axis, only_array, shared, sizes, to_array, to_pair
from .device import StreamOrDevice
from .dtype import DTYPES, Dtype, _default, float32, int64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .array import array

__all__ = [
    "arange",
    "as_strided",
    "astype",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "bartlett",
    "blackman",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "concatenate",
    "contiguous",
    "depends",
    "diag",
    "diagonal",
    "empty",
    "empty_like",
    "expand_dims",
    "eye",
    "flatten",
    "flip",
    "full",
    "full_like",
    "hamming",
    "hanning",
    "identity",
    "linspace",
    "matrix_transpose",
    "meshgrid",
    "moveaxis",
    "ones",
    "ones_like",
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
    "tri",
    "tril",
    "triu",
    "unflatten",
    "unstack",
    "view",
    "zeros",
    "zeros_like",
]

# ---- making arrays


def arange(
    start_or_stop: float | None = None,
    /,
    stop: float | None = None,
    step: float | None = None,
    dtype: Dtype | None = None,
    *,
    start: float | None = None,
    stream: StreamOrDevice = None,
) -> array:
    """start (0), start + step, ... before stop; arange(stop) is from 0. 1-d, int32 if all are ints, else float32."""
    if start_or_stop is not None and start is not None:
        raise TypeError("arange: start is given twice")
    if start_or_stop is not None:
        start, stop = (0, start_or_stop) if stop is None else (start_or_stop, stop)
    if stop is None:
        raise TypeError("arange: stop is missing")
    start, stop, step = (_number(x) for x in (0 if start is None else start, stop, 1 if step is None else step))
    if dtype is None:
        given = [x for x in (start, stop, step) if isinstance(x, float)]
        dtype = float32 if given else _default(max(start, stop, step, key=abs))
    return fast.arange(start, stop, step, dtype._code, stream)


def _number(x: Any) -> Any:
    x = x.item() if hasattr(x, "item") else x
    return x if isinstance(x, (int, float)) else operator.index(x)


def linspace(
    start: Scalar,
    stop: Scalar,
    num: int | None = 50,
    endpoint: bool = True,
    dtype: Dtype | None = float32,
    stream: StreamOrDevice = None,
) -> array:
    """`num` evenly spaced numbers from start to stop, which is left out unless `endpoint`, 1-d."""
    n = 50 if num is None else num
    return fast.linspace(_number(start), _number(stop), n, endpoint, (dtype or float32)._code, stream)


def full(shape: int | Sequence[int], vals: Any, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """`vals`, broadcast to `shape`; in the dtype of vals unless one is given."""
    value = convert.to_array(vals, dtype)
    return fast.full(sizes(shape), value, value._dtype_code if dtype is None else dtype._code, stream)


def full_like(a: array, vals: Any, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """`vals`, broadcast to the shape of a, in its dtype unless one is given."""
    code = only_array(a, "full_like")._dtype_code if dtype is None else dtype._code
    return fast.full_like(a, convert.to_array(vals, DTYPES[code]), code, stream)


def zeros(shape: int | Sequence[int], dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array:
    """All 0."""
    return fast.zeros(sizes(shape), (dtype or float32)._code, stream)


def ones(shape: int | Sequence[int], dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array:
    """All 1."""
    return fast.ones(sizes(shape), (dtype or float32)._code, stream)


def zeros_like(a: array, /, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """All 0, in the shape of a and its dtype unless one is given."""
    code = only_array(a, "zeros_like")._dtype_code if dtype is None else dtype._code
    return fast.zeros_like(a, code, stream)


def ones_like(a: array, /, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """All 1, in the shape of a and its dtype unless one is given."""
    code = only_array(a, "ones_like")._dtype_code if dtype is None else dtype._code
    return fast.ones_like(a, code, stream)


def eye(
    n: int, m: int | None = None, k: int = 0, dtype: Dtype | None = float32, *, stream: StreamOrDevice = None
) -> array:
    """(n, m): 1 on the k-th diagonal, above the main one if positive, else 0."""
    return fast.eye(n, n if m is None else m, k, (dtype or float32)._code, stream)


def identity(n: int, dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array:
    """(n, n): the identity matrix."""
    return fast.identity(n, (dtype or float32)._code, stream)


def tri(
    n: int, m: int | None = None, k: int = 0, dtype: Dtype | None = None, *, stream: StreamOrDevice = None
) -> array:
    """(n, m): 1 on and below the k-th diagonal, else 0."""
    return fast.tri(n, n if m is None else m, k, (dtype or float32)._code, stream)


def tril(x: array, k: int = 0, *, stream: StreamOrDevice = None) -> array:
    """The last two axes with 0 above the k-th diagonal."""
    return fast.tril(only_array(x, "tril"), k, stream)


def triu(x: array, k: int = 0, *, stream: StreamOrDevice = None) -> array:
    """The last two axes with 0 below the k-th diagonal."""
    return fast.triu(only_array(x, "triu"), k, stream)


def meshgrid(
    *arrays_: array, sparse: bool | None = False, indexing: str | None = "xy", stream: StreamOrDevice = None
) -> tuple[array, ...]:
    """Coordinate arrays of 1-d arrays: each varies along its own axis; "xy" swaps the first two axes, "ij" does not.
    `sparse` leaves the other axes at size 1."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', not {indexing!r}")
    return tuple(fast.meshgrid(arrays(arrays_, "meshgrid"), bool(sparse), indexing == "ij", stream))


def _window(name: str, doc: str) -> Any:
    call = getattr(fast, name)

    def op(M: int, *, stream: StreamOrDevice = None) -> Any:
        return call(M, stream)

    return named(op, name, doc, __name__)


bartlett = _window("bartlett", "The triangular window of M points, float32: 1 - |2 i / (M - 1) - 1|.")
hanning = _window("hanning", "The Hann window of M points, float32: 0.5 - 0.5 cos(2 pi i / (M - 1)).")
hamming = _window("hamming", "The Hamming window of M points, float32: 0.54 - 0.46 cos(2 pi i / (M - 1)).")
blackman = _window(
    "blackman", "The Blackman window of M points: 0.42 - 0.5 cos(2 pi i / (M - 1)) + 0.08 cos(4 pi i / (M - 1))."
)

# ---- dtype and layout


def astype(a: array, dtype: Dtype, /, *, stream: StreamOrDevice = None) -> array:
    """The elements as another dtype: floats to integers towards zero, to bool by != 0, complex by the real part."""
    if not isinstance(dtype, Dtype):
        raise TypeError(f"astype: expected a Dtype, got {type(dtype).__name__}")
    return fast.astype(only_array(a, "astype"), dtype._code, stream)


def view(a: Any, dtype: Dtype, stream: StreamOrDevice = None) -> array:
    """The same bytes as another dtype; the last axis scales with the item size. ValueError if it does not divide."""
    return fast.view_dtype(to_array(a), dtype._code, stream)


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
    shape = only_array(a, "as_strided").shape if shape is None else shape
    if strides is None:
        strides, size = [], 1
        for n in reversed(shape):
            strides.insert(0, size)
            size *= n
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
    return fast.broadcast_to(to_array(a), sizes(shape), stream)


def broadcast_arrays(*arrays_: array, stream: StreamOrDevice = None) -> list[array]:
    """All arrays, broadcast against each other."""
    return fast.broadcast_arrays(arrays(arrays_, "broadcast_arrays"), stream)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that these shapes broadcast to. ValueError if they do not."""
    if not shapes:
        raise ValueError("broadcast_shapes: needs a shape")
    out: list[int] = []
    for shape in shapes:
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
    a = only_array(a, "split")
    if hasattr(indices_or_sections, "__index__"):
        return fast.split_equal(a, indices_or_sections, axis, stream)
    return fast.split(a, indices_or_sections, axis, stream)


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
    value = fast.astype(shared(to_pair(a, constant_values)[1], "the value of pad"), a._dtype_code, stream)
    return fast.pad(a, range(a.ndim), low, high, _PAD_MODES[mode], value, stream)


def _pad_widths(width: Any, ndim: int) -> tuple[list[int], list[int]]:
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


def roll(a: array, shift: int | Sequence[int], axis: Axes = None, /, *, stream: StreamOrDevice = None) -> array:
    """Moves elements along axes, those that leave come back at the other end; without axes in the flattened array."""
    return fast.roll(only_array(a, "roll"), sizes(shift), axes(axis), stream)


def _at_least(n: int) -> Any:
    call = getattr(fast, f"atleast_{n}d")

    def op(*arys: Any, stream: StreamOrDevice = None) -> Any:
        found = [call(to_array(x), stream) for x in arys]
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


empty, empty_like = zeros, zeros_like

# ---- by index


def _indices(x: Any) -> array:
    """Indices; none at all may have any dtype, because that is what array([]) gives."""
    found = to_array(x)
    return found if found.size or found._dtype_code <= int64._code else fast.astype(found, int64._code, None)


def take(a: array, /, indices: Any, axis: int | None = None, *, stream: StreamOrDevice = None) -> array:
    """The elements at indices along an axis, or of the flattened array; negative ones count from the end."""
    return fast.take(only_array(a, "take"), _indices(indices), one_axis(axis), stream)


def take_along_axis(a: array, /, indices: array, axis: int | None = None, *, stream: StreamOrDevice = None) -> array:
    """Per position of `indices`, which has a's rank, the element along an axis."""
    return fast.take_along_axis(only_array(a, "take_along_axis"), _indices(indices), one_axis(axis), stream)


def put_along_axis(
    a: array, /, indices: array, values: Any, axis: int | None = None, *, stream: StreamOrDevice = None
) -> array:
    """A copy of a with `values` written where take_along_axis would read."""
    values = to_pair(only_array(a, "put_along_axis"), values)[1]
    return fast.put_along_axis(a, _indices(indices), values, NO_AXIS if axis is None else axis, stream)


def slice(
    a: array, start_indices: array, axes: Sequence[int], slice_size: Sequence[int], *, stream: StreamOrDevice = None
) -> array:
    """The slice of this size (one per axis of a) whose place along `axes` is in a 1-d array, moved to fit into a."""
    return fast.dynamic_slice(only_array(a, "slice"), _starts(start_indices), axes, slice_size, stream)


def slice_update(
    a: array, update: array, start_indices: array, axes: Sequence[int], *, stream: StreamOrDevice = None
) -> array:
    """A copy of a with `update` written where slice would read."""
    update = to_pair(only_array(a, "slice_update"), update)[1]
    return fast.dynamic_slice_update(a, update, _starts(start_indices), axes, stream)


def _starts(x: Any) -> array:
    start = to_array(x)
    return start if start.ndim else fast.reshape(start, (1,), None)
