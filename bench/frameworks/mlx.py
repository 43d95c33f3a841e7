"""MLX on its CPU device, and every module with the surface of mlx.core (pymx.py)."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable
from typing import Any

import numpy as np

from frameworks import Framework, Host


class Bench(Framework):
    def __init__(self, module: str = "mlx.core", distribution: str = "mlx") -> None:
        self.mx: Any = importlib.import_module(module)
        super().__init__(self.mx, importlib.metadata.version(distribution))
        self.mx.set_default_device(self.mx.cpu)

    def array(self, x: Host) -> Any:
        return self.wait(self.mx.array(x))

    def bfloat16(self, x: Host) -> Any:
        return self.wait(self.mx.array(x).astype(self.mx.bfloat16))

    def host(self, x: Any) -> Host:
        return np.array(x.astype(self.mx.float32) if x.dtype == self.mx.bfloat16 else x)

    def compile(self, f: Callable[..., Any], *examples: Any) -> Callable[..., Any]:
        compiled: Callable[..., Any] = self.mx.compile(f)
        return compiled

    def wait(self, x: Any) -> Any:
        self.mx.eval(x)
        return x

    def value_and_grad(self, f: Callable[..., Any], n: int) -> Callable[..., Any]:
        differentiated: Callable[..., Any] = self.mx.value_and_grad(f, tuple(range(n)))
        return differentiated

    def logsumexp(self, x: Any) -> Any:
        return self.mx.logsumexp(x, axis=-1)

    def softmax(self, x: Any) -> Any:
        return self.mx.softmax(x, axis=-1)

    def layer_norm(self, x: Any, weight: Any, bias: Any) -> Any:
        return self.mx.fast.layer_norm(x, weight, bias, 1e-5)

    def rms_norm(self, x: Any, weight: Any) -> Any:
        return self.mx.fast.rms_norm(x, weight, 1e-5)

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        return self.mx.addmm(bias, x, weight)

    def quantized_linear(self, x: Any, codes: Any, scales: Any, biases: Any) -> Any:
        return self.mx.quantized_matmul(x, codes, scales, biases, group_size=64, bits=4)

    def attention(self, q: Any, k: Any, v: Any) -> Any:
        return self.mx.fast.scaled_dot_product_attention(q, k, v, scale=q.shape[-1] ** -0.5)

    def add_to_rows(self, x: Any, rows: Any, updates: Any) -> Any:
        return x.at[rows].add(updates)
