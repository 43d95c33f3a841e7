"""Elementwise functions. Operands of binary ones are arrays, or an array and one of Python's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import pymx as mx

from .._ffi import fast
from ..dtype import complex64, float64, isdtype
from .data_types import result_type

if TYPE_CHECKING:
    from ..array import array

Number: TypeAlias = "array | int | float | complex"
__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]


def _named(function: Any, name: str, text: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


def _unary(name: str) -> Callable[[array], array]:
    function = getattr(mx, name)

    def wrapper(x: array, /) -> array:
        return function(x)

    return _named(wrapper, name, f"pymx.{name} of every element.")


def expm1(x: array, /) -> array:
    """exp(x) - 1 without cancellation near 0; of complex numbers too, unlike pymx.expm1."""
    return fast.expm1(x, None)


def _whole(name: str) -> Callable[[array], array]:
    function = getattr(mx, name)

    def wrapper(x: array, /) -> array:
        return x if isdtype(x.dtype, ("bool", "integral")) else function(x)

    return _named(wrapper, name, f"pymx.{name} of every element; integers are returned.")


def promoted(x1: Number, x2: Number) -> tuple[Any, Any]:
    """The operands, converted where the standard says something else than mlx.core: for an array beside a number of a
    higher kind, and for complex64 beside float64."""
    strong = [x.dtype for x in (x1, x2) if isinstance(x, mx.array)]
    if not strong:
        raise TypeError("one operand must be an array")
    if len(strong) == 1 or {*strong} == {complex64, float64}:
        dtype = result_type(x1, x2)
        x1, x2 = (x.astype(dtype) if isinstance(x, mx.array) and x.dtype is not dtype else x for x in (x1, x2))
    return x1, x2


def _binary(name: str) -> Callable[[Number, Number], array]:
    function = getattr(mx, "power" if name == "pow" else name)

    def wrapper(x1: Number, x2: Number, /) -> array:
        return function(*promoted(x1, x2))

    return _named(wrapper, name, f"pymx.{name} of every pair of elements.")


abs = _unary("abs")
acos = _unary("acos")
acosh = _unary("acosh")
asin = _unary("asin")
asinh = _unary("asinh")
atan = _unary("atan")
atanh = _unary("atanh")
bitwise_invert = _unary("bitwise_invert")
conj = _unary("conj")
cos = _unary("cos")
cosh = _unary("cosh")
exp = _unary("exp")
isfinite = _unary("isfinite")
isinf = _unary("isinf")
isnan = _unary("isnan")
log = _unary("log")
log10 = _unary("log10")
log1p = _unary("log1p")
log2 = _unary("log2")
logical_not = _unary("logical_not")
negative = _unary("negative")
positive = _unary("positive")
real = _unary("real")
reciprocal = _unary("reciprocal")
round = _unary("round")
sign = _unary("sign")
signbit = _unary("signbit")
sin = _unary("sin")
sinh = _unary("sinh")
sqrt = _unary("sqrt")
square = _unary("square")
tan = _unary("tan")
tanh = _unary("tanh")
ceil = _whole("ceil")
floor = _whole("floor")
trunc = _whole("trunc")
add = _binary("add")
atan2 = _binary("atan2")
bitwise_and = _binary("bitwise_and")
bitwise_left_shift = _binary("bitwise_left_shift")
bitwise_or = _binary("bitwise_or")
bitwise_right_shift = _binary("bitwise_right_shift")
bitwise_xor = _binary("bitwise_xor")
copysign = _binary("copysign")
divide = _binary("divide")
equal = _binary("equal")
floor_divide = _binary("floor_divide")
greater = _binary("greater")
greater_equal = _binary("greater_equal")
hypot = _binary("hypot")
less = _binary("less")
less_equal = _binary("less_equal")
logaddexp = _binary("logaddexp")
logical_and = _binary("logical_and")
logical_or = _binary("logical_or")
logical_xor = _binary("logical_xor")
maximum = _binary("maximum")
minimum = _binary("minimum")
multiply = _binary("multiply")
nextafter = _binary("nextafter")
not_equal = _binary("not_equal")
pow = _binary("pow")
remainder = _binary("remainder")
subtract = _binary("subtract")


def imag(x: array, /) -> array:
    """The imaginary parts."""
    return mx.imag(x)


def clip(x: array, /, min: array | float | None = None, max: array | float | None = None) -> array:
    """`x` limited to [min, max], in the dtype of `x`."""
    dtype = x.dtype
    for bound, limit in ((min, mx.maximum), (max, mx.minimum)):
        if bound is not None:
            x = limit(x, bound.astype(dtype) if isinstance(bound, mx.array) else bound).astype(dtype)
    return mx.positive(x)
