"""The forward pass of a network of MiniLM's shape (6 layers, 12 heads, 384 wide) with random weights, 128 tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from frameworks import Framework, Host

from workloads import Function, Workload

LAYERS, HEADS, WIDTH, INNER, TOKENS = 6, 12, 384, 1536, 128
PER_LAYER = 16


def _layer(f: Framework, x: Any, p: tuple[Any, ...]) -> Any:
    batch, tokens, width = x.shape
    split = (batch, tokens, HEADS, width // HEADS)
    q, k, v = (f.permute(f.linear(x, p[i], p[i + 1]).reshape(split), (0, 2, 1, 3)) for i in (0, 2, 4))
    attended = f.permute(f.attention(q, k, v), (0, 2, 1, 3)).reshape(batch, tokens, width)
    x = f.layer_norm(x + f.linear(attended, p[6], p[7]), p[8], p[9])
    inner = f.gelu(f.linear(x, p[10], p[11]))
    return f.layer_norm(x + f.linear(inner, p[12], p[13]), p[14], p[15])


def _forward(f: Framework, variant: int) -> Function:
    def run(x: Any, *parameters: Any) -> Any:
        for i in range(LAYERS):
            x = _layer(f, x, parameters[i * PER_LAYER : (i + 1) * PER_LAYER])
        return x

    return run


def _inputs(batch: int) -> Callable[[np.random.Generator], list[Host]]:
    sizes = [(WIDTH, WIDTH)] * 4 + [(WIDTH, INNER), (INNER, WIDTH)]

    def make(rng: np.random.Generator) -> list[Host]:
        arrays = [rng.standard_normal((batch, TOKENS, WIDTH), dtype=np.float32)]
        for _ in range(LAYERS):
            for i, (n, m) in enumerate(sizes):
                arrays.append(rng.standard_normal((n, m), dtype=np.float32) * np.float32(n**-0.5))
                arrays.append(rng.standard_normal(m, dtype=np.float32) * np.float32(0.02))
                if i in (3, 5):
                    arrays += [np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)]
        return arrays

    return make


_FLOPS = LAYERS * TOKENS * 2 * (4 * WIDTH * WIDTH + 2 * WIDTH * INNER + 2 * TOKENS * WIDTH)

WORKLOADS = [
    Workload(f"MiniLM forward, batch {n}", _inputs(n), _forward, flops=n * _FLOPS, is_long=n > 1, tolerance=1e-4)
    for n in (1, 8)
]
