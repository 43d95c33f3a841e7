"""Graphs as data: what a fuzzer draws, evaluates in several ways, makes smaller and prints."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from values import random_values, to_mx

import pymx as mx

# How a leaf lies in memory: made from row-major memory of another shape.
LAYOUTS: dict[str, str] = {
    "row": "{0}",
    "transposed": "{0}.T",
    "stepped": "{0}[::2]",
    "reversed": "{0}[::-1]",
    "tail": "{0}[1:]",
    "column": "{0}[..., 1]",
}


_LAID_OUT: dict[str, Callable[[mx.array], mx.array]] = {
    layout: eval(f"lambda x: {code.format('x')}") for layout, code in LAYOUTS.items()
}


@functools.lru_cache(maxsize=64)
def _random_memory(seed: int, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    return random_values(np.random.default_rng(seed), dtype, shape)


def _memory_shape(layout: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    first, rest = (shape[0], shape[1:]) if shape else (0, ())
    return {
        "row": shape,
        "transposed": shape[::-1],
        "stepped": (2 * first, *rest),
        "reversed": shape,
        "tail": (first + 1, *rest),
        "column": (*shape, 3),
    }[layout]


def possible_layouts(shape: tuple[int, ...]) -> list[str]:
    return list(LAYOUTS) if shape else ["row"]


@dataclass(frozen=True)
class Leaf:
    """An input. Its values come from a seed, or are given."""

    dtype: str
    shape: tuple[int, ...]
    layout: str = "row"
    seed: int = 0
    values: np.ndarray | None = None

    def memory(self) -> np.ndarray:
        if self.values is not None:
            return self.values
        return _random_memory(self.seed, self.dtype, _memory_shape(self.layout, self.shape))

    def array(self) -> mx.array:
        x = _LAID_OUT[self.layout](to_mx(self.memory()))
        mx.eval(x)
        return x


@dataclass(frozen=True)
class Step:
    """An op on earlier values, by their numbers: leaves first, then steps."""

    op: str
    inputs: tuple[int, ...]
    args: tuple[Any, ...] = ()
    kwargs: tuple[tuple[str, Any], ...] = ()

    def code(self, names: Sequence[str]) -> str:
        """As Python."""
        return CODE.get(self.op, _call)(self, [names[i] for i in self.inputs])


def _call(step: Step, inputs: list[str]) -> str:
    kwargs = [f"{key}={_literal(value)}" for key, value in step.kwargs]
    return f"mx.{step.op}({', '.join([*inputs, *map(_literal, step.args), *kwargs])})"


def _literal(x: Any) -> str:
    text = repr(x)
    if isinstance(x, str):
        return f"mx.{x}"  # a dtype
    return f"mx.array({text})" if isinstance(x, list) else {"inf": "math.inf", "nan": "math.nan"}.get(text, text)


def _list_call(step: Step, inputs: list[str]) -> str:
    return f"mx.{step.op}([{', '.join(inputs)}], {', '.join(f'{k}={v!r}' for k, v in step.kwargs)})"


def _getitem(step: Step, inputs: list[str]) -> str:
    return f"{inputs[0]}[{', '.join(map(_key, step.args))}]"


def _key(x: Any) -> str:
    if isinstance(x, tuple):  # a slice
        return ":".join("" if part is None else str(part) for part in x)
    return _literal(x) if isinstance(x, list) else str(x)


# Ops that are not written as a function of arrays.
CODE: dict[str, Callable[[Step, list[str]], str]] = {
    "concatenate": _list_call,
    "stack": _list_call,
    "getitem": _getitem,
    "rsubtract": lambda s, x: f"({s.args[0]!r} - {x[0]})",
    "rms_norm": lambda s, x: f"mx.fast.rms_norm({x[0]}, {x[1]}, {s.args[0]})",
    "layer_norm": lambda s, x: f"mx.fast.layer_norm({x[0]}, {x[1]}, None, {s.args[0]})",
    "complex_multiply": lambda s, x: f"({x[0]} * {x[1]})",
    "at_add": lambda s, x: f"{x[0]}.at[{_literal(s.args[0])}].add({x[1]})",
    "assign": lambda s, x: f"mx.put_along_axis({x[0]}, {x[1]}, {x[2]}, axis={s.args[0]})",
    "divmod_quotient": lambda s, x: f"mx.divmod({x[0]}, {x[1]})[0]",
    "divmod_remainder": lambda s, x: f"mx.divmod({x[0]}, {x[1]})[1]",
    "second_half": lambda s, x: f"mx.split({x[0]}, 2, axis={s.args[0]})[1]",
}


@dataclass(frozen=True)
class Graph:
    leaves: tuple[Leaf, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    kept: tuple[int, ...] = ()  # values that the host holds on to while the outputs are evaluated
    label: str = ""
    cache: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def names(self) -> list[str]:
        return [f"a{i}" for i in range(len(self.leaves))] + [f"v{i}" for i in range(len(self.steps))]

    def body(self, returned: Sequence[int], indent: str = "    ") -> str:
        names = self.names()
        lines = [f"{indent}{names[len(self.leaves) + i]} = {step.code(names)}" for i, step in enumerate(self.steps)]
        return "\n".join([*lines, f"{indent}return [{', '.join(names[i] for i in returned)}]"])

    def function(self, returned: Sequence[int]) -> Callable[..., list[mx.array]]:
        """The graph as a Python function of its leaves; `returned` are the values that it gives."""
        key = repr(list(returned))
        if key not in self.cache:
            arguments = ", ".join(self.names()[: len(self.leaves)])
            scope: dict[str, Any] = {"mx": mx, "math": __import__("math")}
            exec(f"def f({arguments}):\n{self.body(returned)}\n", scope)
            self.cache[key] = scope["f"]
        return self.cache[key]

    def step_function(self, i: int) -> Callable[..., mx.array]:
        """One step alone, as a function of its inputs."""
        key = f"step {i}"
        if key not in self.cache:
            step = replace(self.steps[i], inputs=tuple(range(len(self.steps[i].inputs))))
            names = [f"x{k}" for k in range(len(step.inputs))]
            scope: dict[str, Any] = {"mx": mx, "math": __import__("math")}
            self.cache[key] = eval(f"lambda {', '.join(names)}: {step.code(names)}", scope)
        return self.cache[key]

    def script(self) -> str:
        """A program that shows the difference."""
        lines = ["import math", "", "import ml_dtypes", "import numpy as np", "", "import pymx as mx", ""]
        for name, leaf in zip(self.names(), self.leaves, strict=False):
            lines.append(f"{name} = {LAYOUTS[leaf.layout].format(_leaf_code(leaf))}")
        arguments = ", ".join(self.names()[: len(self.leaves)])
        lines += ["", "", f"def f({arguments}):", self.body((*self.outputs, *self.kept)), "", ""]
        lines += [f"outputs = f({arguments})", f"compiled = mx.compile(f)({arguments})", "mx.eval(outputs, compiled)"]
        return "\n".join([*lines, "print(outputs, compiled)", ""])


def _leaf_code(leaf: Leaf) -> str:
    memory = leaf.memory()
    if leaf.dtype == "bfloat16":
        bits = memory.reshape(-1).view(np.uint16).tolist()
        return f"mx.array(np.array({bits}, np.uint16)).view(mx.bfloat16).reshape({memory.shape})"
    dtype = f"mx.{leaf.dtype}" + ("_" if leaf.dtype == "bool" else "")
    if memory.size > 200:
        raw = memory.tobytes().hex() if memory.size < 2000 else "..."
        return f'mx.array(np.frombuffer(bytes.fromhex("{raw}"), "{memory.dtype}").reshape({memory.shape}), {dtype})'
    text = repr(memory.tolist()).replace("nan", "math.nan").replace("inf", "math.inf")
    return f"mx.array(np.array({text}, np.{memory.dtype.name}).reshape({memory.shape}), {dtype})"
