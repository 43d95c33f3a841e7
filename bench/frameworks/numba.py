"""Numba: the expression becomes a loop, on all threads where that pays, with fastmath as its users write it."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from frameworks import expression

PARALLEL = 10_000  # elements: below, starting threads costs more than they save


class Bench(expression.Tracing):
    def __init__(self) -> None:
        self.numba: Any = importlib.import_module("numba")
        super().__init__(self.numba.__version__)

    def compile(self, f: Callable[..., Any], *examples: Any) -> Callable[..., Any]:
        arguments, text, constants = expression.trace(f)
        names: dict[str, Any] = {name: np.float32(value) for name, value in constants.items()}
        names |= {"exp": math.exp, "sin": math.sin, "tanh": math.tanh, "maximum": max}
        names |= {"empty_like": np.empty_like, "prange": self.numba.prange}
        element = re.sub(r"\b(a\d+)\b", r"\1[i]", text)
        exec(
            f"def loop({', '.join(arguments)}):\n"
            f"    out = empty_like({arguments[0]})\n"
            f"    for i in prange(out.size):\n"
            f"        out[i] = {element}\n"
            f"    return out\n",
            names,
        )
        compiled: Callable[..., Any] = self.numba.njit(fastmath=True, parallel=examples[0].size >= PARALLEL)(
            names["loop"]
        )
        return compiled
