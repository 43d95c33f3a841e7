"""What single calls of pymx cost: builtins that keep the GIL against cffi, which lets go of it, alone and beside a busy
Python thread. Rows that peers have as well are in workloads/calls.py.

usage: calls.py [SECONDS]"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from typing import Any

from sampling import sample, sample_shared, spinning

import pymx as mx
from pymx._ffi import fast, ffi, lib


def cases() -> dict[str, Callable[[], Any]]:
    a, b = mx.array([1.0]), mx.array([2.0])
    row = mx.array([1.0, 2.0, 3.0, 4.0])
    mx.eval(a, b, row)
    handle = a._h
    out = ffi.new("mx_array *")
    size = ffi.new("size_t *")
    affine = mx.compile(lambda x: x * 2 + 1)
    mx.eval(affine(a))

    def cffi_dup() -> None:
        lib.mx_array_dup(out, handle)
        lib.mx_array_free(out[0])

    def update() -> None:
        row[1] = 5.0

    return {
        "mx_handle_count, cffi": lambda: lib.mx_handle_count(0),
        "handle_count, builtin": lambda: fast.handle_count(0),
        "mx_array_dup + free, cffi": cffi_dup,
        "mx_array_size, cffi": lambda: lib.mx_array_size(size, handle),
        "a.shape": lambda: a.shape,
        "a.dtype": lambda: a.dtype,
        "a.ndim": lambda: a.ndim,
        "a + b": lambda: a + b,
        "a + 1.0": lambda: a + 1.0,
        "mx.exp(a)": lambda: mx.exp(a),
        "mx.sum(row)": lambda: mx.sum(row),
        "row.reshape(2, 2)": lambda: row.reshape(2, 2),
        "row[1]": lambda: row[1],
        "row[1:3]": lambda: row[1:3],
        "row[1] = 5.0": update,
        "mx.array(1.0)": lambda: mx.array(1.0),
        "mx.array([1.0, 2.0])": lambda: mx.array([1.0, 2.0]),
        "a.item()": lambda: a.item(),
        "row.tolist()": lambda: row.tolist(),
        "mx.eval(a + b)": lambda: mx.eval(a + b),
        "affine(a), compiled": lambda: affine(a),
        "mx.eval(affine(a))": lambda: mx.eval(affine(a)),
    }


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.2
    functions = cases()
    alone = {name: median(sample(f, seconds)) for name, f in functions.items()}
    with spinning():
        busy = {name: median(sample_shared(f, seconds, 3)) for name, f in functions.items()}
    print(f"{'ns per call':28}{'alone':>10}{'busy':>10}")
    for name in functions:
        print(f"{name:28}{alone[name] * 1e9:10.0f}{busy[name] * 1e9:10.0f}")


if __name__ == "__main__":
    main()
