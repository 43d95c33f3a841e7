"""What the namespace can do: __array_namespace_info__."""

from __future__ import annotations

from typing import Any

import pymx as mx

from ..dtype import Dtype, float64, int64, isdtype
from .data_types import COMPLEX, DTYPES

__all__ = ["__array_namespace_info__"]


_DEFAULTS = {"real floating": float64, "complex floating": COMPLEX, "integral": int64, "indexing": int64}


class Info:
    """Capabilities, devices and dtypes of a namespace that has these defaults."""

    def __init__(self, defaults: dict[str, Dtype]) -> None:
        self._defaults = defaults

    def capabilities(self) -> dict[str, Any]:
        """Boolean masks and data-dependent shapes work; arrays have up to 32 dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}

    def default_device(self) -> mx.Device:
        """The CPU."""
        return mx.Device(mx.cpu, 0)

    def default_dtypes(self, *, device: object = None) -> dict[str, Dtype]:
        """By kind, what functions make when nothing is said."""
        return dict(self._defaults)

    def dtypes(self, *, device: object = None, kind: str | tuple[str, ...] | None = None) -> dict[str, Dtype]:
        """The standard's dtypes by name, of all kinds or some."""
        return {name: d for name, d in DTYPES.items() if kind is None or isdtype(d, kind)}

    def devices(self) -> list[mx.Device]:
        """The CPU."""
        return [self.default_device()]


def __array_namespace_info__() -> Info:
    """See Info."""
    return Info(_DEFAULTS)
