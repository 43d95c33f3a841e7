"""Element types: Dtype and its instances, their categories, limits and promotion. The numbers are those of mx_dtype in
mx/dtype.h."""

from __future__ import annotations

import math
from enum import Enum

from ._ffi import fast
from ._number import number as _number
from .errors import ArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .array import array

__all__ = [
    "Dtype",
    "DtypeCategory",
    "bfloat16",
    "bool_",
    "can_cast",
    "complex64",
    "complex128",
    "complexfloating",
    "finfo",
    "float16",
    "float32",
    "float64",
    "floating",
    "generic",
    "iinfo",
    "inexact",
    "int8",
    "int16",
    "int32",
    "int64",
    "integer",
    "isdtype",
    "issubdtype",
    "number",
    "result_type",
    "signedinteger",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unsignedinteger",
]


class DtypeCategory(Enum):
    """What dtypes have in common; see issubdtype."""

    complexfloating = 0
    floating = 1
    inexact = 2
    signedinteger = 3
    unsignedinteger = 4
    integer = 5
    number = 6
    generic = 7

    def __repr__(self) -> str:
        return f"DtypeCategory.{self.name}"

    __str__ = __repr__


complexfloating = DtypeCategory.complexfloating
floating = DtypeCategory.floating
inexact = DtypeCategory.inexact
signedinteger = DtypeCategory.signedinteger
unsignedinteger = DtypeCategory.unsignedinteger
integer = DtypeCategory.integer
number = DtypeCategory.number
generic = DtypeCategory.generic

_PARENT = {
    complexfloating: inexact,
    floating: inexact,
    inexact: number,
    signedinteger: integer,
    unsignedinteger: integer,
    integer: number,
    number: generic,
    generic: generic,
}


class Dtype:
    """An element type. Equal only to itself; `size` is its bytes."""

    __slots__ = ("_category", "_code", "_name", "size")
    _code: int
    _name: str
    _category: DtypeCategory
    size: int

    def __init__(self, name: str, code: int, size: int, category: DtypeCategory) -> None:
        self._name, self._code, self.size, self._category = name, code, size, category

    def __repr__(self) -> str:
        return f"mlx.core.{self._name}"  # the text that code written for MLX looks for

    def __reduce__(self) -> Any:
        return _by_name, (self._name,)

    def __copy__(self) -> Dtype:
        return self

    def __deepcopy__(self, memo: object) -> Dtype:
        return self


def _by_name(name: str) -> Dtype:
    return _NAMES[name]


bool_ = Dtype("bool", 0, 1, generic)
uint8 = Dtype("uint8", 1, 1, unsignedinteger)
uint16 = Dtype("uint16", 2, 2, unsignedinteger)
uint32 = Dtype("uint32", 3, 4, unsignedinteger)
uint64 = Dtype("uint64", 4, 8, unsignedinteger)
int8 = Dtype("int8", 5, 1, signedinteger)
int16 = Dtype("int16", 6, 2, signedinteger)
int32 = Dtype("int32", 7, 4, signedinteger)
int64 = Dtype("int64", 8, 8, signedinteger)
float16 = Dtype("float16", 9, 2, floating)
float32 = Dtype("float32", 10, 4, floating)
float64 = Dtype("float64", 11, 8, floating)
bfloat16 = Dtype("bfloat16", 12, 2, floating)
complex64 = Dtype("complex64", 13, 8, complexfloating)
complex128 = Dtype("complex128", 14, 16, complexfloating)

DTYPES = (
    *(bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64),
    *(float16, float32, float64, bfloat16, complex64, complex128),
)  # by code
_NAMES = {d._name: d for d in DTYPES}
_KINDS = {
    "bool": (bool_,),
    "signed integer": (int8, int16, int32, int64),
    "unsigned integer": (uint8, uint16, uint32, uint64),
    "integral": (int8, int16, int32, int64, uint8, uint16, uint32, uint64),
    "real floating": (float16, bfloat16, float32, float64),
    "complex floating": (complex64, complex128),
}
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


def issubdtype(arg1: Dtype | DtypeCategory, arg2: Dtype | DtypeCategory) -> bool:
    """Whether a dtype or category is, or is below, another one."""
    for x in (arg1, arg2):
        if not isinstance(x, (Dtype, DtypeCategory)):
            raise ArgumentError(f"issubdtype: expected dtypes or their categories, got {x!r}")
    if isinstance(arg2, Dtype):
        return arg1 is arg2
    at = arg1._category if isinstance(arg1, Dtype) else arg1
    while at is not arg2 and at is not generic:
        at = _PARENT[at]
    return at is arg2


def isdtype(dtype: Dtype, kind: Dtype | str | tuple[Dtype | str, ...]) -> bool:
    """Whether a dtype is of a kind, in the words of the array API standard: "bool", "integral", "real floating"..."""
    if not isinstance(dtype, Dtype):
        raise ArgumentError(f"isdtype: expected a Dtype, got {dtype!r}")
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, Dtype):
        return dtype is kind
    if not isinstance(kind, str):
        raise ArgumentError(f"isdtype: a kind must be a Dtype, a str or a tuple of these, not {kind!r}")
    if kind not in _KINDS:
        raise ValueError(f"isdtype: unknown kind {kind!r}; one of {', '.join(map(repr, _KINDS))}")
    return dtype in _KINDS[kind]


def result_type(*arrays_and_dtypes: array | Dtype | float | complex) -> Dtype:
    """The dtype that results from combining arrays and dtypes in an arithmetic op. Python's numbers are weak: they only
    count by kind, and not beside a dtype of their kind or a higher one."""
    strong, weak = [], []
    for x in arrays_and_dtypes:
        dtype, value = _dtype_of(x), _number(x)
        if dtype is None and value is None:
            raise ArgumentError(f"result_type: expected arrays, dtypes or numbers, got {type(x).__name__}")
        strong += [] if dtype is None else [dtype]
        weak += [] if value is None else [value]
    if not strong and not weak:
        raise ValueError("result_type: needs an array or a dtype")
    code = strong[0]._code if strong else bool_._code
    for d in strong[1:]:
        code = fast.dtype_promote(code, d._code)
    for x in weak:
        code = fast.array_scalar_weak(x, code)._dtype_code if strong else fast.dtype_promote(code, _default(x)._code)
    return DTYPES[code]


def can_cast(from_: array | Dtype, to: Dtype) -> bool:
    """Whether promotion with `to` gives `to`: no kind and no range gets lost."""
    dtype = _dtype_of(from_)
    if dtype is None:
        raise ArgumentError(f"can_cast: expected an array or a dtype, got {from_!r}")
    if not isinstance(to, Dtype):
        raise ArgumentError(f"can_cast: expected a Dtype to cast to, got {to!r}")
    return bool(fast.dtype_promote(dtype._code, to._code) == to._code)


def _dtype_of(x: Any) -> Dtype | None:
    found = x if isinstance(x, Dtype) else getattr(x, "dtype", None)
    return found if isinstance(found, Dtype) else None


def _limited(x: Any, category: DtypeCategory, name: str, needed: str) -> Dtype:
    """The dtype that finfo or iinfo was asked about."""
    found = _dtype_of(x)
    if found is None:
        raise ArgumentError(f"{name}: expected a Dtype or an array, got {x!r}")
    if not issubdtype(found, category):
        raise ValueError(f"{name}: {found} is not {needed}")
    return found


def _default(x: float | complex) -> Dtype:
    if isinstance(x, bool):
        return bool_
    if isinstance(x, int):
        return int32 if -(2**31) <= x < 2**31 else int64
    return float32 if isinstance(x, float) else complex64


# bits of the exponent and of the fraction
_FORMATS = {float16: (5, 10), bfloat16: (8, 7), float32: (8, 23), float64: (11, 52)}
_PARTS = {complex64: float32, complex128: float64}


class finfo:
    """The limits of a floating dtype: `bits`, `min`, `max`, `eps`, `smallest_normal`; of complex dtypes those of
    their parts."""

    __slots__ = ("bits", "dtype", "eps", "max", "min", "smallest_normal")

    def __init__(self, dtype: Dtype | array) -> None:
        found = _limited(dtype, inexact, "finfo", "inexact")
        self.dtype = _PARTS.get(found, found)
        exponent, fraction = _FORMATS[self.dtype]
        bias = 2 ** (exponent - 1) - 1
        self.bits = self.dtype.size * 8
        self.max = math.ldexp(2.0 - 2.0**-fraction, bias)
        self.min = -self.max
        self.eps = 2.0**-fraction
        self.smallest_normal = math.ldexp(1.0, 1 - bias)

    def __repr__(self) -> str:
        return f"finfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype._name})"


class iinfo:
    """The limits of an integer dtype: `bits`, `min`, `max`."""

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, dtype: Dtype | array) -> None:
        found = _limited(dtype, integer, "iinfo", "an integer dtype")
        self.dtype = found
        self.bits = found.size * 8
        signed = found._category is signedinteger
        self.min = -(2 ** (self.bits - 1)) if signed else 0
        self.max = 2 ** (self.bits - signed) - 1

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype._name})"
