"""What NumPy says about one step: the value in more digits, and by how much a right result may differ from it.

A step is judged on the inputs that pymx itself computed, so no error is carried along and the bounds are those of the
op: exact ops are exact, functions are within 2 units in the last place (float16 and bfloat16: 1), sums and products of
n terms within n roundings of the sum of magnitudes, in whatever order they were made."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from graph import Step
from values import (
    BFLOAT16,
    COMPLEX,
    FLOATS,
    HALVES,
    INTEGERS,
    dtype_of,
    magnitude,
    may_overflow,
    part,
    rounded,
    ulp,
    unit,
    wide,
)

import pymx as mx

# (value, bound); a bound of inf leaves an element open. None: not judged.
Judgement = tuple[np.ndarray, Any] | None
Reference = Callable[[Step, list[np.ndarray], str], Judgement]


def exact(f: Callable[..., Any], common: bool = False) -> Reference:
    """A NumPy function in the dtype of the result, or of the operands."""

    def reference(step: Step, x: list[np.ndarray], out: str) -> Judgement:
        return f(*_operands(step, x, _common(x) if common else out)), 0

    return reference


def _common(x: list[np.ndarray]) -> str:
    """The dtype that pymx computes with."""
    dtype = mx.zeros((), getattr(mx, x[0].dtype.name.replace("bool", "bool_")))
    for y in x[1:]:
        dtype = dtype + mx.zeros((), getattr(mx, y.dtype.name.replace("bool", "bool_")))
    return str(dtype.dtype).rsplit(".", 1)[-1].replace("bool_", "bool")


def _operands(step: Step, x: list[np.ndarray], name: str) -> list[Any]:
    """Operands as the op casts them; numbers among the arguments are weak."""
    dtype = dtype_of(name)
    return [y.astype(dtype) for y in x] + [np.asarray(a).astype(dtype) for a in step.args if _is_number(a)]


def _is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex))


def function(f: Callable[..., Any], ulps: float = 2) -> Reference:
    """A function of floats with a documented accuracy."""

    def reference(step: Step, x: list[np.ndarray], out: str) -> Judgement:
        if out in COMPLEX:
            truth = f(*(wide(y) for y in _operands(step, x, out)))
            return truth, 32 * unit(part(out)) * magnitude(truth) + 1e-38
        truth = f(*(wide(y) for y in _operands(step, x, out)))
        return truth, (1 if out in HALVES else ulps) * ulp(out, truth)

    return reference


def shaped(f: Callable[..., Any]) -> Reference:
    """Moves elements only; f(arrays, args, kwargs)."""
    return lambda step, x, out: (f(x, step.args, dict(step.kwargs)), 0)


def _axes(step: Step) -> dict[str, Any]:
    kwargs = dict(step.kwargs)
    return {"axis": kwargs.get("axis"), "keepdims": kwargs.get("keepdims", False)}


def _count(x: np.ndarray, axis: Any) -> int:
    if axis is None:
        return x.size
    return math.prod(x.shape[a] for a in ((axis,) if isinstance(axis, int) else axis))


def _sum_bound(x: np.ndarray, out: str, n: float, axes: dict[str, Any]) -> np.ndarray:
    """Any order of adding n terms; halves add in float32 and round once."""
    inner = "float32" if out in HALVES else part(out)
    size = np.sum(magnitude(wide(x)), **axes)
    return (n + 2) * 2 * unit(inner) * size + may_overflow(inner, size)


def log_added(step: Step, x: list[np.ndarray], out: str) -> Judgement:
    """logaddexp: near 0 it is the difference of numbers that were rounded to a few more digits than the result has."""
    judgement = function(np.logaddexp)(step, x, out)
    assert judgement is not None
    size = sum(np.abs(wide(y)) for y in _operands(step, x, out))
    return judgement[0], judgement[1] + (2.0**-62 if out == "float64" else 2.0**-50) * size


def summed(step: Step, x: list[np.ndarray], out: str) -> Judgement:
    axes, y = _axes(step), x[0].astype(dtype_of(out))
    if out in INTEGERS:
        return np.sum(y, dtype=y.dtype, **axes), 0
    truth = np.sum(wide(y), **axes)
    return truth, _sum_bound(y, out, _count(y, axes["axis"]), axes) + (0 if out in COMPLEX else ulp(out, truth))


def multiplied(step: Step, x: list[np.ndarray], out: str) -> Judgement:
    axes, y = _axes(step), x[0].astype(dtype_of(out))
    if out in INTEGERS:
        return np.prod(y, dtype=y.dtype, **axes), 0
    n, name = _count(y, axes["axis"]), "float32" if out in HALVES else out
    truth, logs = np.prod(wide(y), **axes), np.log2(np.abs(wide(y)))
    # Where a part of the product may leave the range, its order decides.
    reach = np.sum(np.abs(logs), **axes)
    bound = np.where(reach < (12 if out == "float16" else 100), (n + 2) * 2 * unit(name) * np.abs(truth), np.inf)
    return truth, bound + (0 if out in COMPLEX else ulp(out, truth))


def averaged(step: Step, x: list[np.ndarray], out: str) -> Judgement:
    axes, y = _axes(step), x[0].astype(dtype_of(out))
    n = _count(y, axes["axis"])
    truth = np.sum(wide(y), **axes) / n if n else np.full(np.sum(y, **axes).shape, np.nan)
    # The sum is rounded to the dtype before it is divided, and may overflow there.
    open_end = may_overflow(out, np.sum(np.abs(wide(y)), **axes))
    return truth, _sum_bound(y, out, n, axes) / max(n, 1) + 3 * ulp(out, truth) + open_end


def spread(step: Step, x: list[np.ndarray], out: str) -> Judgement:
    """var: its terms are squares of differences from a mean that is itself rounded."""
    axes, y = _axes(step), x[0].astype(dtype_of(out))
    n = _count(y, axes["axis"])
    if n == 0 or not np.all(np.isfinite(y)) or (y.size and np.max(np.abs(wide(y))) > 100):
        return None
    truth, size = np.var(wide(y), **axes), np.sum(wide(y) ** 2, **axes) / n
    return truth, (n + 8) * 8 * unit(out) * size + ulp(out, truth)


def product(step: Step, x: list[np.ndarray], out: str) -> Judgement:
    a, b = (wide(y.astype(dtype_of(out))) for y in x[-2:])
    truth, size = np.matmul(a, b), np.matmul(np.abs(a), np.abs(b))
    n = a.shape[-1] + 1
    if step.op == "addmm":
        truth, size = truth + wide(x[0]), size + np.abs(wide(x[0]))
    inner = "float32" if out in HALVES else part(out)
    bound = (2 * n + 4) * 2 * unit(inner) * size + may_overflow(inner, size)
    # A half is rounded after the product and after the sum.
    return truth, bound + (0 if out in COMPLEX else 2 * unit(out) * size + ulp(out, truth))


def normalized(step: Step, x: list[np.ndarray], out: str) -> Judgement:
    """softmax: the exponents' own roundings, and a sum in any order."""
    y, axis = wide(x[0].astype(dtype_of(out))), dict(step.kwargs)["axis"]
    if y.size == 0 or not np.all(np.isfinite(y)):
        return None
    shifted = y - np.max(y, axis=axis, keepdims=True)
    e = np.exp(shifted)
    truth = e / np.sum(e, axis=axis, keepdims=True)
    relative = (y.shape[axis] + 16 + 2 * np.max(np.abs(shifted))) * 2 * unit(out)
    # Below the smallest normal number an exponential may be 0.
    return truth, relative * truth + ulp(out, truth) + np.finfo(np.float32).tiny


def row_norm(step: Step, x: list[np.ndarray], out: str) -> Judgement:
    """rms_norm and layer_norm with a weight."""
    y, weight = (wide(a.astype(dtype_of(out))) for a in x)
    if not np.all(np.isfinite(y)) or np.max(np.abs(y)) > 1000 or not np.all(np.isfinite(weight)):
        return None
    n, size = y.shape[-1], np.max(np.abs(y), axis=-1, keepdims=True)
    if step.op == "layer_norm":
        y = y - np.mean(y, axis=-1, keepdims=True)
    scale = 1 / np.sqrt(np.mean(y * y, axis=-1, keepdims=True) + step.args[0])
    truth = y * scale * weight
    # The mean's error relative to the row, then relative errors of the squares' sum and of each factor.
    error = (
        (n + 8)
        * 4
        * unit("float32" if out in HALVES else out)
        * (size * scale + size**2 * scale**2 * np.abs(y) * scale)
    )
    return truth, error * np.abs(weight) + 3 * ulp(out, truth)


def complex_product(step: Step, x: list[np.ndarray], out: str) -> Judgement:
    a, b = (wide(y) for y in x)
    size = np.abs(a) * np.abs(b)
    return a * b, 8 * unit(part(out)) * size + may_overflow(part(out), size) + 1e-38


def logsummed(step: Step, x: list[np.ndarray], out: str) -> Judgement:
    axes, y = _axes(step), wide(x[0].astype(dtype_of(out)))
    if y.size == 0 or not np.all(np.isfinite(y)):
        return None
    top = np.max(y, axis=axes["axis"], keepdims=True)
    inner = np.log(np.sum(np.exp(y - top), **axes))
    truth = inner + np.max(y, **axes)
    size = np.max(np.abs(y)) + np.abs(inner) + np.max(np.abs(y - top))
    return truth, (_count(y, axes["axis"]) + 16) * 2 * unit(out) * (size + 1)


def running(f: Callable[..., Any]) -> Reference:
    """cumsum and cumprod."""

    def reference(step: Step, x: list[np.ndarray], out: str) -> Judgement:
        y, kwargs = x[0].astype(dtype_of(out)), dict(step.kwargs)
        axis = kwargs["axis"]
        turned = np.flip(y, axis) if kwargs["reverse"] else y
        if out in INTEGERS:
            truth, bound = f(turned, axis=axis, dtype=y.dtype), np.zeros(())
        else:
            w = wide(turned)
            size = np.cumsum(np.abs(w), axis=axis) if f is np.cumsum else np.abs(f(w, axis=axis))
            truth, bound = (
                f(w, axis=axis),
                (y.shape[axis] + 2) * 2 * unit(part(out)) * size,
            )
            if f is np.cumprod:
                reach = np.cumsum(np.abs(np.log2(np.abs(w))), axis=axis)
                bound = np.where(reach < (12 if out == "float16" else 100), bound, np.inf)
        if not kwargs["reverse"]:
            return truth, bound
        return np.flip(truth, axis), np.flip(bound, axis) if np.ndim(bound) else bound

    return reference


def cast(step: Step, x: list[np.ndarray], out: str) -> Judgement:
    """astype: what does not fit an integer is left open."""
    source = x[0]
    if source.dtype.kind == "c" and out not in COMPLEX:
        source = source.real
    truth = rounded(out, source) if out in FLOATS else source.astype(dtype_of(out))
    if out not in INTEGERS or source.dtype.kind in "biu":
        return truth, 0
    bounds, w = np.iinfo(out), wide(source)
    fits = (w > float(bounds.min) - 1) & (w < float(bounds.max) + (1 if bounds.max < 2**53 else 0))
    return truth, np.where(fits, 0.0, np.inf)


def sorting(f: Callable[..., np.ndarray]) -> Reference:
    """sort and argsort; bfloat16 as float32, because NumPy does not put its NaNs last."""

    def reference(step: Step, x: list[np.ndarray], out: str) -> Judgement:
        y = x[0].astype(np.float32) if x[0].dtype == BFLOAT16 else x[0]
        return f(y, dict(step.kwargs)["axis"]), 0

    return reference


def integer_power(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """By repeated squaring, wrapping; a negative exponent gives 0."""
    result, base, left = np.ones_like(a + b), np.broadcast_to(a, np.shape(a + b)).copy(), np.abs(b.astype(object))
    left = np.broadcast_to(left, result.shape).copy()
    while np.any(left > 0):
        odd = (left % 2 == 1).astype(bool)
        result = np.where(odd, result * base, result)
        base, left = base * base, left // 2
    return np.where(b < 0, np.zeros_like(result), result)


def power(step: Step, x: list[np.ndarray], out: str) -> Judgement:
    if out in INTEGERS:
        return integer_power(*_operands(step, x, out)), 0

    def c99_power(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """NumPy takes the square root where the exponent is one 0.5, which differs for -inf and -0."""
        return np.power(*(np.array(y) for y in np.broadcast_arrays(a, b)))

    return function(c99_power)(step, x, out)


def _by_zero(f: Callable[..., Any]) -> Callable[..., Any]:
    """Integers by 0 give 0."""

    def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if a.dtype.kind in "iu":
            return np.where(b == 0, 0, f(a, np.where(b == 0, 1, b))).astype(a.dtype)
        return f(a, b)

    return divide


def shift(f: Callable[..., Any]) -> Reference:
    """Amounts outside of the width are left open."""

    def reference(step: Step, x: list[np.ndarray], out: str) -> Judgement:
        a, b = _operands(step, x, out)
        inside = (b >= 0) & (b < 8 * a.dtype.itemsize)
        return f(a, np.where(inside, b, 0).astype(b.dtype)), np.where(
            np.broadcast_to(inside, np.shape(a + b)), 0.0, np.inf
        )

    return reference


def difference(got: np.ndarray, name: str, judgement: Judgement) -> str:
    """What is wrong with a result, or nothing."""
    if judgement is None:
        return ""
    truth, bound = np.asarray(judgement[0]), np.asarray(judgement[1])
    if truth.shape != got.shape:
        return f"shape {got.shape} instead of {truth.shape}"
    with np.errstate(all="ignore"):
        if name in FLOATS or name in COMPLEX:
            same = _close(got, name, truth, bound)
        else:
            same = (got == truth.astype(got.dtype)) | (bound == np.inf)
    if np.all(same):
        return ""
    at = tuple(int(i[0]) for i in np.nonzero(~np.atleast_1d(same)))
    place = at if got.ndim else ()
    limit = float(np.broadcast_to(bound, got.shape)[place])
    wrong = f"{np.sum(~same)} of {got.size} wrong"
    return f"at {place}: {got[place]!r} instead of {truth[place]!r}, bound {limit:.3g}, {wrong}"


def _close(got: np.ndarray, name: str, truth: np.ndarray, bound: np.ndarray) -> np.ndarray:
    if name in COMPLEX:
        parts = [_close(take(got), part(name), take(truth), bound) for take in (np.real, np.imag)]
        return parts[0] & parts[1]
    best = rounded(name, truth)
    w, w_best = wide(got), wide(best)
    same = (w == w_best) | (np.isnan(w) & np.isnan(w_best)) | (bound == np.inf)
    # Where the bound reaches beyond the largest number, infinity is as good.
    beyond = (
        np.isinf(w) & np.isinf(wide(rounded(name, truth + np.copysign(bound, truth)))) & (np.sign(w) == np.sign(truth))
    )
    return same | (np.abs(w - truth) <= bound) | beyond
