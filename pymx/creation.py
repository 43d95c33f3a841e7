"""Making arrays: the first part of mx/shape.h with MLX's names and signatures."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from . import convert
from ._ffi import fast
from ._rules import Scalar, arrays, dtype_code, named, only_array, sizes
from .device import StreamOrDevice
from .dtype import DTYPES, Dtype, _default, float32
from .errors import ArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .array import array

__all__ = [
    "arange",
    "bartlett",
    "blackman",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "hamming",
    "hanning",
    "identity",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tri",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]


def arange(
    start_or_stop: float | None = None,
    /,
    stop: float | None = None,
    step: float | Dtype | None = None,
    dtype: Dtype | None = None,
    *,
    start: float | None = None,
    stream: StreamOrDevice = None,
) -> array:
    """start (0), start + step, ... before stop; arange(stop) and arange(stop, step, dtype) are from 0. 1-d, int32 if
    all are ints, else float32."""
    if isinstance(step, Dtype):  # (stop, step, dtype)
        if (stop is not None and start_or_stop is None) or dtype is not None:
            raise ArgumentError("arange: a dtype stands in the place of step")
        stop, step, dtype = None, stop, step
    if start_or_stop is not None and start is not None:
        raise TypeError("arange: start is given twice")
    if start_or_stop is not None:
        start, stop = (0, start_or_stop) if stop is None else (start_or_stop, stop)
    if stop is None:
        raise TypeError("arange: stop is missing")
    given = {"start": 0 if start is None else start, "stop": stop, "step": 1 if step is None else step}
    numbers = [_number(x, "arange", name) for name, x in given.items()]
    if dtype is None:
        dtype = float32 if any(isinstance(x, float) for x in numbers) else _default(max(numbers, key=abs))
    return fast.arange(*numbers, dtype_code(dtype, "arange"), stream)


def _number(x: Any, function: str, name: str) -> Any:
    x = x.item() if hasattr(x, "item") else x
    if not isinstance(x, (int, float)) and not hasattr(x, "__index__"):
        raise ArgumentError(f"{function}: {name} must be a number, not {type(x).__name__}")
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
    return fast.linspace(
        _number(start, "linspace", "start"),
        _number(stop, "linspace", "stop"),
        n,
        endpoint,
        dtype_code(dtype, "linspace", float32),
        stream,
    )


def full(shape: int | Sequence[int], vals: Any, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """`vals`, broadcast to `shape`; in the dtype of vals unless one is given."""
    code = None if dtype is None else dtype_code(dtype, "full")
    value = convert.filling(vals, dtype, "full")
    return fast.full(sizes(shape), value, value._dtype_code if code is None else code, stream)


def full_like(a: array, vals: Any, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """`vals`, broadcast to the shape of a, in its dtype unless one is given."""
    code = only_array(a, "full_like")._dtype_code if dtype is None else dtype_code(dtype, "full_like")
    return fast.full_like(a, convert.filling(vals, DTYPES[code], "full_like"), code, stream)


def zeros(shape: int | Sequence[int], dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array:
    """All 0."""
    return fast.zeros(sizes(shape), dtype_code(dtype, "zeros", float32), stream)


def ones(shape: int | Sequence[int], dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array:
    """All 1."""
    return fast.ones(sizes(shape), dtype_code(dtype, "ones", float32), stream)


def zeros_like(a: array, /, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """All 0, in the shape of a and its dtype unless one is given."""
    code = only_array(a, "zeros_like")._dtype_code if dtype is None else dtype_code(dtype, "zeros_like")
    return fast.zeros_like(a, code, stream)


def ones_like(a: array, /, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """All 1, in the shape of a and its dtype unless one is given."""
    code = only_array(a, "ones_like")._dtype_code if dtype is None else dtype_code(dtype, "ones_like")
    return fast.ones_like(a, code, stream)


def eye(
    n: int, m: int | None = None, k: int = 0, dtype: Dtype | None = float32, *, stream: StreamOrDevice = None
) -> array:
    """(n, m): 1 on the k-th diagonal, above the main one if positive, else 0."""
    return fast.eye(n, n if m is None else m, k, dtype_code(dtype, "eye", float32), stream)


def identity(n: int, dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array:
    """(n, n): the identity matrix."""
    return fast.identity(n, dtype_code(dtype, "identity", float32), stream)


def tri(
    n: int, m: int | None = None, k: int = 0, dtype: Dtype | None = None, *, stream: StreamOrDevice = None
) -> array:
    """(n, m): 1 on and below the k-th diagonal, else 0."""
    return fast.tri(n, n if m is None else m, k, dtype_code(dtype, "tri", float32), stream)


def tril(x: array, k: int = 0, *, stream: StreamOrDevice = None) -> array:
    """The last two axes with 0 above the k-th diagonal."""
    return fast.tril(only_array(x, "tril"), k, stream)


def triu(x: array, k: int = 0, *, stream: StreamOrDevice = None) -> array:
    """The last two axes with 0 below the k-th diagonal."""
    return fast.triu(only_array(x, "triu"), k, stream)


def meshgrid(
    *arrays_: array, sparse: bool | None = False, indexing: str | None = "xy", stream: StreamOrDevice = None
) -> tuple[array, ...]:
    """Coordinate arrays of arrays, which are flattened: each varies along its own axis; "xy" swaps the first
    two axes, "ij" does not. `sparse` leaves the other axes at size 1."""
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

empty, empty_like = zeros, zeros_like
