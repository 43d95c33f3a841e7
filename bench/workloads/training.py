"""One step of training a small network: the loss, its gradient, and the weights one step further."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from frameworks import Framework, Host

from workloads import Function, Workload

SIZES, BATCH, RATE = (784, 512, 512, 10), 64, 1e-2
N_PARAMETERS = 2 * (len(SIZES) - 1)


def _loss(f: Framework) -> Function:
    def loss(*args: Any) -> Any:
        *parameters, x, y = args
        for i in range(0, N_PARAMETERS - 2, 2):
            x = f.maximum(f.linear(x, parameters[i], parameters[i + 1]), 0.0)
        error = f.linear(x, parameters[-2], parameters[-1]) - y
        return f.mean(error * error)

    return loss


def _step(f: Framework, variant: int) -> Function:
    value_and_grad = f.value_and_grad(_loss(f), N_PARAMETERS)

    def step(*args: Any) -> Any:
        loss, gradients = value_and_grad(*args)
        return loss, *(p - RATE * g for p, g in zip(args, gradients, strict=False))

    return step


def _by_hand(*args: Host) -> Host:
    """The same step, differentiated with pen and paper."""
    *parameters, x, y = args
    layers = [x]
    for i in range(0, N_PARAMETERS, 2):
        x = layers[-1] @ parameters[i] + parameters[i + 1]
        layers.append(x if i == N_PARAMETERS - 2 else np.maximum(x, 0))
    error = layers.pop() - y
    upstream = 2 * error / error.size
    gradients: list[Host] = []
    for i in reversed(range(0, N_PARAMETERS, 2)):
        below = layers.pop()
        gradients = [below.T @ upstream, upstream.sum(0), *gradients]
        upstream = upstream @ parameters[i].T * (below > 0)
    stepped = [p - RATE * g for p, g in zip(parameters, gradients, strict=True)]
    return np.concatenate([np.ravel(a) for a in (np.mean(error * error), *stepped)])


def _inputs(rng: np.random.Generator) -> list[Host]:
    arrays = []
    for n, m in pairwise(SIZES):
        arrays += [rng.standard_normal((n, m), dtype=np.float32) * np.float32(n**-0.5)]
        arrays += [rng.standard_normal(m, dtype=np.float32) * np.float32(0.02)]
    return [*arrays, *(rng.standard_normal((BATCH, n), dtype=np.float32) for n in (SIZES[0], SIZES[-1]))]


# Forward once, backward twice but for the first layer's input.
_FLOPS = 2 * BATCH * (3 * sum(n * m for n, m in pairwise(SIZES)) - SIZES[0] * SIZES[1])

WORKLOADS = [Workload("MLP training step", _inputs, _step, reference=_by_hand, flops=_FLOPS, tolerance=1e-4)]
