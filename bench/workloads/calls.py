"""What calls cost: the smallest work, alone and beside a busy Python thread, and the first call of a function."""

from __future__ import annotations

from typing import Any

from frameworks import Framework

from workloads import Function, Workload, normal


def _affine(f: Framework, variant: int) -> Function:
    return lambda x: x * 2 + 1


def _add(f: Framework, variant: int) -> Function:
    return lambda a, b: a + b


def _chain(f: Framework, variant: int) -> Function:
    def run(x: Any, y: Any) -> Any:
        for _ in range(1000):
            x = x + y
        return x

    return run


def _fifty_ops(f: Framework, variant: int) -> Function:
    """51 ops; variants differ in constants alone, so that no cache of a framework knows them."""
    exp, maximum, step = f.exp, f.maximum, 0.01 + variant * 1e-6

    def run(x: Any) -> Any:
        t = x
        for i in range(16):
            t = maximum(t * (1 + step * i) + x, -0.1 * i)
        return exp(t * -0.1) + x

    return run


WORKLOADS = [
    Workload("compiled call, 1 element", normal((1,)), _affine),
    Workload("compiled call, 1 element, busy", normal((1,)), _affine, is_busy=True),
    Workload("a + b, 1 element", normal((1,), (1,)), _add, how="build"),
    Workload("a + b, 1 element, busy", normal((1,), (1,)), _add, how="build", is_busy=True),
    Workload("a + b, 1 element, evaluated", normal((1,), (1,)), _add, how="eager"),
    Workload("1000 adds of 10 elements", normal((10,), (10,)), _chain, how="eager", tolerance=1e-4),
    Workload("first call of 51 ops, 1000", normal((1000,)), _fifty_ops, how="first"),
]
