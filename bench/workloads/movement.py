"""Moving elements: gather, scatter-add, sort, scan."""

from __future__ import annotations

import numpy as np
from frameworks import Framework, Host

from workloads import Function, Workload, normal


def _take_rows(f: Framework, variant: int) -> Function:
    take_rows = f.take_rows
    return lambda x, rows: take_rows(x, rows)


def _add_to_rows(f: Framework, variant: int) -> Function:
    add_to_rows = f.add_to_rows
    return lambda x, rows, updates: add_to_rows(x, rows, updates)


def _sort(f: Framework, variant: int) -> Function:
    sort = f.sort
    return lambda x: sort(x)


def _cumsum(f: Framework, variant: int) -> Function:
    cumsum = f.cumsum
    return lambda x: cumsum(x)


def _table_and_rows(rng: np.random.Generator) -> list[Host]:
    return [rng.standard_normal((50_000, 384), dtype=np.float32), rng.integers(0, 50_000, 4096, dtype=np.int32)]


def _table_and_updates(rng: np.random.Generator) -> list[Host]:
    table = rng.standard_normal((10_000, 128), dtype=np.float32)
    updates = rng.standard_normal((16_384, 128), dtype=np.float32)
    return [table, rng.integers(0, 10_000, 16_384, dtype=np.int32), updates]


WORKLOADS = [
    Workload("gather 4096x384", _table_and_rows, _take_rows),
    Workload("scatter-add 16384x128", _table_and_updates, _add_to_rows),
    Workload("sort 1e6", normal((1_000_000,)), _sort),
    Workload("cumsum 1e6", normal((1_000_000,), mean=0.5), _cumsum, tolerance=1e-3),
]
