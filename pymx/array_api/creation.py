"""Arrays from nothing and from other data. Without a dtype: int64, float64, complex128."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import pymx as mx

from .. import convert
from ..dtype import Dtype, complex128, float64, int64, isdtype
from .data_types import COMPLEX, astype, default_of, result_type

if TYPE_CHECKING:
    from ..array import array
    from ..device import Device

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

_NUMBERS = (bool, int, float, complex)
_Shape = int | Sequence[int]


def _check_device(device: Device | None) -> None:
    if device is not None and device != mx.cpu and device != mx.Device(mx.cpu, 0):
        raise ValueError(f"device: {device!r} is not there; the CPU is the only one")


def asarray(
    obj: Any, /, *, dtype: Dtype | None = None, device: Device | None = None, copy: bool | None = None
) -> array:
    """An array of numbers, nested lists, arrays, or memory (buffer protocol, DLPack).

    copy: True always copies, False never (ValueError where it would have to), None if needed."""
    _check_device(device)
    if isinstance(obj, mx.array):
        if dtype is None or obj.dtype is dtype:
            return mx.array(obj) if copy else obj
        if copy is False:
            raise ValueError(f"asarray: {obj.dtype} to {dtype} needs a copy")
        return obj.astype(dtype)
    if isinstance(obj, (*_NUMBERS, list, tuple)):
        if copy is False:
            raise ValueError(f"asarray: making an array of {type(obj).__name__} needs a copy")
        return _from_numbers(obj, dtype)
    found = from_dlpack(obj, copy=copy) if hasattr(obj, "__dlpack__") else _from_memory(obj, copy)
    return found if dtype is None or found.dtype is dtype else asarray(found, dtype=dtype, copy=copy)


def _from_memory(obj: Any, copy: bool | None) -> array:
    """An array of what has a buffer; pymx.asarray would make single precision of double."""
    try:
        dtype = {"d": float64, "Zd": complex128}.get(memoryview(obj).format)
    except (TypeError, ValueError):
        dtype = None
    return mx.asarray(obj, dtype=dtype, copy=copy)


def _from_numbers(obj: Any, dtype: Dtype | None) -> array:
    if isinstance(obj, mx.array):
        return obj
    leaves: list[Any] = []
    shape = _shape_of(obj, leaves, 0)
    if any(isinstance(x, mx.array) for x in leaves):
        found = mx.stack([_from_numbers(x, dtype) for x in leaves]).reshape(shape)
        return found if dtype is None else astype(found, dtype, copy=False)
    natural = result_type(*{default_of(x) for x in leaves}) if leaves else float64
    made = dtype or natural
    if isdtype(made, "bool"):
        return mx.array(obj, dtype=made)
    if isdtype(made, "integral") and not isdtype(natural, ("bool", "integral")):
        return mx.array(obj, dtype=natural).astype(made)
    return mx.array(obj, dtype=made)


def _shape_of(obj: Any, leaves: list[Any], depth: int) -> tuple[int, ...]:
    if not isinstance(obj, (list, tuple)):
        leaves.append(obj)
        return ()
    shapes = {_shape_of(x, leaves, depth + 1) for x in obj}
    if len(shapes) > 1:
        raise ValueError(f"asarray: rows of different shapes {sorted(shapes)}")
    return (len(obj), *(shapes.pop() if shapes else ()))


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: Dtype | None = None,
    device: Device | None = None,
) -> array:
    """Evenly spaced values from `start` (0 with one argument) up to, without, `stop`; int64 if all are ints."""
    _check_device(device)
    first, last = (0, start) if stop is None else (start, stop)
    if dtype is None:
        dtype = int64 if all(isinstance(x, int) for x in (first, last, step)) else float64
    n = max(0, math.ceil((last - first) / step)) if step else 0
    if not step:
        raise ValueError("arange: step is 0")
    counts = mx.arange(n, dtype=int64 if isdtype(dtype, "integral") else float64)
    return (counts * step + first).astype(dtype)


def empty(shape: _Shape, *, dtype: Dtype | None = None, device: Device | None = None) -> array:
    """As zeros: no array shows memory that nobody wrote."""
    return zeros(shape, dtype=dtype, device=device)


def empty_like(x: array, /, *, dtype: Dtype | None = None, device: Device | None = None) -> array:
    """As zeros_like."""
    return zeros_like(x, dtype=dtype, device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Dtype | None = None,
    device: Device | None = None,
) -> array:
    """Ones on the k-th diagonal, zeros elsewhere: (n_rows, n_cols), square with one argument."""
    _check_device(device)
    columns = n_rows if n_cols is None else n_cols
    k = max(-n_rows, min(k, columns))  # beyond there is nothing, how far ever
    return mx.eye(n_rows, columns, k, dtype or float64)


def from_dlpack(x: Any, /, *, device: Device | None = None, copy: bool | None = None) -> array:
    """The array behind an object with __dlpack__; its memory is shared only with copy=False."""
    _check_device(device)
    return convert.import_tensor(x, copy)


def full(shape: _Shape, fill_value: complex, *, dtype: Dtype | None = None, device: Device | None = None) -> array:
    """An array of one value; its dtype is bool, int64, float64 or complex128 if not given."""
    _check_device(device)
    value = asarray(fill_value, dtype=dtype or default_of(fill_value))
    return mx.broadcast_to(value, (shape,) if isinstance(shape, int) else tuple(shape))


def full_like(x: array, /, fill_value: complex, *, dtype: Dtype | None = None, device: Device | None = None) -> array:
    """An array of one value with the shape, and if not given the dtype, of `x`."""
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device)


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: Dtype | None = None,
    device: Device | None = None,
    endpoint: bool = True,
) -> array:
    """`num` evenly spaced values from `start` to `stop`, which is the last one if `endpoint`."""
    _check_device(device)
    if dtype is None:
        dtype = COMPLEX if isinstance(start, complex) or isinstance(stop, complex) else float64
    if num < 0:
        raise ValueError(f"linspace: num is {num}")
    work = COMPLEX if isdtype(dtype, "complex floating") else float64
    n_steps = num - 1 if endpoint else num
    counts = mx.arange(num, dtype=float64).astype(work)
    values = counts * ((stop - start) / max(n_steps, 1)) + start
    if endpoint and num > 1:
        values = mx.where(mx.equal(mx.arange(num), num - 1), asarray(stop, dtype=work), values)
    if isdtype(dtype, "integral"):
        values = mx.floor(values)
    return values.astype(dtype)


def meshgrid(*arrays: array, indexing: Literal["xy", "ij"] = "xy") -> list[array]:
    """Coordinate matrices of coordinate vectors."""
    return list(mx.meshgrid(*arrays, indexing=indexing))


def ones(shape: _Shape, *, dtype: Dtype | None = None, device: Device | None = None) -> array:
    """An array of ones, float64 if not given."""
    return full(shape, 1, dtype=dtype or float64, device=device)


def ones_like(x: array, /, *, dtype: Dtype | None = None, device: Device | None = None) -> array:
    """An array of ones with the shape, and if not given the dtype, of `x`."""
    return full_like(x, 1, dtype=dtype, device=device)


def tril(x: array, /, *, k: int = 0) -> array:
    """`x` (..., M, N) with zeros above the k-th diagonal."""
    return mx.tril(x, k)


def triu(x: array, /, *, k: int = 0) -> array:
    """`x` (..., M, N) with zeros below the k-th diagonal."""
    return mx.triu(x, k)


def zeros(shape: _Shape, *, dtype: Dtype | None = None, device: Device | None = None) -> array:
    """An array of zeros, float64 if not given."""
    return full(shape, 0, dtype=dtype or float64, device=device)


def zeros_like(x: array, /, *, dtype: Dtype | None = None, device: Device | None = None) -> array:
    """An array of zeros with the shape, and if not given the dtype, of `x`."""
    return full_like(x, 0, dtype=dtype, device=device)
