"""Trees: nested lists, tuples, named tuples, dicts and registered types, with anything else as leaves.

None is a leaf that structures keep. A tree is walked in the order of its containers; dicts in insertion order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["flatten", "leaves", "map", "register", "unflatten"]

# type -> (children of an object, object from the original and new children)
_registered: dict[type, tuple[Callable[[Any], Iterable[Any]], Callable[[Any, Sequence[Any]], Any]]] = {}


def register(
    cls: type,
    children: Callable[[Any], Iterable[Any]],
    rebuild: Callable[[Any, Sequence[Any]], Any],
) -> None:
    """Makes objects of exactly this class inner nodes of trees: `children(x)` lists what is inside, `rebuild(x, new)`
    makes a like object with other children."""
    if not isinstance(cls, type):
        raise TypeError(f"register: expected a class, got {cls!r}")
    _registered[cls] = (children, rebuild)


def children_of(tree: Any) -> list[Any] | None:
    """What is inside a container, in order; None for a leaf."""
    cls = tree.__class__
    if cls is dict:
        return list(tree.values())
    if cls is list or cls is tuple:
        return list(tree)
    if cls in _registered:
        return list(_registered[cls][0](tree))
    if isinstance(tree, (list, tuple)):
        return list(tree)
    if isinstance(tree, dict):
        return list(tree.values())
    return None


def rebuild(tree: Any, children: Sequence[Any]) -> Any:
    """A container like `tree` with other children."""
    cls = tree.__class__
    if cls is list:
        return list(children)
    if cls is tuple:
        return tuple(children)
    if cls is dict:
        return dict(zip(tree, children, strict=True))
    if cls in _registered:
        return _registered[cls][1](tree, children)
    if isinstance(tree, tuple):
        return cls._make(children) if hasattr(cls, "_make") else cls(children)
    if isinstance(tree, list):
        return cls(children)
    import copy

    new = copy.copy(tree)  # a subclass of dict keeps what else it holds
    for key, child in zip(tree, children, strict=True):
        dict.__setitem__(new, key, child)
    return new


def map(f: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """The tree with f(leaf, *leaves at the same place of rest) for every leaf."""
    children = children_of(tree)
    if children is None:
        return f(tree, *rest)
    others = [children_of(r) for r in rest]
    for other in others:
        if other is None or len(other) != len(children):
            raise ValueError("tree.map: the trees have different structures")
    rows = [map(f, child, *(o[i] for o in others if o is not None)) for i, child in enumerate(children)]
    return rebuild(tree, rows)


def leaves(tree: Any) -> Iterator[Any]:
    """All leaves, from left to right."""
    stack = [tree]
    while stack:
        top = stack.pop()
        children = children_of(top)
        if children is None:
            yield top
        else:
            stack.extend(reversed(children))


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves, and a structure for unflatten."""
    found: list[Any] = []
    structure = map(found.append, tree)  # the tree with None for every leaf
    return found, structure


def unflatten(structure: Any, values: Iterable[Any]) -> Any:
    """The tree of this structure (from flatten) with these leaves."""
    source = iter(values)
    end = object()

    def take(_: Any) -> Any:
        value = next(source, end)
        if value is end:
            raise ValueError("tree.unflatten: too few leaves")
        return value

    tree = map(take, structure)
    if next(source, end) is not end:
        raise ValueError("tree.unflatten: too many leaves")
    return tree
