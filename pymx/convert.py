"""Host data to arrays: numbers, nested lists, whatever exports a buffer (NumPy's arrays, bytes, memoryviews), DLPack
and `__mlx_array__`. NumPy is never imported here.

Defaults as in MLX: Python's ints become int32 (int64 if one does not fit), floats float32, complex numbers complex64;
float64 and complex128 memory becomes float32 and complex64 unless a dtype is asked for. Everything is copied unless
copy=False is asked for.
"""

from __future__ import annotations

from array import array as HostArray

from . import lifecycle
from ._ffi import BufferBase, fast
from ._number import NUMBERS as _NUMBERS
from ._number import number
from .dtype import Dtype, bool_, complex64, complex128, float16, float32, float64, int32, int64, uint64
from .errors import ArgumentError, RangeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .array import array

__all__ = ["asarray", "from_dlpack", "from_host", "scalar", "to_array"]

_TYPECODES = {"int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q"}
_TYPECODES |= {"uint64": "Q", "float32": "f", "float64": "d"}
_NARROWER = {float64._code: float32, complex128._code: complex64}  # what memory becomes where no dtype is asked for


def scalar(value: float | complex, dtype: Dtype | None = None) -> array:
    """A 0-d array of a number of Python."""
    if isinstance(value, bool):
        natural = bool_
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise RangeError(f"an array of {value}, which does not fit into 64 bits")
        natural = int32 if -(2**31) <= value < 2**31 else int64 if value < 2**63 else uint64
    else:
        natural = float32 if isinstance(value, float) else complex64
    if dtype is None or dtype is natural:
        return fast.array_scalar(value, natural._code)
    if (natural is float32 and dtype in (float16, float64)) or dtype is complex128:
        return fast.array_scalar(value, dtype._code)
    return fast.astype(fast.array_scalar(value, natural._code), dtype._code, None)


def beside(x: Any, code: int, name: str) -> array:
    """An operand of the function `name` beside an array of a dtype, as an array: numbers are weak, and ints have to
    fit."""
    value: Any = x if isinstance(x, _NUMBERS) else number(x)
    if value is None:
        return to_array(x, name)
    try:
        return fast.array_scalar_weak(value, code)
    except RangeError as e:
        is_known = -(2**63) <= value < 2**64  # to the library, which then says what it does not fit
        raise RangeError(f"{name}: {e if is_known else f'{value} does not fit in 64 bits'}") from None


def filling(x: Any, dtype: Dtype | None, name: str) -> array:
    """What the function `name` fills an array of a dtype with: as an operand beside it, but cast."""
    value = number(x)
    if value is None or dtype is None:
        return to_array(x, name)
    is_int = isinstance(value, int) and not isinstance(value, bool)
    return beside(value, dtype._code, name) if is_int else scalar(value, dtype)


def to_array(x: Any, name: str) -> array:
    """An operand of the function `name` as an array: arrays stay what they are, numbers get their default dtype."""
    if isinstance(x, BufferBase):
        return x  # type: ignore[return-value]
    if isinstance(x, _NUMBERS):
        return scalar(x)
    if not isinstance(x, (list, tuple, bytes)):
        try:
            return from_host(x)
        except ArgumentError:  # which knows of no function
            pass
    raise ArgumentError(f"{name}: expected a number or an array, got {type(x).__name__}")


def from_host(value: Any, dtype: Dtype | None = None) -> array:
    """A new array of any host data; see class array."""
    if isinstance(value, _NUMBERS):
        return scalar(value, dtype)
    if isinstance(value, (list, tuple)):
        return _from_list(value, dtype)
    if isinstance(value, BufferBase):
        # the same value under a handle of its own: updates in place of one do not show in the other
        return _as(fast.positive(value, None), dtype)
    if hasattr(value, "__mlx_array__"):
        return _as(fast.positive(value.__mlx_array__(), None), dtype)
    found = _from_memory(value, dtype)
    if found is None:
        raise ArgumentError(f"cannot make an array of {type(value).__name__}")
    return found


def _as(x: array, dtype: Dtype | None) -> array:
    if dtype is None or x._dtype_code == dtype._code:
        return x
    return fast.astype(x, dtype._code, None)


# ---- nested lists


def _from_list(value: list[Any] | tuple[Any, ...], dtype: Dtype | None) -> array:
    flat: Any = value
    shape = [len(value)]
    while flat and isinstance(flat[0], (list, tuple)):
        n = len(flat[0])
        if any(isinstance(row, BufferBase) for row in flat):
            break
        if any(not isinstance(row, (list, tuple)) or len(row) != n for row in flat):
            raise ValueError("the nested lists have different lengths")
        shape.append(n)
        flat = [item for row in flat for item in row]
    types = set(map(type, flat))
    if not types:
        return fast.zeros(shape, (dtype or float32)._code, None)
    if list in types or tuple in types:  # lists beside arrays
        return _from_parts([x if isinstance(x, BufferBase) else from_host(x) for x in value], [len(value)], dtype)
    if not types <= {bool, int, float, complex}:
        return _from_parts(flat, shape, dtype)
    if types <= {bool}:
        natural = bool_
    elif types <= {bool, int}:
        natural = int32 if min(flat) >= -(2**31) and max(flat) < 2**31 else int64
    else:
        natural = complex64 if complex in types else float32
    for target in (dtype, natural):
        data = None if target is None else _pack(flat, natural, target)
        if data is not None and target is not None:
            return _as(fast.array_new(data, shape, target._code), dtype)
    raise RangeError("an integer in the list does not fit in 64 bits")


def _pack(flat: list[Any], natural: Dtype, target: Dtype) -> Any:
    """The numbers as memory of a dtype, or None if that takes a conversion with other rules (astype's) or does not
    fit."""
    if target is bool_:
        return bytes(map(bool, flat)) if natural is not complex64 else None
    if target is complex64 or target is complex128:
        parts = [part for x in map(complex, flat) for part in (x.real, x.imag)]
        return HostArray("f" if target is complex64 else "d", parts)
    code = _TYPECODES.get(target._name)
    exact = natural in (bool_, int32, int64) or (natural is float32 and code in ("f", "d"))
    if code is None or not exact:
        return None
    try:
        return HostArray(code, flat)
    except OverflowError:
        return None


def _from_parts(flat: Any, shape: list[int], dtype: Dtype | None) -> array:
    """A list that holds arrays, or numbers of other libraries."""
    parts = []
    for item in flat:
        if not isinstance(item, (BufferBase, *_NUMBERS)) and not _has_memory(item):
            raise ArgumentError(f"cannot make an array of a list with a {type(item).__name__} in it")
        parts.append(_as(item, dtype) if isinstance(item, BufferBase) else from_host(item, dtype))  # type: ignore[arg-type]
    inner = parts[0].shape
    if any(part.shape != inner for part in parts):
        raise ValueError("Initialization encountered non-uniform length.")  # MLX's words, which code compares
    return fast.reshape(fast.stack(parts, 0, None), (*shape, *inner), None)


# ---- memory of others


def _has_memory(x: Any) -> bool:
    if isinstance(x, (str, dict, set)) or x is None:
        return False
    return any(hasattr(x, name) for name in ("__mlx_array__", "__array_interface__", "__dlpack__", "__array__"))


def _view(x: Any) -> memoryview | None:
    if getattr(getattr(x, "dtype", None), "kind", "") in ("m", "M"):
        return None  # times and dates of NumPy give out their bytes as if they were nothing more
    try:
        return memoryview(x)
    except (TypeError, ValueError, BufferError):
        return None


def _from_memory(x: Any, dtype: Dtype | None) -> array | None:
    view = _view(x)
    if view is not None:
        found = fast.copy_buffer(view, None)
        if found is not None:
            return _as(found, dtype or _NARROWER.get(found._dtype_code))
    if hasattr(x, "dtype") and hasattr(x, "astype"):
        found = _from_ndarray(x)
        if found is not None:
            return _as(found, dtype)
    if hasattr(x, "__dlpack__"):
        try:
            return _as(from_dlpack(x), dtype)
        except BufferError as e:
            raise ValueError(f"cannot make an array of {type(x).__name__}: {e}") from None
    if hasattr(x, "__array__"):
        return _from_memory(x.__array__(), dtype)
    return None


def _from_ndarray(x: Any) -> array | None:
    """NumPy's arrays of dtypes that have no buffer format of ours."""
    name = str(x.dtype.name)
    if name == "bfloat16":  # of the package ml_dtypes
        found = fast.copy_buffer(x.view("uint16"), None)
        return fast.view_dtype(found, 12, None)
    narrower = {"longdouble": "float32", "float128": "float32", "complex256": "complex64"}
    name = narrower.get(name, name)
    if name in ("bool", "complex64", "complex128", "float16") or name in _TYPECODES:  # of the other byte order
        return fast.copy_buffer(x.astype(name), None)
    return None


def asarray(a: Any, dtype: Dtype | None = None, *, copy: bool | None = None) -> array:
    """`a` as an array. Arrays come back as they are unless copy=True or another dtype is asked for; everything else is
    copied unless copy=False: then the array lies on the memory of `a`, which must not change while the array or
    anything computed from it lazily is in use. ValueError where that takes a copy, and for arrays of this class, as in
    MLX: they are not memory of the host."""
    if dtype is not None and not isinstance(dtype, Dtype):
        raise ArgumentError(f"asarray: dtype must be a Dtype, got {dtype!r}")
    if copy is False:
        return _without_copy(a, dtype)
    if isinstance(a, BufferBase) and not copy:
        return _as(a, dtype)  # type: ignore[arg-type]
    return from_host(a, dtype)


def _without_copy(a: Any, dtype: Dtype | None) -> array:
    found: array | None = None
    if isinstance(a, BufferBase):
        raise ValueError("asarray: copy=False is for memory of the host, not for arrays")
    if (view := _view(a)) is not None:
        found = lifecycle.borrow(lambda client, token: fast.borrow_buffer(view, client, token), view)
        if found is not None and dtype is None and found._dtype_code in _NARROWER:
            found = None
    elif hasattr(a, "__dlpack__"):
        try:
            found = from_dlpack(a, copy=False)
        except BufferError as e:
            raise ValueError(f"asarray: {type(a).__name__} cannot become an array: {e}") from None
    if found is None or (dtype is not None and found._dtype_code != dtype._code):
        raise ValueError(f"asarray: {type(a).__name__} cannot become an array of this dtype without a copy")
    return found


class _Consumed:
    """A tensor of DLPack whose memory an array lies on; tells its producer when that ends."""

    __slots__ = ("capsule",)

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __del__(self, _release: Any = fast.dlpack_release) -> None:
        _release(self.capsule)


def import_tensor(x: Any, copy: bool | None) -> array:
    """What an object with `__dlpack__` holds, in its own dtype."""
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"from_dlpack: {type(x).__name__} has no __dlpack__")
    try:
        capsule = x.__dlpack__(max_version=(1, 0))
    except TypeError:  # a producer from before versions
        capsule = x.__dlpack__()
    if copy is False:
        keep = _Consumed(capsule)
        return lifecycle.borrow(lambda client, token: fast.dlpack_import(capsule, token, client), keep)
    try:
        return fast.dlpack_import(capsule, None, None)
    finally:
        fast.dlpack_release(capsule)


def from_dlpack(x: Any, /, *, copy: bool | None = None) -> array:
    """An array of any object with `__dlpack__` in host memory. Copies unless copy=False; see asarray."""
    found = import_tensor(x, copy)
    narrower = _NARROWER.get(found._dtype_code)
    if narrower is not None and copy is False:
        raise ValueError("from_dlpack: double precision cannot be imported without a copy")
    return _as(found, narrower)
