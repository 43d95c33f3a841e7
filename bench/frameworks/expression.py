"""Elementwise functions as text, for compilers of expressions (numexpr.py, numba.py): the function is called on
symbols, and every operation on them writes down its own source."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from frameworks import Framework, Unsupported


class Symbol:
    """An operand: `text` is an expression in parentheses, a call or a name."""

    def __init__(self, text: str, constants: dict[str, float]) -> None:
        self.text, self.constants = text, constants

    def _with(self, form: str, *others: Any) -> Symbol:
        texts = [x.text if isinstance(x, Symbol) else self._constant(x) for x in others]
        return Symbol(form.format(self.text, *texts), self.constants)

    def _constant(self, value: Any) -> str:
        if not isinstance(value, int | float):
            raise Unsupported("elementwise functions only")
        return self.constants_name(float(value))

    def constants_name(self, value: float) -> str:
        for name, known in self.constants.items():
            if known == value:
                return name
        self.constants[name := f"c{len(self.constants)}"] = value
        return name

    def __add__(self, other: Any) -> Symbol:
        return self._with("({0} + {1})", other)

    def __radd__(self, other: Any) -> Symbol:
        return self._with("({1} + {0})", other)

    def __sub__(self, other: Any) -> Symbol:
        return self._with("({0} - {1})", other)

    def __mul__(self, other: Any) -> Symbol:
        return self._with("({0} * {1})", other)

    def __rmul__(self, other: Any) -> Symbol:
        return self._with("({1} * {0})", other)

    def __neg__(self) -> Symbol:
        return self._with("(-{0})")

    def __getattr__(self, name: str) -> Any:
        raise Unsupported("elementwise functions only")


class Names:
    """Functions of symbols, in NumPy's names."""

    def __getattr__(self, name: str) -> Callable[..., Symbol]:
        def call(x: Symbol, *others: Any) -> Symbol:
            form = ", ".join(f"{{{i}}}" for i in range(len(others) + 1))
            return x._with(f"{name}({form})", *others)

        return call


class Tracing(Framework):
    """A framework that compiles text; arrays are NumPy's."""

    has_arrays = False

    def __init__(self, version: str) -> None:
        super().__init__(Names(), version)

    def array(self, x: Any) -> Any:
        return x

    def sum(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        raise Unsupported("elementwise functions only")

    mean = max = var = sum

    def take_rows(self, x: Any, rows: Any) -> Any:
        raise Unsupported("elementwise functions only")

    def sort(self, x: Any) -> Any:
        raise Unsupported("elementwise functions only")

    cumsum = sort


def trace(f: Callable[..., Any]) -> tuple[list[str], str, dict[str, float]]:
    """The names of the arguments of `f`, its source, and the constants in it by name."""
    constants: dict[str, float] = {}
    parameters = inspect.signature(f).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        raise Unsupported("elementwise functions only")
    arguments = [f"a{i}" for i in range(len(parameters))]
    try:
        result = f(*(Symbol(name, constants) for name in arguments))
    except TypeError as error:
        raise Unsupported("elementwise functions only") from error
    return arguments, result.text, constants
