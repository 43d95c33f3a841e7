"""Elementwise ops, reductions, scans and sorting: mx/ops.h with MLX's names and signatures.

Operands of elementwise ops are arrays or numbers and are broadcast; numbers are weak: they do not widen the dtype of
their kind. `stream` says where the work will run: a stream, a device, or None for the thread's default.
"""

from __future__ import annotations

from ._ffi import fast
from ._rules import (
    Axes,
    axes,
    binary,
    dtype_code,
    named,
    one_axis,
    only_array,
    reduction,
    shared,
    to_array,
    to_pair,
    unary,
)
from .convert import scalar
from .device import StreamOrDevice
from .dtype import Dtype, bfloat16, complexfloating, issubdtype
from .errors import DtypeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._rules import Binary, Reduction, Unary
    from .array import array

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "allclose",
    "any",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "array_equal",
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
    "conjugate",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "degrees",
    "diff",
    "divide",
    "divmod",
    "equal",
    "erf",
    "erfinv",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "from_fp8",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logcumsumexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsumexp",
    "max",
    "maximum",
    "mean",
    "median",
    "min",
    "minimum",
    "minmax",
    "multiply",
    "nan_to_num",
    "negative",
    "nextafter",
    "not_equal",
    "partition",
    "positive",
    "pow",
    "power",
    "prod",
    "radians",
    "real",
    "reciprocal",
    "remainder",
    "right_shift",
    "round",
    "rsqrt",
    "searchsorted",
    "sigmoid",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "softmax",
    "sort",
    "sqrt",
    "square",
    "std",
    "stop_gradient",
    "subtract",
    "sum",
    "tan",
    "tanh",
    "to_fp8",
    "topk",
    "trunc",
    "var",
    "where",
]

# ---- elementwise, one operand

abs: Unary = unary("abs", "The absolute value; of complex numbers a float.")
sign: Unary = unary("sign", "-1, 0 or 1; NaN stays. Of complex numbers: a / |a|.")
positive: Unary = unary("positive", "The same array.")
negative: Unary = unary("negative", "-a; unsigned integers wrap. DtypeError for bool.")
square: Unary = unary("square", "a * a.")
sqrt: Unary = unary("sqrt", "The square root, at least float16; NaN for negative numbers.")
rsqrt: Unary = unary("rsqrt", "1 / sqrt(a).")
reciprocal: Unary = unary("reciprocal", "1 / a.")
exp: Unary = unary("exp", "e to the power of a.")
log: Unary = unary("log", "The natural logarithm.")
log2: Unary = unary("log2", "The logarithm to base 2.")
log10: Unary = unary("log10", "The logarithm to base 10.")
log1p: Unary = unary("log1p", "log(1 + a) without cancellation near 0.")
sin: Unary = unary("sin", "The sine of radians.")
cos: Unary = unary("cos", "The cosine of radians.")
tan: Unary = unary("tan", "The tangent of radians.")
arcsin: Unary = unary("arcsin", "The inverse sine, in radians.")
arccos: Unary = unary("arccos", "The inverse cosine, in radians.")
arctan: Unary = unary("arctan", "The inverse tangent, in radians.")
sinh: Unary = unary("sinh", "The hyperbolic sine.")
cosh: Unary = unary("cosh", "The hyperbolic cosine.")
tanh: Unary = unary("tanh", "The hyperbolic tangent.")
arcsinh: Unary = unary("arcsinh", "The inverse hyperbolic sine.")
arccosh: Unary = unary("arccosh", "The inverse hyperbolic cosine.")
arctanh: Unary = unary("arctanh", "The inverse hyperbolic tangent.")
degrees: Unary = unary("degrees", "Radians to degrees.")
radians: Unary = unary("radians", "Degrees to radians.")
erf: Unary = unary("erf", "The error function.")
erfinv: Unary = unary("erfinv", "The inverse of erf.")
sigmoid: Unary = unary("sigmoid", "1 / (1 + exp(-a)).")
floor: Unary = unary("floor", "Rounds towards minus infinity.")
ceil: Unary = unary("ceil", "Rounds towards plus infinity.")
trunc: Unary = unary("trunc", "Rounds towards zero.")
isnan: Unary = unary("isnan", "bool: is not a number.")
isinf: Unary = unary("isinf", "bool: is plus or minus infinity.")
isfinite: Unary = unary("isfinite", "bool: neither NaN nor infinite.")
isposinf: Unary = unary("isposinf", "bool: is plus infinity.")
isneginf: Unary = unary("isneginf", "bool: is minus infinity.")
signbit: Unary = unary("signbit", "bool: negative, or -0, or NaN with the sign bit. DtypeError for complex numbers.")
conjugate: Unary = unary("conjugate", "The complex conjugate.")
real: Unary = unary("real", "The real part.")
imag: Unary = unary("imag", "The imaginary part; 0 for real dtypes.")
logical_not: Unary = unary("logical_not", "bool: a == 0.")
bitwise_invert: Unary = unary("bitwise_invert", "Inverts every bit; bool: not. DtypeError for floats.")
stop_gradient: Unary = unary("stop_gradient", "The same values; no gradient flows through.")

# ---- elementwise, two operands

add: Binary = binary("add", "a + b; integers wrap.")
subtract: Binary = binary("subtract", "a - b; integers wrap.")
multiply: Binary = binary("multiply", "a * b; integers wrap.")
divide: Binary = binary("divide", "a / b, at least float32 for integers.")
floor_divide: Binary = binary("floor_divide", "The quotient rounded towards minus infinity; integers by 0 give 0.")
remainder: Binary = binary("remainder", "The remainder with the sign of the divisor; integers by 0 give 0.")
power: Binary = binary("power", "a to the power of b.")
maximum: Binary = binary("maximum", "The larger; NaN if either is.")
minimum: Binary = binary("minimum", "The smaller; NaN if either is.")
arctan2: Binary = binary("arctan2", "The angle of the point (b, a), in radians.")
hypot: Binary = binary("hypot", "sqrt(a^2 + b^2) without overflow in between.")
copysign: Binary = binary("copysign", "|a| with the sign of b.")
nextafter: Binary = binary("nextafter", "The number next to a towards b.")
logaddexp: Binary = binary("logaddexp", "log(exp(a) + exp(b)) without overflow.")
equal: Binary = binary("equal", "bool: a == b.")
not_equal: Binary = binary("not_equal", "bool: a != b.")
less: Binary = binary("less", "bool: a < b.")
less_equal: Binary = binary("less_equal", "bool: a <= b.")
greater: Binary = binary("greater", "bool: a > b.")
greater_equal: Binary = binary("greater_equal", "bool: a >= b.")
logical_and: Binary = binary("logical_and", "bool: both are not 0.")
logical_or: Binary = binary("logical_or", "bool: either is not 0.")
logical_xor: Binary = binary("logical_xor", "bool: exactly one is not 0.")
bitwise_and: Binary = binary("bitwise_and", "Bits set in both. DtypeError for floats.")
bitwise_or: Binary = binary("bitwise_or", "Bits set in either. DtypeError for floats.")
bitwise_xor: Binary = binary("bitwise_xor", "Bits set in exactly one. DtypeError for floats.")
left_shift: Binary = binary("left_shift", "a * 2^b by shifting. DtypeError for floats.")
right_shift: Binary = binary("right_shift", "a / 2^b by shifting. DtypeError for floats.")

acos = arccos
acosh = arccosh
asin = arcsin
asinh = arcsinh
atan = arctan
atanh = arctanh
atan2 = arctan2
bitwise_left_shift = left_shift
bitwise_right_shift = right_shift
pow = power
conj = conjugate


def expm1(a: Any, stream: StreamOrDevice = None) -> array:
    """exp(a) - 1 without cancellation near 0. DtypeError for complex numbers; pymx.array_api.expm1 takes them."""
    x = to_array(a, "expm1")
    if issubdtype(x.dtype, complexfloating):
        raise DtypeError(f"expm1: not defined for {x.dtype._name}, but for real numbers")
    return fast.expm1(x, stream)


def round(a: Any, /, decimals: int = 0, stream: StreamOrDevice = None) -> array:
    """Rounds to `decimals` decimals (negative: before the point), halves to even."""
    return fast.round(to_array(a, "round"), decimals, stream)


def to_fp8(x: Any, *, stream: StreamOrDevice = None) -> array:
    """Floating to 8-bit E4M3 in uint8, saturating (OCP 8-bit floating point specification)."""
    return fast.to_fp8(to_array(x, "to_fp8"), stream)


def from_fp8(x: array, dtype: Dtype = bfloat16, *, stream: StreamOrDevice = None) -> array:
    """8-bit E4M3 in uint8 to a floating dtype."""
    return fast.from_fp8(only_array(x, "from_fp8"), dtype_code(dtype, "from_fp8"), stream)


def nan_to_num(
    a: Any,
    nan: float = 0,
    posinf: float | None = None,
    neginf: float | None = None,
    *,
    stream: StreamOrDevice = None,
) -> array:
    """Replaces NaN by `nan`, infinities by `posinf` and `neginf`, or by the largest and the lowest finite number."""
    a = to_array(a, "nan_to_num")
    high = None if posinf is None else scalar(posinf, a.dtype)
    low = None if neginf is None else scalar(neginf, a.dtype)
    return fast.nan_to_num(a, nan, high, low, stream)


def divmod(a: Any, b: Any, stream: StreamOrDevice = None) -> list[array]:
    """Both floor_divide and remainder."""
    return list(fast.divmod(*to_pair(a, b, "divmod"), stream))


def array_equal(a: Any, b: Any, equal_nan: bool = False, stream: StreamOrDevice = None) -> array:
    """0-d bool: same shape and all elements equal; NaN equals NaN if equal_nan."""
    return fast.array_equal(*to_pair(a, b, "array_equal"), equal_nan, stream)


def isclose(
    a: Any,
    b: Any,
    /,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    *,
    equal_nan: bool = False,
    stream: StreamOrDevice = None,
) -> array:
    """bool: |a - b| <= atol + rtol * |b|; infinities of the same sign are close; NaN to NaN if equal_nan."""
    return fast.isclose(*to_pair(a, b, "isclose"), rtol, atol, equal_nan, stream)


def allclose(
    a: Any,
    b: Any,
    /,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    *,
    equal_nan: bool = False,
    stream: StreamOrDevice = None,
) -> array:
    """0-d bool: isclose everywhere."""
    return fast.allclose(*to_pair(a, b, "allclose"), rtol, atol, equal_nan, stream)


def where(condition: Any, x: Any, y: Any, /, *, stream: StreamOrDevice = None) -> array:
    """x where the condition is not 0, else y; the three are broadcast."""
    return fast.where(to_array(condition, "where"), *to_pair(x, y, "where"), stream)


def clip(a: Any, /, a_min: Any, a_max: Any, *, stream: StreamOrDevice = None) -> array:
    """minimum(maximum(a, a_min), a_max); either bound may be None, not both."""
    a = to_array(a, "clip")
    low = None if a_min is None else to_pair(a, a_min, "clip")[1]
    high = None if a_max is None else to_pair(a, a_max, "clip")[1]
    return fast.clip(a, low, high, stream)


# ---- reductions

all: Reduction = reduction("all", "bool: all elements are not 0; True over nothing.")
any: Reduction = reduction("any", "bool: any element is not 0; False over nothing.")
sum: Reduction = reduction("sum", "The sum; bool and small integers become 32 bits wide.")
prod: Reduction = reduction("prod", "The product; dtypes as sum.")
min: Reduction = reduction("min", "The smallest; NaN if there is one. ValueError over nothing.")
max: Reduction = reduction("max", "The largest; NaN if there is one. ValueError over nothing.")
mean: Reduction = reduction("mean", "The arithmetic mean; NaN over nothing.")
median: Reduction = reduction("median", "The median: the mean of the two middle elements of an even number.")
logsumexp: Reduction = reduction("logsumexp", "log(sum(exp(a))) without overflow; minus infinity over nothing.")


def minmax(
    a: array, /, axis: Axes = None, keepdims: bool = False, *, stream: StreamOrDevice = None
) -> tuple[array, array]:
    """Both min and max."""
    return min(a, axis, keepdims, stream=stream), max(a, axis, keepdims, stream=stream)


def var(
    a: array,
    /,
    axis: Axes = None,
    keepdims: bool = False,
    ddof: int = 0,
    *,
    correction: int | None = None,
    stream: StreamOrDevice = None,
) -> array:
    """The variance with divisor n - ddof (`correction` is another name of ddof)."""
    ddof = ddof if correction is None else correction
    return fast.var(only_array(a, "var"), axes(axis), keepdims, ddof, stream)


def std(
    a: array,
    /,
    axis: Axes = None,
    keepdims: bool = False,
    ddof: int = 0,
    *,
    correction: int | None = None,
    stream: StreamOrDevice = None,
) -> array:
    """The square root of var."""
    ddof = ddof if correction is None else correction
    return fast.std(only_array(a, "std"), axes(axis), keepdims, ddof, stream)


def count_nonzero(a: array, /, axis: Axes = None, *, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
    """int32: how many are not 0."""
    return fast.count_nonzero(only_array(a, "count_nonzero"), axes(axis), keepdims, stream)


def softmax(a: array, /, axis: Axes = None, *, precise: bool = False, stream: StreamOrDevice = None) -> array:
    """exp(a) / sum(exp(a)) over axes, without overflow; `precise` computes in float32."""
    return fast.softmax(only_array(a, "softmax"), axes(axis), precise, stream)


def argmin(a: array, /, axis: int | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """uint32: the index of the first smallest, or of the first NaN; without axis in the flattened array."""
    return fast.argmin(only_array(a, "argmin"), one_axis(axis), keepdims, stream)


def argmax(a: array, /, axis: int | None = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """uint32: the index of the first largest, or of the first NaN; without axis in the flattened array."""
    return fast.argmax(only_array(a, "argmax"), one_axis(axis), keepdims, stream)


def _scan(name: str, doc: str) -> Any:
    call = getattr(fast, name)

    def op(
        a: Any,
        /,
        axis: int | None = None,
        *,
        reverse: bool = False,
        inclusive: bool = True,
        dtype: Dtype | None = None,
        stream: StreamOrDevice = None,
    ) -> Any:
        a = only_array(a, name)
        if dtype is not None and a.dtype is not dtype:
            a = fast.astype(a, dtype_code(dtype, name), stream)
        return call(a, one_axis(axis), reverse, inclusive, stream)

    return named(op, name, doc, __name__)


cumsum = _scan(
    "cumsum", "Running sums along an axis; from the end if `reverse`, without the element itself unless `inclusive`."
)
cumprod = _scan("cumprod", "Running products; see cumsum.")
cummax = _scan("cummax", "Running maxima; see cumsum.")
cummin = _scan("cummin", "Running minima; see cumsum.")
logcumsumexp = _scan("logcumsumexp", "Running logsumexp; see cumsum.")
cumulative_sum, cumulative_prod = cumsum, cumprod


def diff(a: array, /, n: int = 1, axis: int = -1, *, stream: StreamOrDevice = None) -> array:
    """The n-th difference of neighbours along an axis; of bool whether they differ."""
    return fast.diff(only_array(a, "diff"), n, axis, stream)


# ---- sorting, searching


def sort(
    a: array,
    /,
    axis: int | None = -1,
    *,
    descending: bool = False,
    stable: bool = True,
    stream: StreamOrDevice = None,
) -> array:
    """Sorted upwards along an axis, or downwards; NaN counts as the largest. Always stable, whatever `stable` says."""
    return fast.sort(only_array(a, "sort"), one_axis(axis), descending, stream)


def argsort(
    a: array,
    /,
    axis: int | None = -1,
    *,
    descending: bool = False,
    stable: bool = True,
    stream: StreamOrDevice = None,
) -> array:
    """uint32: the indices that sort sorts by."""
    return fast.argsort(only_array(a, "argsort"), one_axis(axis), descending, stream)


def partition(a: array, /, kth: int, axis: int | None = -1, *, stream: StreamOrDevice = None) -> array:
    """Puts the kth smallest at its sorted place, no larger ones before it."""
    return fast.partition(only_array(a, "partition"), kth, one_axis(axis), stream)


def argpartition(a: array, /, kth: int, axis: int | None = -1, *, stream: StreamOrDevice = None) -> array:
    """uint32: the indices that partition moves by."""
    return fast.argpartition(only_array(a, "argpartition"), kth, one_axis(axis), stream)


def topk(a: array, /, k: int, axis: int | None = -1, *, stream: StreamOrDevice = None) -> array:
    """The k largest along an axis, in no particular order."""
    return fast.topk(only_array(a, "topk"), k, one_axis(axis), stream)


def searchsorted(sorted_sequence: array, values: Any, /, side: str = "left", *, stream: StreamOrDevice = None) -> array:
    """uint32: where `values` go into a sorted 1-d array so that it stays sorted; "right": after equal elements."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', not {side!r}")
    line = shared(sorted_sequence, "the sorted array of searchsorted")
    return fast.searchsorted(*to_pair(line, values, "searchsorted"), side == "right", stream)
