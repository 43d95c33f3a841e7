"""Drawing random graphs from a seed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from graph import Graph, Leaf, Step, possible_layouts
from ops import OPS
from patterns import draw_pattern
from pool import Pool
from values import ALL, FLOATS, name_of

import pymx as mx

_NAMES = list(OPS)
_CHANCES = np.array([op.weight for op in OPS.values()]) / sum(op.weight for op in OPS.values())
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65, 100]
_STATIC = (ValueError, TypeError, IndexError)


def _shape(rng: np.random.Generator, base: list[int]) -> tuple[int, ...]:
    """Some of the base's trailing sizes, some replaced by 1: shapes that broadcast."""
    chosen = base[int(rng.integers(len(base) + 1)) :] if rng.random() < 0.5 else base
    return tuple(1 if rng.random() < 0.15 else n for n in chosen)


def _leaves(rng: np.random.Generator, seed: int, most: int) -> list[Leaf]:
    base = [int(rng.choice(SIZES)) for _ in range(int(rng.integers(1, 5)))]
    if rng.random() < 0.06:
        base[int(rng.integers(len(base)))] = 0
    if rng.random() < 0.05:
        base = [int(rng.integers(200, 400)), int(rng.integers(200, 700))]
    while math.prod(base) > most:
        base.pop(0)
    family = [str(rng.choice(FLOATS if rng.random() < 0.7 else ALL)) for _ in range(2)]
    leaves = []
    for i in range(int(rng.integers(1, 6)) if rng.random() < 0.95 else 20):
        shape = _shape(rng, base)
        layout = str(rng.choice(possible_layouts(shape))) if rng.random() < 0.4 else "row"
        leaves.append(Leaf(str(rng.choice(family)), shape, layout, seed * 1000 + i))
    return leaves


def draw(seed: int) -> Graph:
    """The graph of a seed."""
    rng = np.random.default_rng(seed)
    large = rng.random() < 0.04
    most = 1 << 18 if large else 1 << 13
    leaves = _leaves(rng, seed, most)
    pool, values = Pool(rng, most), [leaf.array() for leaf in leaves]
    pool.specs = [(x.shape, name_of(x)) for x in values]
    steps: list[Step] = []
    wanted = int(rng.integers(2, 16)) if rng.random() < 0.9 else int(rng.integers(30, 90))
    for _ in range(5 * wanted):
        if len(steps) >= wanted:
            break
        for step in _next(pool, rng):
            value = _try(step, values)
            if value is None or value.size > most or value.ndim > 6:
                break
            steps.append(step)
            values.append(value)
            pool.specs.append((value.shape, name_of(value)))
    return _finish(rng, seed, leaves, steps)


def _next(pool: Pool, rng: np.random.Generator) -> list[Step]:
    if rng.random() < 0.05:
        return draw_pattern(pool)
    name = str(rng.choice(_NAMES, p=_CHANCES))
    step = OPS[name].draw(pool, name)
    return [] if step is None else [step]


def _try(step: Step, values: list[mx.array]) -> mx.array | None:
    """The lazy value; None where the op refuses its arguments."""
    try:
        return Graph((), (step,), ()).step_function(0)(*(values[i] for i in step.inputs))
    except _STATIC:
        return None


def _finish(rng: np.random.Generator, seed: int, leaves: list[Leaf], steps: list[Step]) -> Graph:
    first, n = len(leaves), len(leaves) + len(steps)
    read = {i for step in steps for i in step.inputs}
    ends = [i for i in range(first, n) if i not in read] or [n - 1]
    some = len(ends) if rng.random() < 0.5 else int(rng.integers(1, 5))
    outputs = [int(i) for i in rng.permutation(ends)[:some]]
    inner = [i for i in range(first, n) if i not in outputs]
    kept = tuple(i for i in inner if rng.random() < 0.15)
    if rng.random() < 0.2:
        outputs.append(int(rng.integers(n)))
    return Graph(tuple(leaves), tuple(steps), tuple(outputs), kept, f"seed {seed}")


def resized(graph: Graph) -> Graph:
    """The same steps on leaves of other sizes; equal ones stay equal, 1 stays 1."""
    rng = np.random.default_rng(len(graph.steps) + len(graph.leaves))
    sizes = {n: n if n == 1 else int(rng.choice([0, 1, 2, 3, 6, 9, 33])) for leaf in graph.leaves for n in leaf.shape}
    leaves = [
        replace(leaf, shape=tuple(sizes[n] for n in leaf.shape), layout="row", values=None) for leaf in graph.leaves
    ]
    return replace(graph, leaves=tuple(leaves), cache={})
