"""Reductions, and functions of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frameworks import Framework

from workloads import Function, Workload, normal

_BIG, _SMALL = (4096, 4096), (1024, 256)
_BYTES = 4 * 4096 * 4096


def _reduction(op: str, axis: int | None) -> Callable[[Framework, int], Function]:
    def make(f: Framework, variant: int) -> Function:
        reduce = getattr(f, op)
        return lambda x: reduce(x, axis)

    return make


def _logsumexp(f: Framework, variant: int) -> Function:
    logsumexp = f.logsumexp
    return lambda x: logsumexp(x)


def _sum_exp_square(f: Framework, variant: int) -> Function:
    def run(x: Any, y: Any) -> Any:
        e = f.exp(x - y)
        return f.sum(e * e, -1)

    return run


def _softmax(f: Framework, variant: int) -> Function:
    softmax = f.softmax
    return lambda x: softmax(x)


def _layer_norm(f: Framework, variant: int) -> Function:
    layer_norm = f.layer_norm
    return lambda x, weight, bias: layer_norm(x, weight, bias)


def _rms_norm(f: Framework, variant: int) -> Function:
    rms_norm = f.rms_norm
    return lambda x, weight: rms_norm(x, weight)


def _named(shape: tuple[int, int]) -> str:
    return f"{shape[0]}x{shape[1]}"


WORKLOADS = [
    Workload(
        f"{op} of {what}, 4096x4096",
        normal(_BIG, mean=0.5),
        _reduction(op, axis),
        n_bytes=_BYTES,
        tolerance=1e-4,
        is_long=op == "mean",
    )
    for op in ("sum", "mean", "max")
    for what, axis in (("rows", -1), ("columns", 0), ("all", None))
]
WORKLOADS += [
    Workload("var of rows, 4096x4096", normal(_BIG, mean=0.5), _reduction("var", -1), n_bytes=_BYTES, tolerance=1e-4),
    Workload("logsumexp of rows, 4096x4096", normal(_BIG), _logsumexp, n_bytes=_BYTES),
    Workload("sum(exp(x-y)^2) of rows, 4096x4096", normal(_BIG, _BIG), _sum_exp_square, n_bytes=2 * _BYTES),
]
for _shape in (_SMALL, _BIG):
    _width, _traffic = (_shape[1],), 2 * _BYTES if _shape == _BIG else 0
    WORKLOADS += [
        Workload(f"softmax, {_named(_shape)}", normal(_shape), _softmax, n_bytes=_traffic),
        Workload(f"layer norm, {_named(_shape)}", normal(_shape, _width, _width), _layer_norm, n_bytes=_traffic),
        Workload(f"rms norm, {_named(_shape)}", normal(_shape, _width), _rms_norm, n_bytes=_traffic),
    ]
