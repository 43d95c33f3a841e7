"""Runs code written for MLX on this package: `mlx.core` and its submodules become pymx.

`import pymx.alias` before the first import of mlx, or `python -m pymx.alias script.py ...`, or `-m module ...` in place
of the script. The Python parts of MLX (mlx.nn, mlx.optimizers, ...) are found on sys.path as before, because mlx is a
namespace package; an mlx.core beside them is hidden.
"""

from __future__ import annotations

import importlib
import os
import runpy
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pymx

__all__ = ["install"]

_SUBMODULES = ("cuda", "distributed", "fast", "fft", "linalg", "metal", "random")
_CLASSES: tuple[type, ...] = (
    pymx.array,
    pymx.ArrayAt,
    pymx.ArrayIterator,
    pymx.ArrayLike,
    pymx.Dtype,
    pymx.DtypeCategory,
    pymx.finfo,
)
_CLASSES += (pymx.iinfo, pymx.Device, pymx.DeviceType, pymx.Stream, pymx.StreamContext, pymx.ThreadLocalStream)


class _Folders:
    """The folders named mlx on sys.path: the path of a namespace package that need not exist yet."""

    def __iter__(self) -> Iterator[str]:
        return filter(os.path.isdir, (os.path.join(folder or os.curdir, "mlx") for folder in sys.path))


def install() -> None:
    """Puts pymx in the place of mlx.core, and its classes say that they are of mlx.core. Does nothing the second time;
    ImportError if another mlx.core was imported before."""
    before = sys.modules.get("mlx.core")
    if before is pymx:
        return
    if before is not None:
        raise ImportError("another mlx.core was imported already: import pymx.alias before it")
    try:
        package: Any = importlib.import_module("mlx")
    except ModuleNotFoundError:
        package = sys.modules["mlx"] = ModuleType("mlx")
        package.__path__ = _Folders()
    package.core = sys.modules["mlx.core"] = pymx
    for name in _SUBMODULES:
        if hasattr(pymx, name):
            sys.modules[f"mlx.core.{name}"] = getattr(pymx, name)
    for cls in _CLASSES:
        cls.__module__ = "mlx.core"


def _main(arguments: list[str]) -> Any:
    usage = "usage: python -m pymx.alias (script.py | -m module) [argument ...]"
    by_module = arguments[:1] == ["-m"]
    if len(arguments) < 1 + by_module:
        sys.exit(usage)
    sys.argv = arguments[by_module:]
    if by_module:
        return runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    return runpy.run_path(sys.argv[0], run_name="__main__")


install()
if __name__ == "__main__":
    _main(sys.argv[1:])
