"""Products with packed matrices of 4 bits: one row, as when a model writes word by word, and many, as when it reads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from frameworks import Framework, Host

from workloads import Function, Workload


def _quantized_linear(f: Framework, variant: int) -> Function:
    linear = f.quantized_linear
    return lambda x, codes, scales, biases: linear(x, codes, scales, biases)


def _packed(rows: int, n: int, k: int) -> Callable[[np.random.Generator], list[Host]]:
    def inputs(rng: np.random.Generator) -> list[Host]:
        x = rng.standard_normal((rows, k), dtype=np.float32)
        codes = rng.integers(0, 2**32, (n, k // 8), dtype=np.uint32)
        scales = rng.uniform(0.005, 0.01, (n, k // 64)).astype(np.float32)
        return [x, codes, scales, -8 * scales]

    return inputs


WORKLOADS = [
    Workload("q4 gemv 4096", _packed(1, 4096, 4096), _quantized_linear, n_bytes=4096**2 * 5 / 8, tolerance=1e-4),
    Workload("q4 gemm 64x4096", _packed(64, 4096, 4096), _quantized_linear, flops=2 * 64 * 4096**2, tolerance=1e-4),
]
