"""The ops that a fuzzer draws: for each the operands it takes, its arguments, and its reference."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapes
from graph import Step
from oracle import (
    Reference,
    _by_zero,
    averaged,
    cast,
    complex_product,
    exact,
    function,
    log_added,
    logsummed,
    multiplied,
    normalized,
    power,
    product,
    row_norm,
    running,
    shaped,
    shift,
    sorting,
    spread,
    summed,
)
from pool import Pool, Rng
from values import ALL, COMPLEX, FLOATS, INTEGERS, REAL

NUMBERS = (*INTEGERS, *FLOATS, *COMPLEX)
ORDERED = (*INTEGERS, *FLOATS)
BITS = ("bool", *INTEGERS)


Draw = Callable[[Pool, str], "Step | None"]


@dataclass(frozen=True)
class Op:
    name: str
    draw: Draw
    reference: Reference
    weight: float = 1


# ---- how operands and arguments are drawn


def _number(rng: Rng, dtype: str) -> Any:
    """A number that stays weak beside an array."""
    if dtype in INTEGERS or dtype == "bool":
        return int(rng.integers(0 if dtype.startswith("u") or dtype == "bool" else -3, 4))
    return float(rng.choice([0.5, 1.0, 2.0, -1.5, 0.125, 3.0]))


def unary(dtypes: tuple[str, ...]) -> Draw:
    def draw(pool: Pool, name: str) -> Step | None:
        x = pool.pick(dtypes)
        return None if x is None else Step(name, (x,))

    return draw


def binary(dtypes: tuple[str, ...], numbers: bool = True) -> Draw:
    def draw(pool: Pool, name: str) -> Step | None:
        x = pool.pick(dtypes)
        if x is None:
            return None
        if numbers and pool.rng.random() < 0.25 and pool.dtype(x) not in ("bool", *COMPLEX):
            return Step(name, (x,), (_number(pool.rng, pool.dtype(x)),))
        y = pool.partner(x, dtypes)
        if y is None:
            return None
        return Step(name, (x, y) if pool.rng.random() < 0.5 else (y, x))

    return draw


def _axes(pool: Pool, shape: tuple[int, ...]) -> tuple[tuple[str, Any], ...]:
    rng = pool.rng
    keepdims = ("keepdims", bool(rng.random() < 0.5))
    kind = rng.random()
    if kind < 0.3 or not shape:
        return (("axis", None), keepdims)
    if kind < 0.8:
        return (("axis", int(rng.integers(-len(shape), len(shape)))), keepdims)
    chosen = rng.choice(len(shape), size=rng.integers(1, len(shape) + 1), replace=False)
    return (("axis", tuple(sorted(int(a) for a in chosen))), keepdims)


def reduced(dtypes: tuple[str, ...], empty: bool = True) -> Draw:
    def draw(pool: Pool, name: str) -> Step | None:
        x = pool.pick(dtypes, lambda s: empty or math.prod(s) > 0)
        return None if x is None else Step(name, (x,), (), _axes(pool, pool.shape(x)))

    return draw


def along(dtypes: tuple[str, ...], empty: bool = True, **more: Callable[[Rng], Any]) -> Draw:
    """One axis, as a keyword."""

    def draw(pool: Pool, name: str) -> Step | None:
        x = pool.pick(dtypes, lambda s: len(s) > 0 and (empty or math.prod(s) > 0))
        if x is None:
            return None
        n = len(pool.shape(x))
        kwargs = [("axis", int(pool.rng.integers(-n, n)))] + [(key, value(pool.rng)) for key, value in more.items()]
        return Step(name, (x,), (), tuple(kwargs))

    return draw


def _coin(rng: Rng) -> bool:
    return bool(rng.random() < 0.5)


def draw_astype(pool: Pool, name: str) -> Step | None:
    x = pool.pick(ALL)
    to = str(pool.rng.choice(ALL))
    if x is None or (pool.dtype(x) in COMPLEX and to not in (*COMPLEX, "float32")):
        return None
    return Step(name, (x,), ("bool_" if to == "bool" else to,))


def draw_where(pool: Pool, name: str) -> Step | None:
    c = pool.pick(("bool",)) if pool.rng.random() < 0.8 else pool.pick(REAL)
    x = None if c is None else pool.pick(ALL, lambda s: pool.joint(s, pool.shape(c)))
    if x is None:
        return None
    joint = np.broadcast_shapes(pool.shape(c), pool.shape(x))
    y = pool.pick((pool.dtype(x),), lambda s: pool.joint(s, joint))
    return None if y is None else Step(name, (c, x, y))


def draw_clip(pool: Pool, name: str) -> Step | None:
    x = pool.pick(ORDERED)
    if x is None:
        return None
    low = _number(pool.rng, pool.dtype(x))
    return Step(name, (x,), (low, low + 2))


def draw_matmul(pool: Pool, name: str) -> Step | None:
    a = pool.pick(FLOATS, lambda s: len(s) >= 1)
    if a is None:
        return None
    sa = pool.shape(a)

    def fits(s: tuple[int, ...]) -> bool:
        if not s or s[-2 if len(s) > 1 else -1] != sa[-1]:
            return False
        return (
            pool.joint(sa[:-2], s[:-2]) and math.prod(np.broadcast_shapes(sa[:-2], s[:-2])) * sa[-1] * s[-1] <= 1 << 16
        )

    b = pool.pick((pool.dtype(a),), fits)
    return None if b is None else Step(name, (a, b))


def draw_addmm(pool: Pool, name: str) -> Step | None:
    step = draw_matmul(pool, name)
    if step is None or any(len(pool.shape(i)) != 2 for i in step.inputs):
        return None
    a, b = (pool.shape(i) for i in step.inputs)
    out = (a[0], b[1])
    c = pool.pick(
        (pool.dtype(step.inputs[0]),),
        lambda s: len(s) <= 2 and pool.joint(s, out) and np.broadcast_shapes(s, out) == out,
    )
    return None if c is None else Step(name, (c, *step.inputs))


def _erf(x: np.ndarray) -> np.ndarray:
    return (
        np.vectorize(math.erf, otypes=[float])(x.astype(float))
        if x.dtype != np.longdouble
        else np.full(x.shape, np.nan)
    )


def _numpy(f: Callable[..., Any], *names: str) -> Reference:
    """A NumPy function of the same arguments; `names` are the positional ones."""
    return shaped(lambda x, args, kwargs: f(*x, **dict(zip(names, args, strict=False)), **kwargs))


def _listed(f: Callable[..., Any]) -> Reference:
    return shaped(lambda x, args, kwargs: f(x, **kwargs))


def _table() -> list[Op]:
    ops = [
        Op(n, binary(d), exact(f), 3)
        for n, f, d in (
            ("add", np.add, ALL),
            ("subtract", np.subtract, NUMBERS),
            ("multiply", np.multiply, (*REAL,)),
            ("maximum", np.maximum, (*REAL,)),
            ("minimum", np.minimum, (*REAL,)),
        )
    ]
    ops += [
        Op(n, binary(d, False), exact(f, True))
        for n, f, d in (
            ("equal", np.equal, ALL),
            ("not_equal", np.not_equal, ALL),
            ("less", np.less, REAL),
            ("greater_equal", np.greater_equal, REAL),
            ("logical_and", np.logical_and, REAL),
            ("logical_or", np.logical_or, REAL),
            ("bitwise_and", np.bitwise_and, BITS),
            ("bitwise_or", np.bitwise_or, BITS),
            ("bitwise_xor", np.bitwise_xor, BITS),
        )
    ]
    ops += [
        Op("complex_multiply", binary(COMPLEX, False), complex_product),
        Op("divide", binary(FLOATS), exact(np.true_divide), 2),
        Op("floor_divide", binary(INTEGERS), exact(_by_zero(np.floor_divide))),
        Op("remainder", binary(INTEGERS), exact(_by_zero(np.remainder))),
        Op("divmod_quotient", binary(INTEGERS, False), exact(_by_zero(np.floor_divide)), 0.5),
        Op("divmod_remainder", binary(INTEGERS, False), exact(_by_zero(np.remainder)), 0.5),
        Op("left_shift", binary(INTEGERS), shift(np.left_shift), 0.5),
        Op("right_shift", binary(INTEGERS), shift(np.right_shift), 0.5),
        Op("power", binary((*INTEGERS, *FLOATS)), power, 0.5),
        Op("arctan2", binary(FLOATS), function(np.arctan2), 0.5),
        Op("logaddexp", binary(FLOATS), log_added, 0.5),
        Op("where", draw_where, shaped(lambda x, a, k: np.where(x[0] != 0, x[1], x[2])), 2),
        Op("clip", draw_clip, exact(lambda x, low, high: np.minimum(np.maximum(x, low), high)), 0.5),
        Op("astype", draw_astype, cast, 3),
    ]
    ops += [
        Op(n, unary(d), exact(f))
        for n, f, d in (
            ("negative", np.negative, NUMBERS),
            ("abs", np.abs, ORDERED),
            ("sign", np.sign, ORDERED),
            ("square", np.square, ORDERED),
            ("floor", np.floor, FLOATS),
            ("ceil", np.ceil, FLOATS),
            ("round", np.round, FLOATS),
            ("sqrt", np.sqrt, FLOATS),
            ("conjugate", np.conjugate, COMPLEX),
        )
    ]
    ops += [
        Op(n, unary(d), exact(f, True), 0.5)
        for n, f, d in (
            ("isnan", np.isnan, FLOATS),
            ("isinf", np.isinf, FLOATS),
            ("logical_not", np.logical_not, REAL),
            ("bitwise_invert", np.invert, BITS),
            ("real", np.real, COMPLEX),
            ("imag", np.imag, COMPLEX),
        )
    ]
    ops += [
        Op(n, unary(FLOATS), function(f), 0.6)
        for n, f in (
            ("exp", np.exp),
            ("expm1", np.expm1),
            ("log", np.log),
            ("log2", np.log2),
            ("log1p", np.log1p),
            ("sin", np.sin),
            ("cos", np.cos),
            ("tanh", np.tanh),
            ("arctan", np.arctan),
            ("arcsin", np.arcsin),
            ("sinh", np.sinh),
            ("arcsinh", np.arcsinh),
            ("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
            ("rsqrt", lambda x: 1 / np.sqrt(x)),
            ("reciprocal", lambda x: 1 / x),
        )
    ]
    ops += [
        Op("erf", unary(("float16", "bfloat16", "float32")), function(_erf), 0.6),
        Op("sum", reduced(ALL), summed, 4),
        Op("prod", reduced((*REAL,)), multiplied, 0.5),
        Op("mean", reduced(FLOATS), averaged, 2),
        Op("var", reduced(FLOATS, False), spread, 1),
        Op("max", reduced((*REAL,), False), _numpy(np.max), 2),
        Op("min", reduced((*REAL,), False), _numpy(np.min)),
        Op("all", reduced(REAL), _numpy(lambda x, **k: np.all(x != 0, **k))),
        Op("any", reduced(REAL), _numpy(lambda x, **k: np.any(x != 0, **k))),
        Op("argmax", along(REAL, False, keepdims=_coin), _numpy(np.argmax)),
        Op("argmin", along(REAL, False, keepdims=_coin), _numpy(np.argmin)),
        Op("logsumexp", reduced(FLOATS, False), logsummed),
        Op("softmax", shapes.draw_softmax, normalized, 1.5),
        Op("cumsum", along((*INTEGERS, *FLOATS), reverse=_coin), running(np.cumsum)),
        Op("cumprod", along((*INTEGERS, "float32", "float64"), reverse=_coin), running(np.cumprod), 0.5),
        Op("sort", along((*REAL,)), sorting(np.sort)),
        Op("argsort", along((*REAL,)), sorting(lambda x, axis: np.argsort(x, axis, kind="stable"))),
        Op("matmul", draw_matmul, product, 4),
        Op("addmm", draw_addmm, product, 2),
        Op("reshape", shapes.draw_reshape, shaped(lambda x, a, k: x[0].reshape(a[0])), 2),
        Op("transpose", shapes.draw_transpose, shaped(lambda x, a, k: x[0].transpose(a[0])), 3),
        Op("broadcast_to", shapes.draw_broadcast, shaped(lambda x, a, k: np.broadcast_to(x[0], a[0])), 2),
        Op("expand_dims", shapes.draw_expand, _numpy(np.expand_dims), 2),
        Op("squeeze", shapes.draw_squeeze, _numpy(np.squeeze)),
        Op("flatten", unary(ALL), shaped(lambda x, a, k: x[0].reshape(-1)), 0.5),
        Op("flip", along(ALL), _numpy(np.flip)),
        Op("getitem", shapes.draw_getitem, shaped(shapes.subscript), 3),
        Op("concatenate", shapes.draw_list, _listed(np.concatenate), 1.5),
        Op("stack", shapes.draw_list, _listed(np.stack), 0.7),
        Op("second_half", shapes.draw_half, shaped(lambda x, a, k: np.split(x[0], 2, a[0])[1])),
        Op("take", shapes.draw_take, shaped(lambda x, a, k: np.take(x[0], np.array(a[0]), **k)), 1.5),
        Op("pad", shapes.draw_pad, _numpy(np.pad, "pad_width")),
        Op("roll", shapes.draw_roll, _numpy(np.roll, "shift", "axis")),
        Op("repeat", shapes.draw_repeat, _numpy(np.repeat, "repeats"), 0.7),
        Op("tril", shapes.draw_tri, _numpy(np.tril), 0.5),
        Op("slice_update", shapes.draw_slice_update, shaped(shapes.slice_update)),
        Op("rms_norm", shapes.draw_norm, row_norm),
        Op("layer_norm", shapes.draw_norm, row_norm),
        Op("at_add", shapes.draw_at_add, shaped(shapes.at_add)),
    ]
    return ops


OPS = {op.name: op for op in _table()}
