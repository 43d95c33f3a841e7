"""What the library makes of a computation: explain, export_to_dot and profile (mx/inspect.h)."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType

from ._ffi import BufferBase, check, fast, ffi, lib
from .compile import CompiledFunction, compile
from .tree import leaves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any

__all__ = ["Explanation", "explain", "export_to_dot", "profile"]


class Explanation(str):
    """A text that an interactive session shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _text(call: Callable[..., int], *args: Any) -> str:
    """What a function of the library writes to a buffer, which is made large enough."""
    needed = ffi.new("size_t *")
    cap = 4096
    while True:
        buf = ffi.new("char[]", cap)
        check(call(buf, cap, needed, *args))
        if needed[0] <= cap:
            return ffi.string(buf, cap).decode()
        cap = needed[0]


def explain(f: Any, *args: Any, **kwargs: Any) -> Explanation:
    """A description of the program that f(*args, **kwargs) would run, for people to read: its steps and what they fuse,
    what computes each ("vm", "jit" or "library"), shapes, bytes, flops, peak memory, and why steps were not joined.

    `f` may be compiled or not; it is traced if its entry does not exist yet, and not run. With arrays or trees of them
    in place of `f`: what evaluating them would run."""
    if callable(f) and not isinstance(f, BufferBase):
        compiled = f if isinstance(f, CompiledFunction) else compile(f)
        return Explanation(compiled._inspect(lambda call: _text(lib.mx_call_explain, call), args, kwargs))
    arrays = [x for x in leaves((f, *args, kwargs)) if isinstance(x, BufferBase)]
    return Explanation(_text(lib.mx_explain, [x._h for x in arrays], len(arrays)))


def export_to_dot(file: str | os.PathLike[str] | IO[str], *args: Any, **kwargs: Any) -> None:
    """Draws the graph of what is not computed yet below some arrays, in the DOT language of Graphviz: the values, and a
    box for each op, or for each step of a compiled call. To a path or a text file; a path that ends in .svg gets a
    picture, which needs Graphviz's program `dot`.

    args -- arrays, or trees of them
    kwargs -- the same; the names of arrays are used in the drawing, other values are called A, B, C ..."""
    named = [(key, x) for key, x in kwargs.items() if isinstance(x, BufferBase)]
    others = [("", x) for x in leaves((args, kwargs)) if isinstance(x, BufferBase)]
    others = [(key, x) for key, x in others if all(x is not y for _, y in named)]
    names = [ffi.new("char[]", key.encode()) for key, _ in named + others]
    arrays = [x._h for _, x in named + others]
    text = _text(lib.mx_export_to_dot, arrays, len(arrays), names, len(names))
    if isinstance(file, (str, os.PathLike)):
        if os.fspath(file).endswith(".svg"):
            _picture(text, os.fspath(file))
        else:
            with open(file, "w", encoding="utf-8") as out:
                out.write(text)
    elif hasattr(file, "write"):
        file.write(text)
    else:
        raise ValueError(f"export_to_dot: expected a path or a text file, got {type(file).__name__}")


def _picture(text: str, path: str) -> None:
    import shutil  # slow to import, and rarely needed
    import subprocess

    program = shutil.which("dot")
    if program is None:
        raise FileNotFoundError("export_to_dot: .svg needs Graphviz's program `dot`, which is not installed")
    subprocess.run([program, "-Tsvg", "-o", path], input=text.encode(), check=True)


class profile:
    """Records what the library does on all threads, and writes it to a file that https://ui.perfetto.dev and
    chrome://tracing show: kernels, waits, allocations, compiling.

        with mx.profile("trace.json"):
            mx.eval(f(x))

    Work that still runs at the end is not in it, so evaluate inside. There is one recording at a time per process; it
    keeps `n_records` and counts the rest. The file appears once it is complete, not if the body raises."""

    def __init__(self, path: str | os.PathLike[str], n_records: int = 1 << 17) -> None:
        self._path, self._n_records = os.fspath(path), n_records

    def __enter__(self) -> profile:
        fast.profile_start(self._n_records)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        path = ffi.NULL if kind is not None else ffi.new("char[]", os.fsencode(self._path))
        check(lib.mx_profile_stop(path))
