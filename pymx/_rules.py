"""How arguments of ops become what the library takes, and factories for families of ops with one signature."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import convert
from ._ffi import NO_AXIS, BufferBase, fast
from .dtype import Dtype
from .errors import ArgumentError
from .vmap import shared as shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol, TypeAlias

    from .array import array
    from .device import StreamOrDevice

Scalar: TypeAlias = bool | int | float | complex
Axes: TypeAlias = "int | Sequence[int] | None"


def to_array(x: Any, name: str) -> array:
    """An operand as an array."""
    return x if isinstance(x, BufferBase) else convert.to_array(x, name)  # type: ignore[return-value]


def to_pair(a: Any, b: Any, name: str) -> tuple[array, array]:
    """Two operands as arrays; a number beside an array is weak."""
    if isinstance(a, BufferBase):
        return a, b if isinstance(b, BufferBase) else convert.beside(b, a._dtype_code, name)  # type: ignore[return-value]
    if isinstance(b, BufferBase):
        return convert.beside(a, b._dtype_code, name), b  # type: ignore[return-value]
    return convert.to_array(a, name), convert.to_array(b, name)


def only_array(x: Any, name: str) -> array:
    """An argument that must be an array."""
    if not isinstance(x, BufferBase):
        if hasattr(x, "__mlx_array__"):
            return x.__mlx_array__()
        raise ArgumentError(f"{name}: expected an array, got {type(x).__name__}")
    return x  # type: ignore[return-value]


def arrays(xs: Sequence[Any], name: str) -> Sequence[array]:
    """A sequence of arrays."""
    if isinstance(xs, (list, tuple)):  # no second list, and no frame for making one, where nothing has to be converted
        for x in xs:
            if not isinstance(x, BufferBase):
                break
        else:
            return xs
    elif isinstance(xs, BufferBase):
        return list(xs)
    elif not hasattr(xs, "__iter__"):
        raise ArgumentError(f"{name}: expected a sequence of arrays, got {type(xs).__name__}")
    return [x if isinstance(x, BufferBase) else only_array(x, name) for x in xs]  # type: ignore[misc]


def several(x: Any) -> Any:
    """An int or several: arrays of the host or of this package, which say that they are an int whatever they hold, as a
    list if they hold several."""
    return x.tolist() if getattr(x, "ndim", 0) else x


def axes(axis: Axes) -> Sequence[int] | None:
    """Several axes; None are all."""
    if axis is None:
        return None
    return (axis,) if isinstance(axis, int) else sizes(axis)


def one_axis(axis: int | None) -> int:
    """One axis; None flattens."""
    return NO_AXIS if axis is None else axis


def sizes(shape: int | Sequence[int]) -> Sequence[int]:
    """A shape."""
    if isinstance(shape, (tuple, list)):
        return shape
    if isinstance(shape, int):
        return (shape,)
    shape = several(shape)
    return (shape,) if hasattr(shape, "__index__") else shape  # type: ignore[return-value]


def dtype_code(dtype: Dtype | None, name: str, default: Dtype | None = None) -> int:
    """The number of a dtype, of `default` if it is None."""
    if isinstance(dtype, Dtype):
        return dtype._code
    if dtype is None and default is not None:
        return default._code
    raise ArgumentError(f"{name}: dtype must be a Dtype, as pymx.float32 is, not {dtype!r}")


if TYPE_CHECKING:

    class UnaryMethod(Protocol):
        def __call__(self, stream: StreamOrDevice = None) -> array: ...

    class ReductionMethod(Protocol):
        def __call__(
            self, axis: Axes = None, keepdims: bool = False, *, stream: StreamOrDevice = None, out: None = None
        ) -> array: ...

    class Unary(Protocol):
        def __call__(self, a: Any, stream: StreamOrDevice = None) -> array: ...
        def __get__(self, instance: array, owner: type[array]) -> UnaryMethod: ...

    class Binary(Protocol):
        def __call__(self, a: Any, b: Any, stream: StreamOrDevice = None) -> array: ...

    class Reduction(Protocol):
        def __call__(
            self,
            a: array,
            /,
            axis: Axes = None,
            keepdims: bool = False,
            *,
            stream: StreamOrDevice = None,
            out: None = None,
        ) -> array: ...
        def __get__(self, instance: array, owner: type[array]) -> ReductionMethod: ...


def named(f: Callable[..., Any], name: str, doc: str, module: str) -> Any:
    f.__name__ = f.__qualname__ = name
    f.__doc__, f.__module__ = doc, module
    return f


def unary(name: str, doc: str, module: str = "pymx.ops") -> Any:
    """An elementwise op of one array or number."""
    call = getattr(fast, name)

    def op(a: Any, stream: StreamOrDevice = None) -> Any:
        return call(a if isinstance(a, BufferBase) else convert.to_array(a, name), stream)

    return named(op, name, doc, module)


def binary(name: str, doc: str, module: str = "pymx.ops") -> Any:
    """An elementwise op of two arrays or numbers."""
    call = getattr(fast, name)

    def op(a: Any, b: Any, stream: StreamOrDevice = None) -> Any:
        if not (isinstance(a, BufferBase) and isinstance(b, BufferBase)):
            a, b = to_pair(a, b, name)
        return call(a, b, stream)

    return named(op, name, doc, module)


def reduction(name: str, doc: str) -> Any:
    """A reduction over axes. NumPy's function of the same name calls the method with out=None."""
    call = getattr(fast, name)

    def op(
        a: Any, /, axis: Axes = None, keepdims: bool = False, *, stream: StreamOrDevice = None, out: None = None
    ) -> Any:
        if out is not None:
            raise TypeError(f"{name}: arrays cannot be written into by `out`")
        return call(only_array(a, name), axes(axis), keepdims, stream)

    return named(op, name, doc, "pymx.ops")
