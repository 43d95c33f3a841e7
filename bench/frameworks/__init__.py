"""What a workload may ask of a framework. One module per framework in this folder, each with a class `Bench` of this
interface; the workloads are written once, against it.

The defaults call `xp`, a namespace with NumPy's names, and compose what NumPy lacks; a framework overrides what it has
a better way for, so that each is measured as its own users would write the work. Nothing here may import a framework
at the top level: every process loads only its own.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Host = NDArray[Any]
Axis = int | None

NAMES = ("pymx", "numpy", "numexpr", "numba", "mlx", "jax", "torch", "inductor")


class Unsupported(Exception):
    """This framework has no such op, or nothing that would be fair to compare."""


class Framework:
    """A framework with NumPy's names in `xp`, evaluated eagerly."""

    xp: Any
    version: str
    compiles = True  # False: `compile` gives the function itself
    has_arrays = True  # False: a compiler of functions of NumPy arrays, with no ops of its own

    def __init__(self, xp: Any, version: str) -> None:
        self.xp, self.version = xp, version
        self.exp: Any = xp.exp
        self.log: Any = xp.log
        self.sin: Any = xp.sin
        self.tanh: Any = xp.tanh
        self.sqrt: Any = xp.sqrt
        self.maximum: Any = xp.maximum

    # ---- moving and running

    def array(self, x: Host) -> Any:
        """The framework's own array of this value, computed."""
        return self.xp.asarray(x)

    def bfloat16(self, x: Host) -> Any:
        """As `array`, in bfloat16."""
        raise Unsupported("no bfloat16")

    def host(self, x: Any) -> Host:
        """The value of an array of the framework."""
        return np.asarray(x)

    def host_of_all(self, x: Any) -> Host:
        """The value of a result: of an array, or of all arrays of a tuple, end to end."""
        return np.concatenate([np.ravel(self.host(part)) for part in x]) if isinstance(x, tuple) else self.host(x)

    def compile(self, f: Callable[..., Any], *examples: Any) -> Callable[..., Any]:
        """What users of the framework do to make a function of arrays fast, given arguments like those to come."""
        return f

    def wait(self, x: Any) -> Any:
        """Returns once `x` has its value."""
        return x

    # ---- reductions and rows

    def sum(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
        return self.xp.sum(x, axis=axis, keepdims=keepdims)

    def mean(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
        return self.xp.mean(x, axis=axis, keepdims=keepdims)

    def max(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
        return self.xp.max(x, axis=axis, keepdims=keepdims)

    def var(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
        return self.xp.var(x, axis=axis, keepdims=keepdims)

    def logsumexp(self, x: Any) -> Any:
        m = self.max(x, -1, True)
        return self.log(self.sum(self.exp(x - m), -1)) + m[..., 0]

    def softmax(self, x: Any) -> Any:
        e = self.exp(x - self.max(x, -1, True))
        return e / self.sum(e, -1, True)

    def layer_norm(self, x: Any, weight: Any, bias: Any) -> Any:
        d = x - self.mean(x, -1, True)
        return d / self.sqrt(self.mean(d * d, -1, True) + 1e-5) * weight + bias

    def rms_norm(self, x: Any, weight: Any) -> Any:
        return x / self.sqrt(self.mean(x * x, -1, True) + 1e-5) * weight

    # ---- networks

    def gelu(self, x: Any) -> Any:
        """The tanh form, in float32 constants."""
        return 0.5 * x * (1 + self.tanh(0.79788456 * (x + 0.044715 * x * x * x)))

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        return x @ weight + bias

    def attention(self, q: Any, k: Any, v: Any) -> Any:
        return self.softmax(q @ self.permute(k, (0, 1, 3, 2)) * q.shape[-1] ** -0.5) @ v

    def quantized_linear(self, x: Any, codes: Any, scales: Any, biases: Any) -> Any:
        """x times the transposed matrix scales * codes + biases of 4 bits in groups of 64; eight codes are a uint32."""
        raise Unsupported("no packed matrices")

    def permute(self, x: Any, axes: tuple[int, ...]) -> Any:
        return self.xp.transpose(x, axes)

    def value_and_grad(self, f: Callable[..., Any], n: int) -> Callable[..., Any]:
        """A function that gives the scalar f(...) and its gradients by the first n arguments."""
        raise Unsupported("does not differentiate")

    # ---- moving elements

    def take_rows(self, x: Any, rows: Any) -> Any:
        return self.xp.take(x, rows, axis=0)

    def add_to_rows(self, x: Any, rows: Any, updates: Any) -> Any:
        """A copy of `x` where row rows[i] has got updates[i]; rows may repeat."""
        raise Unsupported("no scatter-add")

    def sort(self, x: Any) -> Any:
        return self.xp.sort(x)

    def cumsum(self, x: Any) -> Any:
        return self.xp.cumsum(x)


def load(name: str) -> Framework:
    """The framework of this name, imported now. ImportError if it is not installed."""
    framework: Framework = importlib.import_module(f"frameworks.{name}").Bench()
    return framework
