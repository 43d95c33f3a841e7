"""Fused elementwise functions, from cache to memory."""

from __future__ import annotations

from typing import Any

from frameworks import Framework

from workloads import Function, Workload, normal

_STEPS = [(1.01, -0.5), (0.97, -0.4), (1.03, -0.3), (0.95, -0.2), (1.02, -0.1), (0.99, 0.05)]


def _gelu(f: Framework, variant: int) -> Function:
    tanh = f.tanh
    return lambda x: 0.5 * x * (1 + tanh(0.79788456 * (x + 0.044715 * x * x * x)))


def _mix(f: Framework, variant: int) -> Function:
    exp, sin = f.exp, f.sin
    return lambda x, y, z: exp(-x * x) * sin(y) + z


def _chain(f: Framework, variant: int) -> Function:
    maximum = f.maximum

    def run(x: Any, y: Any) -> Any:
        t = x
        for a, b in _STEPS:
            t = maximum(t * a + y, b)
        return (t - x) * 0.5

    return run


_FUNCTIONS = [("gelu", _gelu, 1), ("exp(-x*x)*sin(y)+z", _mix, 3), ("20-op chain", _chain, 2)]
_SIZES = [("1e5", 100_000), ("1e6", 1_000_000), ("2e7", 20_000_000)]

WORKLOADS = [
    Workload(
        f"{name}, {size}",
        normal(*[(n,)] * n_inputs),
        function,
        is_long=n > 1_000_000,
        n_bytes=4 * n * (n_inputs + 1) if n > 1_000_000 else 0,
    )
    for name, function, n_inputs in _FUNCTIONS
    for size, n in _SIZES
]
