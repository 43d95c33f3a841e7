"""The values that a graph has so far, for choosing operands among them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Rng = np.random.Generator


class Pool:
    """The values drawn so far, by their shapes and dtypes."""

    def __init__(self, rng: Rng, most: int) -> None:
        self.rng, self.most = rng, most
        self.specs: list[tuple[tuple[int, ...], str]] = []

    def pick(self, dtypes: tuple[str, ...], fits: Callable[[tuple[int, ...]], bool] = lambda s: True) -> int | None:
        """A value, the later ones more often."""
        found = [i for i, (shape, dtype) in enumerate(self.specs) if dtype in dtypes and fits(shape)]
        if not found:
            return None
        return found[-1 - min(int(self.rng.exponential(4)), len(found) - 1)]

    def shape(self, i: int) -> tuple[int, ...]:
        return self.specs[i][0]

    def dtype(self, i: int) -> str:
        return self.specs[i][1]

    def partner(self, i: int, dtypes: tuple[str, ...]) -> int | None:
        """A value that broadcasts with another, mostly of its dtype."""
        same = (self.dtype(i),) if self.rng.random() < 0.85 and self.dtype(i) in dtypes else dtypes
        return self.pick(same, lambda s: self.joint(s, self.shape(i)))

    def joint(self, a: tuple[int, ...], b: tuple[int, ...]) -> bool:
        try:
            return math.prod(np.broadcast_shapes(a, b)) <= self.most
        except ValueError:
            return False
