"""PyTorch under torch.compile; needs a C++ compiler at run time."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from frameworks import Unsupported, torch


class Bench(torch.Bench):
    compiles = True

    def __init__(self) -> None:
        super().__init__()
        config: Any = importlib.import_module("torch._dynamo").config
        config.recompile_limit = 1024  # every workload is a new function with the same code
        config.accumulated_recompile_limit = 4096

    def compile(self, f: Callable[..., Any], *examples: Any) -> Callable[..., Any]:
        compiled: Callable[..., Any] = self.torch.compile(f, dynamic=False)
        return compiled

    def value_and_grad(self, f: Callable[..., Any], n: int) -> Callable[..., Any]:
        raise Unsupported("compiles no function that differentiates inside")
