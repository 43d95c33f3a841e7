"""Arrays as text, and the options for it. The layout is MLX's: of an axis longer than 6 the first and the last 3
elements are shown; rows stand under each other."""

from __future__ import annotations

import sys
from _thread import allocate_lock
from collections.abc import Callable

from ._ffi import BufferBase, fast
from .dtype import DTYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .array import array

__all__ = ["PrintOptions", "get_printoptions", "printoptions", "set_printoptions"]

_EDGE = 3
_ELLIPSIS = object()


class PrintOptions:
    """`precision`: digits after the point; -1 prints up to 6 significant digits."""

    __slots__ = ("precision",)

    def __init__(self, precision: int = -1) -> None:
        self.precision = int(precision)

    def __repr__(self) -> str:
        return f"PrintOptions(precision={self.precision})"

    def __eq__(self, other: object) -> bool:
        return self.precision == other.precision if isinstance(other, PrintOptions) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


_options = PrintOptions()
_lock = allocate_lock()


def set_printoptions(precision: int = -1) -> None:
    """Sets how arrays are printed; see PrintOptions."""
    global _options
    with _lock:
        _options = PrintOptions(precision)


def get_printoptions() -> PrintOptions:
    """How arrays are printed."""
    return PrintOptions(_options.precision)


class _PrintOptionsContext:
    def __init__(self, options: PrintOptions) -> None:
        self._options, self._before = options, options

    def __enter__(self) -> PrintOptions:
        self._before = get_printoptions()
        set_printoptions(self._options.precision)
        return self._options

    def __exit__(self, *exception: object) -> None:
        set_printoptions(self._before.precision)


def printoptions(precision: int = -1) -> _PrintOptionsContext:
    """For `with`: prints arrays with these options in the block."""
    return _PrintOptionsContext(PrintOptions(precision))


def _real(x: float) -> str:
    precision = _options.precision
    return f"{x:.{precision}f}" if precision >= 0 else f"{x:g}"


def _element(x: Any) -> str:
    if x is _ELLIPSIS:
        return "..."
    if isinstance(x, float):
        return _real(x)
    if isinstance(x, complex):
        imaginary = _real(x.imag)
        return f"{_real(x.real)}{'' if imaginary.startswith('-') else '+'}{imaginary}j"
    return str(x)


def _nested(rows: Any, depth: int, ndim: int) -> str:
    if depth == ndim:
        return _element(rows)
    separator = ", " if depth == ndim - 1 else ",\n" + " " * (7 + depth)
    parts = ["..." if row is _ELLIPSIS else _nested(row, depth + 1, ndim) for row in rows]
    return f"[{separator.join(parts)}]"


def _mark(rows: Any, long: list[bool]) -> Any:
    """Puts the ellipsis into the axes that were shortened."""
    if not long:
        return rows
    rows = [_mark(row, long[1:]) for row in rows]
    return [*rows[:_EDGE], _ELLIPSIS, *rows[_EDGE:]] if long[0] else rows


def text(x: array) -> str:
    """What repr of an array gives. Forces evaluation."""
    shape = x.shape
    long = [n > 2 * _EDGE for n in shape]
    shown: array = x
    for axis, n in enumerate(shape):
        if long[axis]:
            start, stop, step = [0] * len(shape), list(shown.shape), [1] * len(shape)
            head, tail = [*stop], [*start]
            head[axis], tail[axis] = _EDGE, n - _EDGE
            ends = [fast.slice(shown, start, head, step, None), fast.slice(shown, tail, stop, step, None)]
            shown = fast.concatenate(ends, axis, None)
    if 0 in shape:  # nothing inside the first empty axis
        at = shape.index(0)
        rows: Any = []
        for n in reversed(shape[:at]):
            rows = [rows] * min(n, 2 * _EDGE)
        body = _nested(_mark(rows, long[:at]), 0, at + 1)
    else:
        body = _nested(_mark(shown.tolist(), long), 0, len(shape))
    return f"array({body}, dtype={DTYPES[x._dtype_code]._name})"


def _teach_reprlib() -> None:
    """Up to Python 3.11 reprlib takes every class called `array` for that of the module array. asyncio asks it for the
    text of finished tasks, so of their results, which is no reason to compute them."""
    import reprlib

    of_module: Callable[[reprlib.Repr, Any, int], str] = reprlib.Repr.repr_array

    def repr_array(self: reprlib.Repr, x: Any, level: int) -> str:
        if isinstance(x, BufferBase):
            return f"<array of shape {x.shape} and dtype {x.dtype}>"
        return of_module(self, x, level)

    reprlib.Repr.repr_array = repr_array  # type: ignore[method-assign]


if sys.version_info < (3, 12):
    _teach_reprlib()
