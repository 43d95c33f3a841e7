"""PyTorch, eager, and every other way to run it (inductor.py)."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from frameworks import Axis, Framework, Host


class Bench(Framework):
    compiles = False

    def __init__(self) -> None:
        self.torch: Any = importlib.import_module("torch")
        self.nn: Any = importlib.import_module("torch.nn.functional")
        super().__init__(self.torch, self.torch.__version__)
        self.maximum = lambda a, b: self.torch.clamp_min(a, b) if isinstance(b, float) else self.torch.maximum(a, b)
        self.torch.set_grad_enabled(False)

    def array(self, x: Host) -> Any:
        return self.torch.from_numpy(np.array(x))  # a copy: the host's may be read-only

    def bfloat16(self, x: Host) -> Any:
        return self.array(x).to(self.torch.bfloat16)

    def host(self, x: Any) -> Host:
        value: Host = (x.float() if x.dtype == self.torch.bfloat16 else x).numpy()
        return value

    def sum(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
        return self.torch.sum(x, dim=_dims(x, axis), keepdim=keepdims)

    def mean(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
        return self.torch.mean(x, dim=_dims(x, axis), keepdim=keepdims)

    def max(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
        return self.torch.amax(x, dim=_dims(x, axis), keepdim=keepdims)

    def var(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
        return self.torch.var(x, dim=_dims(x, axis), keepdim=keepdims, correction=0)

    def value_and_grad(self, f: Callable[..., Any], n: int) -> Callable[..., Any]:
        def differentiated(*args: Any) -> Any:
            with self.torch.enable_grad():
                leaves = [x.detach().requires_grad_() for x in args[:n]]
                value = f(*leaves, *args[n:])
                return value.detach(), self.torch.autograd.grad(value, leaves)

        return differentiated

    def logsumexp(self, x: Any) -> Any:
        return self.torch.logsumexp(x, dim=-1)

    def softmax(self, x: Any) -> Any:
        return self.torch.softmax(x, dim=-1)

    def layer_norm(self, x: Any, weight: Any, bias: Any) -> Any:
        return self.nn.layer_norm(x, (x.shape[-1],), weight, bias, 1e-5)

    def rms_norm(self, x: Any, weight: Any) -> Any:
        return self.nn.rms_norm(x, (x.shape[-1],), weight, 1e-5)

    def gelu(self, x: Any) -> Any:
        return self.nn.gelu(x, approximate="tanh")

    def attention(self, q: Any, k: Any, v: Any) -> Any:
        return self.nn.scaled_dot_product_attention(q, k, v)

    def permute(self, x: Any, axes: tuple[int, ...]) -> Any:
        return x.permute(*axes)

    def take_rows(self, x: Any, rows: Any) -> Any:
        return self.torch.index_select(x, 0, rows)

    def add_to_rows(self, x: Any, rows: Any, updates: Any) -> Any:
        return self.torch.index_add(x, 0, rows, updates)

    def sort(self, x: Any) -> Any:
        return self.torch.sort(x).values

    def cumsum(self, x: Any) -> Any:
        return self.torch.cumsum(x, 0)


def _dims(x: Any, axis: Axis) -> tuple[int, ...]:
    return tuple(range(x.ndim)) if axis is None else (axis,)
