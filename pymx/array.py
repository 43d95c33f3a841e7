"""class array: an n-dimensional array, lazily evaluated. Operators, shape and the buffer protocol are in C
(_fast_array.h), indexing is in indexing.py, functions that are also methods in ops.py and shape.py."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from . import convert, indexing, ops, printing, shape
from ._ffi import BufferBase, fast
from ._number import number
from ._rules import sizes as one_shape
from .awaiting import wait_for
from .device import Device, StreamOrDevice, cpu
from .dtype import DTYPES, Dtype, bfloat16, complex64, float32, int32, integer, issubdtype
from .errors import ArgumentError, DtypeError
from .evaluate import raise_swallowed, wait_for_export

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .array_api.info import Info

__all__ = ["ArrayAt", "ArrayIterator", "ArrayLike", "__array_namespace_info__", "array"]

_assign = fast.array_assign
_new = object.__new__
ArrayAt = indexing.ArrayAt


def _rebuild(cls: type[array], *state: Any) -> array:
    self = cls.__new__(cls)
    self.__setstate__(state)
    return self


class array(BufferBase):
    """array(val, dtype=None): an array of a number, a nested list or tuple, anything with a buffer (NumPy's arrays,
    bytes), a DLPack tensor, another array, or an object with `__mlx_array__`.

    Arrays are computed when their values are needed: by eval, item, tolist, printing, a buffer. Operators take arrays
    and Python's numbers, which are weak: they do not widen the dtype of their kind. `a += b` and `a[i] = v` update in
    place: the object stays, and memory that was exported before does not change."""

    __slots__ = ("__weakref__",)
    _dtypes = DTYPES
    __array_priority__ = 1000  # NumPy's arrays leave operators to this class; its functions take arrays as their own

    def __init__(self, val: Any, dtype: Dtype | None = None) -> None:
        if dtype is None and self._set_number(val):
            return
        if val is None:
            raise ArgumentError("array(): expected a number, a list, an array or an object with a buffer, got None")
        if dtype is not None and not isinstance(dtype, Dtype):
            raise ArgumentError(f"array(): dtype must be a Dtype, got {type(dtype).__name__}")
        self._adopt(convert.from_host(val, dtype))

    # ---- what it is

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self.dtype.size

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.dtype.size

    @property
    def T(self) -> array:
        """All axes reversed."""
        return fast.transpose(self, None, None)

    @property
    def mT(self) -> array:
        """The last two axes swapped."""
        return fast.swapaxes(self, -1, -2, None)

    @property
    def real(self) -> array:
        """The real part."""
        return fast.real(self, None)

    @property
    def imag(self) -> array:
        """The imaginary part."""
        return fast.imag(self, None)

    @property
    def at(self) -> ArrayAt:
        """a.at[i].add(v) and the like: a copy with updates at places that may repeat."""
        return ArrayAt(self)

    # ---- the array API standard

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:
        """The module pymx, as MLX has it; with a version of the array API standard (2021.12 to 2024.12) the module
        pymx.array_api, whose defaults are those of the standard. ValueError for other versions."""
        if api_version is None:
            import pymx

            return pymx
        if api_version not in ("2021.12", "2022.12", "2023.12", "2024.12"):
            raise ValueError(f"__array_namespace__: version {api_version} is not supported")
        from . import array_api

        return array_api

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return Device(cpu, 0)

    def to_device(self, device: Device, /, *, stream: StreamOrDevice = None) -> array:
        """This array on a device, of which the CPU is the only one."""
        if device != Device(cpu, 0):
            raise ValueError(f"to_device: {device!r} is not there; the CPU is the only device")
        return self

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError("len() of a 0-dimensional array")
        return shape[0]

    # ---- values

    _wait = wait_for_export

    def tolist(self) -> Any:
        """The elements as nested lists of Python's numbers; a number for a 0-d array."""
        return fast.tolist(self)

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        if self.shape or not issubdtype(self.dtype, integer):
            raise TypeError("only 0-dimensional integer arrays can be an index")
        return self.item()

    def __await__(self) -> Generator[Any, None, array]:
        """Lets an event loop of asyncio go on while the array is computed."""
        yield from wait_for(self)
        return self

    # ---- text

    def __repr__(self) -> str:
        return printing.text(self)

    def __format__(self, spec: str) -> str:
        if not self.shape:
            return format(self.item(), spec)
        if spec:
            raise TypeError(f"unsupported format {spec!r} for an array that is not 0-dimensional")
        return repr(self)

    # ---- indexing

    def _getitem(self, key: Any) -> array:
        return indexing.get(self, key)  # what C left over

    def _setitem(self, key: Any, value: Any) -> None:
        _assign(self, indexing.updated(self, key, value, indexing.ASSIGN))

    def __iter__(self) -> ArrayIterator:
        return ArrayIterator(self)

    # ---- operands that C does not know

    def _operand(self, other: Any, what: str) -> array:
        """Another operand as an array, or the error that says what could not be done."""
        if not self._is_operand(other):
            raise ArgumentError(f"Cannot perform {what} on an array and {type(other).__name__}")
        return convert.beside(other, self._dtype_code, what)

    def _is_operand(self, other: Any) -> bool:
        return number(other) is not None or convert._has_memory(other)

    def __div__(self, other: Any) -> array:
        return self / other

    def __rdiv__(self, other: Any) -> array:
        return other / self

    # ---- exchange

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy

        raise_swallowed(self)
        if self.dtype is bfloat16:
            raise DtypeError("NumPy has no bfloat16: convert with astype(float32) first")
        view = numpy.asarray(memoryview(self))
        if dtype is not None and dtype != view.dtype:
            if copy is False:
                raise ValueError(f"__array__: {self.dtype} to {dtype} takes a copy")
            return view.astype(dtype)
        return view.copy() if copy or copy is None else view

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """NumPy's older protocol. The memory is that of an exporter which owns a pin, not of this object."""
        raise_swallowed(self)
        if self.dtype is bfloat16:
            raise AttributeError("__array_interface__ has no bfloat16")
        exporter = memoryview(fast.contiguous(self, False, None))
        kind = {"b": "b", "u": "u", "i": "i", "f": "f", "c": "c"}[self.dtype._name[0]]
        typestr = f"{'|' if self.itemsize == 1 else '<'}{kind}{self.itemsize}"
        return {"version": 3, "shape": self.shape, "typestr": typestr, "data": exporter, "strides": None}

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if dl_device is not None and tuple(dl_device) != (1, 0):
            raise BufferError(f"__dlpack__: memory cannot be exported to the device {dl_device}")
        exported, versioned = fast.copy(self, None) if copy else self, max_version is not None and max_version[0] >= 1
        if not versioned and copy is None and memoryview(exported).readonly:
            exported = fast.contiguous(exported, False, None)  # a copy where elements lie in the same place
        return fast.dlpack_export(exported, versioned, bool(copy))

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # kDLCPU

    def __bytes__(self) -> bytes:
        return bytes(memoryview(fast.contiguous(self, False, None)))

    def __reduce_ex__(self, protocol: Any) -> Any:
        import pickle

        data: Any = memoryview(fast.contiguous(self, False, None))
        data = pickle.PickleBuffer(data) if protocol >= 5 else bytes(data)
        return _rebuild, (type(self), self.dtype, self.shape, data)

    def __getstate__(self) -> tuple[Dtype, tuple[int, ...], bytes]:
        return self.dtype, self.shape, bytes(self)

    def __setstate__(self, state: tuple[Dtype, tuple[int, ...], Any]) -> None:
        dtype, shape, data = state
        self._adopt(fast.array_new(data, shape, dtype._code))

    def __copy__(self) -> array:
        return array(self)

    def __deepcopy__(self, memo: Any) -> array:
        return array(self)

    # ---- methods with a signature of their own

    def astype(self, dtype: Dtype, stream: StreamOrDevice = None) -> array:
        """The elements as another dtype; see pymx.astype."""
        return shape.astype(self, dtype, stream=stream)

    def reshape(self, *sizes: Any, stream: StreamOrDevice = None) -> array:
        """The row-major elements in another shape, given as one sequence or as several numbers."""
        return fast.reshape(self, one_shape(sizes[0]) if len(sizes) == 1 else sizes, stream)

    def transpose(self, *axes: Any, stream: StreamOrDevice = None) -> array:
        """The axes in another order, given as one sequence or as several numbers; none reverses them."""
        order = one_shape(axes[0]) if len(axes) == 1 and axes[0] is not None else axes
        return shape.transpose(self, order or None, stream=stream)

    # ---- functions as methods

    abs = ops.abs
    all = ops.all
    any = ops.any
    argmax = ops.argmax
    argmin = ops.argmin
    conj = ops.conj
    conjugate = ops.conjugate
    cos = ops.cos
    cummax = ops.cummax
    cummin = ops.cummin
    cumprod = ops.cumprod
    cumsum = ops.cumsum
    diag = shape.diag
    diagonal = shape.diagonal
    exp = ops.exp
    flatten = shape.flatten
    log = ops.log
    log10 = ops.log10
    log1p = ops.log1p
    log2 = ops.log2
    logcumsumexp = ops.logcumsumexp
    logsumexp = ops.logsumexp
    max = ops.max
    mean = ops.mean
    min = ops.min
    moveaxis = shape.moveaxis
    prod = ops.prod
    reciprocal = ops.reciprocal
    round = ops.round
    rsqrt = ops.rsqrt
    sin = ops.sin
    split = shape.split
    sqrt = ops.sqrt
    square = ops.square
    squeeze = shape.squeeze
    std = ops.std
    sum = ops.sum
    swapaxes = shape.swapaxes
    var = ops.var
    view = shape.view


class ArrayIterator:
    """Iterates over the first axis."""

    __slots__ = ("_rows",)

    def __init__(self, x: array) -> None:
        if not x.shape:
            raise TypeError("iteration over a 0-dimensional array")
        n = x.shape[0]
        self._rows: Iterator[array] = iter(fast.unstack(x, 0, None)) if 0 < n < 10 else (x[i] for i in range(n))

    def __iter__(self) -> ArrayIterator:
        return self

    def __next__(self) -> array:
        return next(self._rows)


class ArrayLike:
    """Stands for anything that array() takes, in annotations; ArrayLike(x) wraps it."""

    __slots__ = ("_wrapped",)

    def __init__(self, obj: Any) -> None:
        self._wrapped = obj

    def __mlx_array__(self) -> array:
        return array(self._wrapped)


def __array_namespace_info__() -> Info:
    """What this namespace can do and what it makes by default, in the words of the array API standard."""
    from .array_api.info import Info

    return Info({"real floating": float32, "complex floating": complex64, "integral": int32, "indexing": int32})


fast.set_array_class(array)
