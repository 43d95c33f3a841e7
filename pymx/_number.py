"""What counts as a number: Python's own and those of other libraries, without importing any of these."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NUMBERS = (bool, int, float, complex)
_KINDS = {"b": bool, "i": int, "u": int, "f": float, "c": complex}  # of NumPy's dtypes


def is_integral(x: Any) -> bool:
    """Whether `x` is an int or a number that says so, as NumPy's integers do. Nobody can have said it where `numbers`
    was never imported, which takes longer than most of our modules."""
    numbers = sys.modules.get("numbers")
    return isinstance(x, int) or (numbers is not None and isinstance(x, numbers.Integral))


def number(x: Any) -> Any:
    """The number of Python that `x` stands for: itself, or the value of one of NumPy's scalars, whose precision counts
    for nothing beside an array. None for everything else."""
    if isinstance(x, NUMBERS):
        return x
    generic = getattr(sys.modules.get("numpy"), "generic", None)
    if generic is not None and isinstance(x, generic):
        kind = _KINDS.get(x.dtype.kind, float if x.dtype.name == "bfloat16" else None)  # that one is of ml_dtypes
        return None if kind is None else kind(x)
    return int(x) if is_integral(x) else None
