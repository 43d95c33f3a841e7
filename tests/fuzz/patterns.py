"""Sequences of ops that the compiler knows as a whole: normalisations over rows, softmax and products with what follows
them. Random ops alone would seldom spell them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from graph import Step
from pool import Pool
from values import FLOATS

_LAST = (("axis", -1), ("keepdims", True))


class Writer:
    """Appends steps; values are numbered after `first` earlier ones."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.steps: list[Step] = []

    def __call__(self, op: str, *inputs: int, args: tuple[Any, ...] = (), kwargs: tuple[Any, ...] = ()) -> int:
        self.steps.append(Step(op, inputs, args, kwargs))
        return self.first + len(self.steps) - 1


def _softmax(w: Writer, x: int, pool: Pool) -> None:
    e = w("exp", w("subtract", x, w("max", x, kwargs=_LAST)))
    w("divide", e, w("sum", e, kwargs=_LAST))


def _log_softmax(w: Writer, x: int, pool: Pool) -> None:
    shifted = w("subtract", x, w("max", x, kwargs=_LAST))
    w("subtract", shifted, w("log", w("sum", w("exp", shifted), kwargs=_LAST)))


def _rms_norm(w: Writer, x: int, pool: Pool) -> None:
    mean = w("mean", w("multiply", x, x), kwargs=_LAST)
    w("multiply", x, w("rsqrt", w("add", mean, args=(0.125,))))


def _layer_norm(w: Writer, x: int, pool: Pool) -> None:
    centered = w("subtract", x, w("mean", x, kwargs=_LAST))
    spread = w("mean", w("square", centered), kwargs=_LAST)
    y = w("multiply", centered, w("rsqrt", w("add", spread, args=(0.125,))))
    weight = pool.pick((pool.dtype(x),), lambda s: s == pool.shape(x)[-1:])
    if weight is not None:
        w("add", w("multiply", y, weight), weight)


def _standardized(w: Writer, x: int, pool: Pool) -> None:
    spread = w("var", x, kwargs=_LAST)
    centered = w("subtract", x, w("mean", x, kwargs=_LAST))
    w("divide", centered, w("sqrt", w("add", spread, args=(0.5,))))


def _column_norm(w: Writer, x: int, pool: Pool) -> None:
    total = w("sum", w("abs", x), kwargs=(("axis", 0), ("keepdims", True)))
    w("divide", x, w("add", total, args=(1.0,)))


def _dense(w: Writer, x: int, pool: Pool) -> None:
    shape = pool.shape(x)
    b = pool.pick((pool.dtype(x),), lambda s: len(s) == 2 and s[0] == shape[-1] and math.prod(shape) * s[1] <= 1 << 17)
    if b is None or len(shape) < 2:
        return
    columns = pool.shape(b)[1]
    y = w("matmul", x, b)
    bias = pool.pick((pool.dtype(x),), lambda s: s == (columns,))
    if bias is not None:
        y = w("add", y, bias)
    y = w(str(pool.rng.choice(["tanh", "sigmoid", "sin", "abs"])), y)
    residual = pool.pick((pool.dtype(x),), lambda s: s == (*shape[:-1], columns))
    if residual is not None:
        y = w("add", y, residual)
    w("multiply", y, args=(0.5,))


def _relu_sums(w: Writer, x: int, pool: Pool) -> None:
    y = w("maximum", x, args=(0.0,))
    w("sum", y, kwargs=(("axis", 0), ("keepdims", False)))
    w("sum", y, kwargs=(("axis", -1), ("keepdims", False)))
    w("argmax", y, kwargs=(("axis", -1),))


PATTERNS: list[Callable[[Writer, int, Pool], None]] = [
    _softmax,
    _log_softmax,
    _rms_norm,
    _layer_norm,
    _standardized,
    _column_norm,
    _dense,
    _dense,
    _relu_sums,
]


def draw_pattern(pool: Pool) -> list[Step]:
    """The steps of one, or none if nothing fits."""
    x = pool.pick(FLOATS, lambda s: len(s) >= 1 and math.prod(s) > 0)
    if x is None:
        return []
    writer = Writer(len(pool.specs))
    PATTERNS[int(pool.rng.integers(len(PATTERNS)))](writer, x, pool)
    return writer.steps
