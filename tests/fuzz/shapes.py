"""How ops that move elements are drawn: shapes, views, joining, indices; and what NumPy does for some."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from graph import Step
from pool import Pool
from values import ALL, FLOATS, INTEGERS


def draw_reshape(pool: Pool, name: str) -> Step | None:
    x = pool.pick(ALL)
    if x is None:
        return None
    n, rng = math.prod(pool.shape(x)), pool.rng
    sizes: list[int] = []
    left = n
    while left > 1 and len(sizes) < 3:
        divisors = [d for d in range(1, left + 1) if left % d == 0] if left < 5000 else [left]
        sizes.append(int(rng.choice(divisors)))
        left //= sizes[-1]
    shape = [*sizes, left]
    if n and rng.random() < 0.5:
        shape[int(rng.integers(len(shape)))] = -1
    return Step(name, (x,), (tuple(shape),))


def draw_transpose(pool: Pool, name: str) -> Step | None:
    x = pool.pick(ALL, lambda s: len(s) >= 2)
    if x is None:
        return None
    return Step(name, (x,), (tuple(int(a) for a in pool.rng.permutation(len(pool.shape(x)))),))


def draw_broadcast(pool: Pool, name: str) -> Step | None:
    x = pool.pick(ALL, lambda s: math.prod(s) * 6 <= pool.most)
    if x is None:
        return None
    shape = [int(pool.rng.integers(1, 4)) if s == 1 else s for s in pool.shape(x)]
    return Step(name, (x,), (tuple(([2] if pool.rng.random() < 0.3 else []) + shape),))


def draw_expand(pool: Pool, name: str) -> Step | None:
    x = pool.pick(ALL, lambda s: len(s) < 5)
    return None if x is None else Step(name, (x,), (), (("axis", int(pool.rng.integers(0, len(pool.shape(x)) + 1))),))


def draw_squeeze(pool: Pool, name: str) -> Step | None:
    x = pool.pick(ALL, lambda s: 1 in s)
    return None if x is None else Step(name, (x,), (), (("axis", pool.shape(x).index(1)),))


def draw_getitem(pool: Pool, name: str) -> Step | None:
    x = pool.pick(ALL, lambda s: len(s) >= 1)
    if x is None:
        return None
    rng, key = pool.rng, []
    for size in pool.shape(x):
        kind = rng.random()
        if kind < 0.2 and size:
            key.append(int(rng.integers(-size, size)))
        elif kind < 0.4:
            key.append((None, None, int(rng.choice([-2, -1, 2]))))
        elif kind < 0.6:
            low = int(rng.integers(0, size + 1))
            key.append((low, int(rng.integers(low, size + 2)), None))
        else:
            key.append((None, None, None))
    return Step(name, (x,), tuple(key))


def subscript(x: list[np.ndarray], args: tuple[Any, ...], kwargs: dict[str, Any]) -> np.ndarray:
    return x[0][tuple(slice(*k) if isinstance(k, tuple) else k for k in args)]


def draw_list(pool: Pool, name: str) -> Step | None:
    x = pool.pick(ALL, lambda s: len(s) >= 1 and math.prod(s) * 3 <= pool.most)
    if x is None:
        return None
    shape, n = pool.shape(x), len(pool.shape(x)) + (name == "stack")
    others = [pool.pick((pool.dtype(x),), lambda s: s == shape) for _ in range(int(pool.rng.integers(0, 3)))]
    return Step(name, (x, *(i for i in others if i is not None)), (), (("axis", int(pool.rng.integers(-n, n))),))


def draw_take(pool: Pool, name: str) -> Step | None:
    x = pool.pick(ALL, lambda s: len(s) >= 1 and math.prod(s) * 3 <= pool.most and min(s) > 0)
    if x is None:
        return None
    rng, shape = pool.rng, pool.shape(x)
    axis = int(rng.integers(len(shape)))
    indices = rng.integers(-shape[axis], shape[axis], size=int(rng.integers(0, 7))).tolist()
    return Step(name, (x,), (indices or [0],), (("axis", axis),))


def draw_pad(pool: Pool, name: str) -> Step | None:
    x = pool.pick(ALL, lambda s: len(s) >= 1 and math.prod(n + 3 for n in s) <= pool.most)
    if x is None:
        return None
    widths = tuple((int(a), int(b)) for a, b in pool.rng.integers(0, 3, (len(pool.shape(x)), 2)))
    return Step(name, (x,), (widths,))


def draw_roll(pool: Pool, name: str) -> Step | None:
    x = pool.pick(ALL, lambda s: len(s) >= 1)
    if x is None:
        return None
    return Step(name, (x,), (int(pool.rng.integers(-5, 6)), int(pool.rng.integers(len(pool.shape(x))))))


def draw_repeat(pool: Pool, name: str) -> Step | None:
    x = pool.pick(ALL, lambda s: len(s) >= 1 and math.prod(s) * 3 <= pool.most)
    if x is None:
        return None
    return Step(name, (x,), (int(pool.rng.integers(0, 4)),), (("axis", int(pool.rng.integers(len(pool.shape(x))))),))


def draw_at_add(pool: Pool, name: str) -> Step | None:
    x = pool.pick(INTEGERS, lambda s: len(s) >= 1 and s[0] > 0)
    if x is None:
        return None
    shape = pool.shape(x)
    y = pool.pick((pool.dtype(x),), lambda s: s == shape[1:])
    n = int(pool.rng.integers(1, 5))
    return None if y is None else Step(name, (x, y), (pool.rng.integers(0, shape[0], n).tolist(),))


def at_add(x: list[np.ndarray], args: tuple[Any, ...], kwargs: dict[str, Any]) -> np.ndarray:
    out = x[0].copy()
    np.add.at(out, np.array(args[0]), x[1])
    return out


def draw_slice_update(pool: Pool, name: str) -> Step | None:
    x = pool.pick(ALL, lambda s: len(s) >= 1 and min(s) > 0)
    if x is None:
        return None
    shape = pool.shape(x)
    y = pool.pick(
        (pool.dtype(x),), lambda s: len(s) == len(shape) and all(a <= b for a, b in zip(s, shape, strict=True))
    )
    if y is None:
        return None
    start = [int(pool.rng.integers(0, n - m + 1)) for n, m in zip(shape, pool.shape(y), strict=True)]
    return Step(name, (x, y), (start, tuple(range(len(shape)))))


def slice_update(x: list[np.ndarray], args: tuple[Any, ...], kwargs: dict[str, Any]) -> np.ndarray:
    out = x[0].copy()
    out[tuple(slice(at, at + n) for at, n in zip(args[0], x[1].shape, strict=True))] = x[1]
    return out


def draw_norm(pool: Pool, name: str) -> Step | None:
    x = pool.pick(FLOATS, lambda s: len(s) >= 1 and math.prod(s) > 0)
    if x is None:
        return None
    weight = pool.pick((pool.dtype(x),), lambda s: s == pool.shape(x)[-1:])
    return None if weight is None else Step(name, (x, weight), (0.125,))


def draw_half(pool: Pool, name: str) -> Step | None:
    x = pool.pick(ALL, lambda s: any(n % 2 == 0 for n in s))
    if x is None:
        return None
    return Step(name, (x,), (next(a for a, n in enumerate(pool.shape(x)) if n % 2 == 0),))


def draw_tri(pool: Pool, name: str) -> Step | None:
    x = pool.pick(ALL, lambda s: len(s) >= 2)
    return None if x is None else Step(name, (x,), (), (("k", int(pool.rng.integers(-2, 3))),))


def draw_softmax(pool: Pool, name: str) -> Step | None:
    x = pool.pick(FLOATS, lambda s: len(s) >= 1 and math.prod(s) > 0)
    return None if x is None else Step(name, (x,), (), (("axis", int(pool.rng.integers(-len(pool.shape(x)), 0))),))
