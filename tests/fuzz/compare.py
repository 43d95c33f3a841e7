"""The ways in which a graph is evaluated, and what must hold between them.

Eager: every step is evaluated before the next is made, and judged by NumPy on the inputs that it had (oracle.py). All
other ways must give the bits of eager evaluation; NaNs count as equal. The exception are sums of floats, whose order
follows the layout of what is summed: where fusion reads an operand in another layout than eager evaluation has stored
it in, such a result and what derives from it may differ within the bound of the sum, carried along by probing."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from draw import resized
from graph import Graph
from ops import OPS
from oracle import difference
from values import COMPLEX, FLOATS, canonical, name_of, to_mx, to_numpy, wide

import pymx as mx

# Ops whose float results depend on an order of additions.
ORDERED_SUMS = {"sum", "mean", "var", "prod", "matmul", "addmm", "softmax", "logsumexp", "rms_norm", "layer_norm"}


@dataclass(frozen=True)
class Failure:
    way: str
    value: int  # the number of the value that differs
    text: str


class Eager:
    """Every value of a graph, one step at a time."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.arrays = [leaf.array() for leaf in graph.leaves]
        for i, step in enumerate(graph.steps):
            value = graph.step_function(i)(*(self.arrays[k] for k in step.inputs))
            mx.eval(value)
            self.arrays.append(value)
        self.values = [to_numpy(x) for x in self.arrays]
        self.inexact: set[int] = set()
        for i, step in enumerate(graph.steps, len(graph.leaves)):
            sums = step.op in ORDERED_SUMS and name_of(self.arrays[i]) in (*FLOATS, *COMPLEX)
            if sums or any(k in self.inexact for k in step.inputs):
                self.inexact.add(i)

    def judge(self) -> Failure | None:
        """NumPy's opinion."""
        first = len(self.graph.leaves)
        with np.errstate(all="ignore"):
            for i, step in enumerate(self.graph.steps):
                name = name_of(self.arrays[first + i])
                judgement = OPS[step.op].reference(step, [self.values[k] for k in step.inputs], name)
                text = difference(self.values[first + i], name, judgement)
                if text:
                    return Failure("numpy", first + i, f"{step.op}: {text}")
        return None

    def bounds(self) -> dict[int, np.ndarray]:
        """How far each inexact value may move when sums are made in another order."""
        first, found = len(self.graph.leaves), {}
        with np.errstate(all="ignore"):
            for i, step in enumerate(self.graph.steps):
                if first + i in self.inexact:
                    found[first + i] = self._bound(i, {k: found[k] for k in step.inputs if k in found})
        return found

    def _bound(self, i: int, errors: dict[int, np.ndarray]) -> np.ndarray:
        """The op's own bound, and the largest change over the corners of its inputs' errors. Halved and doubled steps
        between the corners would find nothing new: every op here is monotonic or smooth on such small ranges; where a
        corner jumps, everything is allowed."""
        step, at = self.graph.steps[i], len(self.graph.leaves) + i
        inputs = [self.values[k] for k in step.inputs]
        center, name = wide(self.values[at]), name_of(self.arrays[at])
        judgement = OPS[step.op].reference(step, inputs, name)
        own = np.inf if judgement is None else np.asarray(judgement[1], float)
        bound = np.broadcast_to(2.0 * own, center.shape).astype(float)
        uncertain = [k for k in dict.fromkeys(step.inputs) if k in errors]
        for signs in itertools.islice(itertools.product((-1, 1), repeat=len(uncertain)), 8):
            moved = dict(zip(uncertain, signs, strict=True))
            probe = [to_mx(_moved(self.values[k], moved.get(k, 0), errors.get(k))) for k in step.inputs]
            result = wide(to_numpy(self.graph.step_function(i)(*probe)))
            change = np.abs(result - center)
            same = (result == center) | (np.isnan(result) & np.isnan(center))
            bound = bound + np.where(same, 0, np.where(np.isfinite(change), 2 * change, np.inf)).astype(float)
        if name not in (*FLOATS, *COMPLEX):
            # Corners move all values alike, so they do not show that two may change places.
            places = step.op.startswith("arg") and any(np.any(errors[k] > 0) for k in uncertain)
            bound = np.full(center.shape, np.inf) if places else np.where(bound > 0, np.inf, 0.0)
        return bound + (np.abs(center) * 2.0**-7 if name == "bfloat16" and uncertain else 0)


def _moved(x: np.ndarray, sign: int, error: np.ndarray | None) -> np.ndarray:
    if sign == 0 or error is None or x.dtype.kind in "biu":
        return x
    return (wide(x) + sign * np.where(np.isfinite(error), error, 0)).astype(x.dtype)


def _fused(graph: Graph) -> list[mx.array]:
    found = graph.function((*graph.outputs, *graph.kept))(*(leaf.array() for leaf in graph.leaves))
    mx.eval(found[: len(graph.outputs)])
    return found


def _alone(graph: Graph) -> list[mx.array]:
    """Nothing but the outputs is held: all that can fuse does."""
    found = graph.function(graph.outputs)(*(leaf.array() for leaf in graph.leaves))
    mx.eval(found)
    return found


def _serial(graph: Graph) -> list[mx.array]:
    before = mx.num_threads()
    mx.set_num_threads(0)
    try:
        return _fused(graph)
    finally:
        mx.set_num_threads(before)


def _compiled(shapeless: bool, relaid: bool = False) -> Callable[[Graph], list[mx.array]]:
    def way(graph: Graph) -> list[mx.array]:
        leaves = [leaf.array() for leaf in graph.leaves]
        f = mx.compile(graph.function((*graph.outputs, *graph.kept)), shapeless=shapeless)
        mx.eval(f(*leaves))
        if relaid:  # another layout of the same arguments: another program of the same entry
            leaves = [mx.contiguous(x) for x in leaves]
            mx.eval(leaves)
        found = f(*leaves)  # a hit
        mx.eval(found)
        assert f.cache_info().traces == 1, "the second call was no hit"
        return found

    return way


def _resized(graph: Graph) -> Failure | None:
    """A shapeless function, traced on the graph's own leaves, on those of another graph: eager evaluation's results, or
    an error where that has one."""
    f = mx.compile(graph.function(graph.outputs), shapeless=True)
    mx.eval(f(*(leaf.array() for leaf in graph.leaves)))
    other = resized(graph)
    try:
        eager: Eager | None = Eager(other)
    except (ValueError, IndexError, TypeError):
        eager = None
    try:
        found = f(*(leaf.array() for leaf in other.leaves))
        mx.eval(found)
    except (ValueError, IndexError) as error:
        # max and the like refuse to reduce nothing, and a logsumexp that was traced over something contains a max.
        frozen = "nothing to reduce" in str(error)
        if eager is None or frozen:
            return None
        return Failure("resized", graph.outputs[0], f"{type(error).__name__}: {error}")
    if eager is None or f.cache_info().traces != 1:  # a size that the trace has frozen
        return None
    for number, x in zip(other.outputs, found, strict=True):
        text = _differs(eager, number, x)
        if text:
            return Failure("resized", number, text)
    return None


def _consumed(graph: Graph) -> list[mx.array]:
    """A hit whose arguments nobody else holds: outputs may take over their memory."""
    f = mx.compile(graph.function((*graph.outputs, *graph.kept)))
    mx.eval(f(*(leaf.array() for leaf in graph.leaves)))
    found = f(*(leaf.array() for leaf in graph.leaves))
    mx.eval(found)
    return found


WAYS: dict[str, Callable[[Graph], list[mx.array]] | None] = {
    "fused": _fused,
    "alone": _alone,
    "serial": _serial,
    "compiled": _compiled(False),
    "consumed": _consumed,
    "relaid": _compiled(False, relaid=True),
    "shapeless": _compiled(True),
    "resized": None,
}


def check(graph: Graph, ways: dict[str, Callable[[Graph], list[mx.array]] | None] | None = None) -> Failure | None:
    """The first difference, or None."""
    eager = Eager(graph)
    failure = eager.judge()
    if failure:
        return failure
    if ways is None or "resized" in ways:
        failure = _resized(graph)
        if failure:
            return failure
    for name, way in (WAYS if ways is None else ways).items():
        if way is None:
            continue
        try:
            found = way(graph)
        except Exception as error:
            return Failure(name, graph.outputs[0], f"{type(error).__name__}: {error}")
        for number, x in zip((*graph.outputs, *graph.kept), found, strict=False):
            text = _differs(eager, number, x)
            if text:
                return Failure(name, number, text)
    return None


def _differs(eager: Eager, number: int, x: mx.array) -> str:
    expected, got = eager.values[number], to_numpy(x)
    if expected.dtype != got.dtype or expected.shape != got.shape:
        return f"{got.dtype} {got.shape} instead of {expected.dtype} {expected.shape}"
    same = canonical(expected) == canonical(got)
    if np.all(same):
        return ""
    if number in eager.inexact:
        bounds: Any = eager.bounds()[number]
        return difference(got, name_of(x), (wide(expected), bounds))
    at = np.unravel_index(int(np.argmin(same.reshape(-1))), same.shape) if same.ndim else ()
    index = tuple(int(i) for i in at)[: got.ndim]
    index = index if got.dtype.kind != "c" else (*index[:-1], index[-1] // 2)
    return f"at {index}: {got[index]!r} instead of {expected[index]!r}, {np.sum(~same)} of {got.size} differ in bits"


def digest(graph: Graph) -> str:
    """A hash of all outputs of a hit, for comparing processes."""
    found = WAYS["compiled"](graph)
    h = hashlib.sha256()
    for x in found:
        h.update(canonical(to_numpy(x)).tobytes())
    return h.hexdigest()[:16]
