"""vmap: a function of one element that becomes a function of many (mx/vmap.h)."""

from __future__ import annotations

import functools

from . import tree
from ._ffi import NO_AXIS, BufferBase, fast
from ._local import local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ParamSpec, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")

__all__ = ["vmap"]

_here = local()  # .open: the mappings whose functions run on this thread, innermost last


def vmap(fun: Callable[P, R], in_axes: Any = 0, out_axes: Any = 0) -> Callable[P, R]:
    """A function that maps `fun` over an axis of its arguments: as if it were called with every element along that axis
    and the results stacked, but in one go: `fun` runs once, on arrays without values, and every op that it uses is then
    built for all elements at once.

    The arguments are arrays, or trees of arrays (see pymx.tree). Random numbers are the same for all elements unless
    `fun` gets a key for each.

    in_axes -- the axis of each argument to map over, None for what all elements share: one for all, or a tree that is a
        prefix of the arguments (of the argument, if there is only one). Mapped axes have one size, else ValueError.
    out_axes -- where the axis goes in each result: one for all, or a tree that is a prefix of the result. None: last.
    """
    if not callable(fun):
        raise TypeError(f"vmap: expected a function, got {type(fun).__name__}")

    @functools.wraps(fun)
    def mapped(*args: Any) -> Any:
        one = len(args) == 1 and not (isinstance(in_axes, tuple) and len(in_axes) == 1)
        pairs = _pair(args[0] if one else args, in_axes, "an argument")
        arrays = [x for x, _ in pairs]
        mapping = fast.vmap_begin(arrays, [NO_AXIS if axis is None else axis for _, axis in pairs])
        around = getattr(_here, "open", ())
        try:
            _here.open = (*around, mapping)
            elements = iter(fast.vmap_inputs(mapping))
            result: Any = fun(*tree.map(lambda _: next(elements), args))  # type: ignore[call-arg]
            _here.open = around
            axes = out_axes
            if isinstance(result, BufferBase) and isinstance(axes, tuple) and len(axes) == 1:
                axes = axes[0]
            pairs = _pair(result, axes, "a result")
            arrays = [x for x, _ in pairs]
            whole = iter(fast.vmap_finish(mapping, arrays, [-1 if axis is None else axis for _, axis in pairs]))
            return tree.map(lambda _: next(whole), result)
        finally:
            _here.open = around
            fast.vmap_end(mapping)

    return mapped  # type: ignore[return-value]


def shared(x: Any, what: str) -> Any:
    """The array, which must be the same for all elements of the mappings that are open here: where MLX wants that."""
    for mapping in getattr(_here, "open", ()) if isinstance(x, BufferBase) else ():
        if fast.vmap_resolve(mapping, x)[1] != NO_AXIS:
            raise ValueError(f"vmap: {what} must be the same for all elements")
    return x


def call_rule(rule: Callable[[Any, Any], Any], args: tuple[Any, ...]) -> tuple[bool, Any]:
    """For a function with a rule of its own for mappings: whether its arguments derive from one that is open here, and
    what the rule gives then. `rule(arguments, axes)` gets the arguments for all elements (the argument itself if there
    is only one) and in their structure the axis of each, None where all elements share it; it returns the results and
    their axes, whose structure is a prefix of theirs."""
    around = getattr(_here, "open", ())
    if not around or not all(isinstance(x, BufferBase) for x in tree.leaves(args)):
        return False, None
    for depth in reversed(range(len(around))):
        mapping = around[depth]
        axes: list[int | None] = []

        def resolve(x: Any, mapping: int = mapping, axes: list[Any] = axes) -> Any:
            whole, axis = fast.vmap_resolve(mapping, x)
            axes.append(None if axis == NO_AXIS else axis)
            return whole

        whole = tree.map(resolve, args)
        if all(axis is None for axis in axes):
            continue
        places = iter(axes)
        axes_tree = tree.map(lambda _, places=places: next(places), args)
        try:
            _here.open = around[:depth]
            result = rule(whole[0], axes_tree[0]) if len(args) == 1 else rule(whole, axes_tree)
        finally:
            _here.open = around
        if not isinstance(result, tuple) or len(result) != 2:
            raise ValueError("custom_function: a rule of vmap returns a tuple of the results and their axes")
        elements = iter(
            [fast.vmap_extend(mapping, x, NO_AXIS if axis is None else axis) for x, axis in _pair(*result, "a result")]
        )
        return True, tree.map(lambda _, elements=elements: next(elements), result[0])
    return False, None


def _pair(x: Any, axes: Any, what: str) -> list[tuple[BufferBase, int | None]]:
    """The arrays of a tree, each with its axis from a prefix of the tree."""
    children = tree.children_of(x)
    if children is None:
        if not isinstance(x, BufferBase):
            raise ValueError(f"vmap: {what} is {x!r}, but it must be an array or a tree of arrays")
        if axes is not None and not hasattr(axes, "__index__"):
            raise ValueError(f"vmap: the axis of {what} of shape {x.shape} is {axes!r}, but it must be int or None")
        return [(x, axes)]
    below = tree.children_of(axes)
    if below is None:
        parts = [axes] * len(children)
    elif isinstance(x, dict) and isinstance(axes, dict) and x.keys() == axes.keys():
        parts = [axes[key] for key in x]
    elif isinstance(x, (list, tuple)) and isinstance(axes, (list, tuple)) and len(x) == len(axes):
        parts = below
    else:
        raise ValueError(f"vmap: the axes {axes!r} are no prefix of a tree with {len(children)} branches, {what}")
    return [pair for child, part in zip(children, parts, strict=True) for pair in _pair(child, part, what)]
