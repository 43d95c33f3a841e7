"""Matrix products. Arguments in bfloat16 are rounded for the reference, too."""

from __future__ import annotations

from frameworks import Framework

from workloads import Function, Workload, normal


def _matmul(f: Framework, variant: int) -> Function:
    return lambda a, b: a @ b


WORKLOADS = [
    Workload(f"sgemm {n}", normal((n, n), (n, n)), _matmul, flops=2 * n**3, is_long=n > 1024, tolerance=1e-4)
    for n in (64, 256, 1024, 2048)
]
WORKLOADS += [
    Workload("sgemm 128 x 64", normal((128, 64, 64), (128, 64, 64)), _matmul, flops=128 * 2 * 64**3, tolerance=1e-4),
    Workload("sgemv 4096", normal((4096, 4096), (4096,)), _matmul, n_bytes=4 * 4096**2, tolerance=1e-4),
    Workload("bf16 gemm 1024", normal((1024, 1024), (1024, 1024)), _matmul, is_bfloat16=True, tolerance=0.02),
]
