"""vmap: a function of one element that becomes a function of many (mx/vmap.h)."""

from __future__ import annotations

import functools

from . import tree
from ._ffi import NO_AXIS, BufferBase, fast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ParamSpec, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")

__all__ = ["vmap"]


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
        try:
            elements = iter(fast.vmap_inputs(mapping))
            result: Any = fun(*tree.map(lambda _: next(elements), args))  # type: ignore[call-arg]
            axes = out_axes
            if isinstance(result, BufferBase) and isinstance(axes, tuple) and len(axes) == 1:
                axes = axes[0]
            pairs = _pair(result, axes, "a result")
            arrays = [x for x, _ in pairs]
            whole = iter(fast.vmap_finish(mapping, arrays, [-1 if axis is None else axis for _, axis in pairs]))
            return tree.map(lambda _: next(whole), result)
        finally:
            fast.vmap_end(mapping)

    return mapped  # type: ignore[return-value]


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
