"""Data types, their promotion and limits, and astype."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pymx as mx

from ..dtype import (
    Dtype,
    bool_,
    complex64,
    complex128,
    finfo,
    float32,
    float64,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    isdtype,
    uint8,
    uint16,
    uint32,
    uint64,
)

if TYPE_CHECKING:
    from ..array import array
    from ..device import Device

__all__ = [
    "astype",
    "can_cast",
    "complex64",
    "complex128",
    "finfo",
    "float32",
    "float64",
    "iinfo",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "result_type",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

DTYPES = {
    "bool": bool_,
    **{"int8": int8, "int16": int16, "int32": int32, "int64": int64},
    **{"uint8": uint8, "uint16": uint16, "uint32": uint32, "uint64": uint64},
    **{"float32": float32, "float64": float64, "complex64": complex64, "complex128": complex128},
}
INDEX = int64  # of indices and counts
COMPLEX = complex128  # of Python's complex numbers
_Scalar = int | float | complex  # bool is an int


def default_of(value: object) -> Dtype:
    """The dtype of an array that is made of one of Python's numbers."""
    if value is True or value is False:
        return bool_
    if isinstance(value, int):
        return int64 if -(2**63) <= value < 2**63 else uint64
    return float64 if isinstance(value, float) else COMPLEX


def result_type(*arrays_and_dtypes: array | _Scalar | Dtype) -> Dtype:
    """The dtype that the standard's promotion table gives. Python's numbers count by kind only.

    Raises ValueError without any argument."""
    strong = [x if isinstance(x, Dtype) else x.dtype for x in arrays_and_dtypes if not isinstance(x, _Scalar)]
    weak = [x for x in arrays_and_dtypes if isinstance(x, _Scalar)]
    if not strong:
        if not weak:
            raise ValueError("result_type: needs an array, a number or a dtype")
        return mx.result_type(*map(default_of, weak))
    found = complex128 if complex64 in strong and float64 in strong else mx.result_type(*strong)
    for x in weak:
        if isinstance(x, complex) and not isdtype(found, "complex floating"):
            found = complex64 if found is float32 else COMPLEX
        elif isinstance(x, float) and not isdtype(found, ("real floating", "complex floating")):
            found = float64
    return found


def can_cast(from_: array | Dtype, to: Dtype, /) -> bool:
    """Whether promotion with `to` gives `to`."""
    dtype = from_ if isinstance(from_, Dtype) else from_.dtype
    try:
        return result_type(dtype, to) is to
    except (TypeError, ValueError):
        return False


def astype(x: array, dtype: Dtype, /, *, copy: bool = True, device: Device | None = None) -> array:
    """`x` converted; from complex to real is a TypeError. An array that is of that dtype is only returned itself
    with copy=False."""
    if isdtype(x.dtype, "complex floating") and not isdtype(dtype, "complex floating"):
        raise TypeError(f"astype: {x.dtype} to {dtype} would drop the imaginary parts; use real()")
    if x.dtype is dtype:
        return mx.array(x) if copy else x
    return x.astype(dtype)
