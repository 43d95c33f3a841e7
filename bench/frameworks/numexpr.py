"""numexpr: the expression is parsed once and evaluated again; constants are float32, else the result would widen."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from frameworks import expression


class Bench(expression.Tracing):
    def __init__(self) -> None:
        self.numexpr: Any = importlib.import_module("numexpr")
        self.numexpr.set_num_threads(int(os.environ["NUMEXPR_NUM_THREADS"]))
        super().__init__(self.numexpr.__version__)

    def compile(self, f: Callable[..., Any], *examples: Any) -> Callable[..., Any]:
        arguments, text, constants = expression.trace(f)
        values: dict[str, Any] = {name: np.float32(value) for name, value in constants.items()}
        again = self.numexpr.re_evaluate
        values.update(zip(arguments, examples, strict=True))
        self.numexpr.evaluate(text, local_dict=values)

        def call(*args: Any) -> Any:
            values.update(zip(arguments, args, strict=True))
            return again(local_dict=values)

        return call
