"""The workloads, one module per family, each written once against the interface in frameworks/__init__.py.

Every module here has WORKLOADS; their order is the order of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from frameworks import Framework, Host

Function = Callable[..., Any]


@dataclass(frozen=True)
class Workload:
    """A piece of work. `function(framework, variant)` makes the function to run; `inputs` makes its arguments."""

    name: str
    inputs: Callable[[np.random.Generator], list[Host]]
    function: Callable[[Framework, int], Function]
    how: str = "call"
    """call    compiled once, called and evaluated
    eager   not compiled, evaluated
    build   not compiled, not evaluated: what a lazy framework does before any work, all of it for others
    first   compiled afresh in every sample, as another variant: the first call of a function, to its result"""
    is_busy: bool = False  # beside a Python thread that never lets go of the GIL by itself
    is_bfloat16: bool = False
    is_long: bool = False  # left out by --quick
    reference: Function | None = None  # of float64 inputs; by default `function` itself, with NumPy
    tolerance: float = 1e-5  # largest |x - reference| / (|reference| + mean |reference|)
    n_bytes: float = 0  # memory traffic that cannot be avoided, where it is what limits
    flops: float = 0  # float32 operations that cannot be avoided, where they are what limits


def normal(*shapes: tuple[int, ...], mean: float = 0.0) -> Callable[[np.random.Generator], list[Host]]:
    """Inputs: float32 arrays of normal numbers."""
    return lambda rng: [rng.standard_normal(shape, dtype=np.float32) + np.float32(mean) for shape in shapes]


def all_workloads() -> list[Workload]:
    from workloads import calls, elementwise, matmul, model, movement, quantize, rows, training

    modules = (calls, elementwise, rows, matmul, quantize, model, training, movement)
    return [workload for module in modules for workload in module.WORKLOADS]
