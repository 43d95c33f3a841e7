"""Making a failing graph smaller, as long as it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from compare import Eager
from graph import Graph, Leaf
from values import name_of


def _pruned(graph: Graph) -> Graph:
    """Without what the outputs and kept values do not need."""
    n = len(graph.leaves)
    needed = set(graph.outputs) | set(graph.kept)
    for i in range(len(graph.steps) - 1, -1, -1):
        if n + i in needed:
            needed |= set(graph.steps[i].inputs)
    leaves = [i for i in range(n) if i in needed]
    steps = [i for i in range(len(graph.steps)) if n + i in needed]
    renumbered = {old: new for new, old in enumerate([*leaves, *(n + i for i in steps)])}

    def moved(numbers: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(renumbered[i] for i in numbers)

    return Graph(
        tuple(graph.leaves[i] for i in leaves),
        tuple(replace(graph.steps[i], inputs=moved(graph.steps[i].inputs)) for i in steps),
        moved(graph.outputs),
        moved(graph.kept),
        graph.label,
    )


def _frozen(graph: Graph, at: int, eager: Eager) -> Graph:
    """A step replaced by its value."""
    n, value = len(graph.leaves), eager.values[len(graph.leaves) + at]
    leaf = Leaf(name_of(eager.arrays[n + at]), value.shape, values=value)
    renumbered = {i: i for i in range(n)} | {n + at: n}
    for i in range(len(graph.steps)):
        if i != at:
            renumbered[n + i] = n + 1 + i - (i > at)
    steps = [
        replace(step, inputs=tuple(renumbered[k] for k in step.inputs)) for i, step in enumerate(graph.steps) if i != at
    ]
    return Graph(
        (*graph.leaves, leaf),
        tuple(steps),
        tuple(renumbered[i] for i in graph.outputs),
        tuple(renumbered[i] for i in graph.kept),
        graph.label,
    )


def _smaller(graph: Graph) -> Iterator[Graph]:
    if len(graph.outputs) > 1:
        for i in range(len(graph.outputs)):
            yield replace(graph, outputs=graph.outputs[:i] + graph.outputs[i + 1 :], cache={})
    for i in range(len(graph.kept)):
        yield replace(graph, kept=graph.kept[:i] + graph.kept[i + 1 :], cache={})
    eager = Eager(graph)
    for i in range(len(graph.steps) - 1):
        yield _frozen(graph, i, eager)
    for i, leaf in enumerate(graph.leaves):
        if leaf.layout != "row":
            plain = replace(leaf, layout="row", values=eager.values[i])
            yield replace(graph, leaves=(*graph.leaves[:i], plain, *graph.leaves[i + 1 :]), cache={})


def shrunk(graph: Graph, fails: Callable[[Graph], bool], tries: int = 400) -> Graph:
    """The smallest graph that was found; greedy."""
    graph = _pruned(graph)
    progress = True
    while progress:
        progress = False
        for candidate in _smaller(graph):
            tries -= 1
            if tries < 0:
                return graph
            candidate = _pruned(candidate)
            if fails(candidate):
                graph, progress = candidate, True
                break
    return graph
