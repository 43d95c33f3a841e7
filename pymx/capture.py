"""Captured state of compiled functions: containers whose arrays are hidden arguments or results (compile.py).

While a function is traced, the arrays in its captured containers are replaced by placeholders, in the containers
themselves; whatever happens, what was there before comes back, and only then are results written. So that no other
thread ever sees or takes a placeholder, a call owns every mutable container that it captures from before it reads them
until after it wrote. All are claimed at once or none: calls that capture other containers do not wait for each other,
and no two can wait for each other."""

from __future__ import annotations

import sys
from _thread import LockType, allocate_lock, get_ident
from collections.abc import Iterator

from . import lifecycle, tree
from ._ffi import BufferBase, fast
from .errors import RuntimeClosedError, TraceError
from .random import _RandomState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["HOLE", "Claim", "Substitution", "containers", "refill"]

_SLICE = 0.05  # seconds

_lock = allocate_lock()  # of the three below
_waiters: list[LockType] = []  # each held until containers become free
_owners: dict[int, tuple[int, int]] = {}  # id of a container -> (thread, how often it is claimed)
_substitutions: dict[int, list[Substitution]] = {}  # thread -> those that are open


class _Hole:
    """The place of an array in a structure."""

    def __repr__(self) -> str:
        return "array"


class _RandomHole:
    """The place of random.state in a structure."""

    def __repr__(self) -> str:
        return "random.state"


HOLE, RANDOM_HOLE = _Hole(), _RandomHole()


# ---- ownership


def containers(*trees: Any) -> list[Any]:
    """The mutable containers in the trees, each once."""
    found: dict[int, Any] = {}
    stack = list(trees)
    while stack:
        top = stack.pop()
        if isinstance(top, (BufferBase, str, float, int)):  # most leaves, without a closer look
            continue
        if isinstance(top, (dict, list)):
            if id(top) in found:
                continue
            found[id(top)] = top
        children = tree.children_of(top)
        if children:
            stack.extend(children)
    return list(found.values())


class Claim:
    """As a context manager: owns the mutable containers in the trees."""

    __slots__ = ("_ids", "_kept", "_trees")

    def __init__(self, *trees: Any) -> None:
        self._trees = trees
        self._ids: list[int] = []
        self._kept: list[Any] = []

    def __enter__(self) -> None:
        while True:
            self._kept = containers(*self._trees)
            self._ids = [id(x) for x in self._kept]
            _claim(self._ids)
            if [id(x) for x in containers(*self._trees)] == self._ids:
                return
            _release(self._ids)  # the owner before put other containers in

    def __exit__(self, *exception: object) -> None:
        _release(self._ids)


def _claim(ids: list[int]) -> None:
    me = get_ident()
    while True:
        with _lock:
            taken = next((i for i in ids if i in _owners and _owners[i][0] != me), None)
            if taken is None:
                for i in ids:
                    _owners[i] = (me, _owners[i][1] + 1 if i in _owners else 1)
                return
            owner = _owners[taken][0]
            if any(thread == me for thread, _ in _owners.values()):
                raise TraceError("a compiled call would wait for captured state while its thread holds other state")
            if owner not in sys._current_frames():
                raise TraceError("captured state is held by a thread that has ended inside a compiled call")
            if fast.runtime_state() >= 2:
                raise RuntimeClosedError("the runtime closed while a compiled call waited for captured state")
            waiter = allocate_lock()
            waiter.acquire()
            _waiters.append(waiter)
        waiter.acquire(timeout=_SLICE)


def _release(ids: list[int]) -> None:
    with _lock:
        for i in ids:
            thread, count = _owners[i]
            if count > 1:
                _owners[i] = (thread, count - 1)
            else:
                del _owners[i]
        for waiter in _waiters:
            waiter.release()
        _waiters.clear()


# ---- placeholders


class Substitution:
    """Placeholders in the captured containers, from `open` to `close`, which puts back what was there."""

    __slots__ = ("_key", "_saved")

    def __init__(self, *trees: Any) -> None:
        self._saved = [(x, dict(x) if isinstance(x, dict) else list(x)) for x in containers(*trees)]
        # a captured random.state stands for this thread's key
        self._key = fast.random_get_state() if any(isinstance(x, _RandomState) for x in tree.leaves(trees)) else None

    def open(self, captured: Any, placeholders: Iterator[BufferBase]) -> None:
        _substitutions.setdefault(get_ident(), []).append(self)
        self._put(captured, placeholders)

    def _put(self, x: Any, placeholders: Iterator[BufferBase]) -> Any:
        if isinstance(x, BufferBase):
            return next(placeholders)
        if isinstance(x, _RandomState):
            fast.random_set_state(next(placeholders))
            return x
        children = tree.children_of(x)
        if children is None:
            return x
        new = [self._put(child, placeholders) for child in children]
        if all(a is b for a, b in zip(new, children, strict=True)):
            return x
        if isinstance(x, dict):
            for key, child in zip(list(x), new, strict=True):
                dict.__setitem__(x, key, child)
            return x
        if isinstance(x, list):
            list.__setitem__(x, slice(None), new)
            return x
        return tree.rebuild(x, new)

    def close(self) -> None:
        mine = _substitutions.get(get_ident(), [])
        if self in mine:
            mine.remove(self)
            if not mine:
                _substitutions.pop(get_ident(), None)
        self.restore()
        if self._key is not None:
            fast.random_set_state(self._key)

    def restore(self) -> None:
        for x, saved in self._saved:
            if isinstance(x, dict) and isinstance(saved, dict):
                if len(x) != len(saved) or any(dict.get(x, k) is not v for k, v in saved.items()):
                    dict.clear(x)
                    dict.update(x, saved)
            else:
                list.__setitem__(x, slice(None), saved)


# ---- results


def structure_of(x: Any, arrays: list[BufferBase]) -> Any:
    """The tree with a hole for every array, which goes to `arrays`."""
    if isinstance(x, BufferBase):
        arrays.append(x)
        return HOLE
    if isinstance(x, _RandomState):
        arrays.append(fast.random_get_state())
        return RANDOM_HOLE
    children = tree.children_of(x)
    if children is None:
        return x
    return tree.rebuild(x, [structure_of(child, arrays) for child in children])


def refill(target: Any, structure: Any, values: Iterator[BufferBase]) -> Any:
    """A captured tree as the structure says: containers that are there are filled in place."""
    if structure is HOLE:
        return next(values)
    if structure is RANDOM_HOLE:
        fast.random_set_state(next(values))
        return target
    children = tree.children_of(structure)
    if children is None:
        return structure
    same = isinstance(target, type(structure))
    if isinstance(structure, dict):
        old = target if same else {}
        new = {k: refill(old.get(k), v, values) for k, v in zip(structure, children, strict=True)}
        if not same:
            return tree.rebuild(structure, list(new.values()))
        dict.update(target, new)
        return target
    old_items = tree.children_of(target) if same else None
    before = [*(old_items or []), *[None] * len(children)]
    items = [refill(o, s, values) for o, s in zip(before, children, strict=False)]
    if same and isinstance(target, list):
        list.__setitem__(target, slice(None), items)
        return target
    return tree.rebuild(structure, items)


def removed_keys(before: Any, after: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of dict keys that were in a captured tree and are not any more."""
    if isinstance(before, dict) and isinstance(after, dict):
        gone = [(*path, k) for k in before if k not in after]
        kept = [k for k in before if k in after]
        return gone + [p for k in kept for p in removed_keys(before[k], after[k], (*path, k))]
    if isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        rows = zip(before, after, strict=False)
        return [p for i, (a, b) in enumerate(rows) for p in removed_keys(a, b, (*path, i))]
    return []


def remove(x: Any, path: tuple[Any, ...]) -> None:
    """Removes the key at a path, if it is there."""
    for step in path[:-1]:
        try:
            x = x[step]
        except (KeyError, IndexError):
            return
    if isinstance(x, dict) and path[-1] in x:
        dict.__delitem__(x, path[-1])


def shape_of(x: Any) -> Any:
    """The containers of a tree alone, to see later which keys went."""
    if isinstance(x, dict):
        return {k: shape_of(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [shape_of(v) for v in x]
    return None


@lifecycle.after_fork
def _after_fork() -> None:
    global _lock
    me = get_ident()
    _lock = allocate_lock()
    _waiters.clear()
    for thread, open_ones in list(_substitutions.items()):
        if thread != me:
            for one in reversed(open_ones):
                one.restore()
            del _substitutions[thread]
    for i in [i for i, (thread, _) in _owners.items() if thread != me]:
        del _owners[i]
