"""JAX on the CPU, everything under jit."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from frameworks import Framework, Host


class Bench(Framework):
    def __init__(self) -> None:
        self.jax: Any = importlib.import_module("jax")
        super().__init__(importlib.import_module("jax.numpy"), self.jax.__version__)

    def bfloat16(self, x: Host) -> Any:
        return self.xp.asarray(x, dtype=self.xp.bfloat16)

    def host(self, x: Any) -> Host:
        return super().host(x.astype(self.xp.float32) if x.dtype == self.xp.bfloat16 else x)

    def compile(self, f: Callable[..., Any], *examples: Any) -> Callable[..., Any]:
        compiled: Callable[..., Any] = self.jax.jit(f)
        return compiled

    def wait(self, x: Any) -> Any:
        return self.jax.block_until_ready(x)

    def value_and_grad(self, f: Callable[..., Any], n: int) -> Callable[..., Any]:
        differentiated: Callable[..., Any] = self.jax.value_and_grad(f, tuple(range(n)))
        return differentiated

    def logsumexp(self, x: Any) -> Any:
        return self.jax.nn.logsumexp(x, axis=-1)

    def softmax(self, x: Any) -> Any:
        return self.jax.nn.softmax(x, axis=-1)

    def add_to_rows(self, x: Any, rows: Any, updates: Any) -> Any:
        return x.at[rows].add(updates)
