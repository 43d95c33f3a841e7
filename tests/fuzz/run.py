"""Draws random graphs and compares the ways in which pymx evaluates them, with each other and with NumPy.

python tests/fuzz/run.py --seed 1 --graphs 1000    graphs 1000000, 1000001 ...; a failing one is made small and printed
                                                   as a program
python tests/fuzz/run.py --one 1000017             one graph again
python tests/fuzz/run.py --modes                   in processes with MX_JIT=0, MX_JIT=always and each instruction set
                                                   level; the first two must agree in every bit
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import traceback
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import pymx as mx

PER_SEED = 1_000_000
MODES: dict[str, dict[str, str]] = {
    "vm": {"MX_JIT": "0"},
    "jit": {"MX_JIT": "always"},
    "v2": {"MX_ISA": "v2"},
    "v3": {"MX_ISA": "v3"},
    "v3 vm": {"MX_ISA": "v3", "MX_JIT": "0"},
}


def fuzz_one(number: int, shrink: bool) -> bool:
    """Whether a graph passes; says what is wrong with it."""
    from compare import WAYS, Failure, check
    from draw import draw
    from shrink import shrunk

    graph = draw(number)
    try:
        failure = check(graph)
    except Exception:
        failure = Failure("eager", 0, traceback.format_exc(limit=-3))
    if failure is None:
        return True
    print(f"graph {number}, {failure.way}: value {graph.names()[failure.value]}: {failure.text}", flush=True)
    if shrink:
        ways = {failure.way: WAYS[failure.way]} if failure.way in WAYS else {}
        if failure.way == "numpy":
            graph = replace(graph, outputs=(failure.value,), kept=(), cache={})

        def fails(smaller: object) -> bool:
            try:
                found = check(smaller, ways)  # type: ignore[arg-type]
            except Exception:
                return failure.way == "eager"
            return found is not None and found.way == failure.way

        print(f"---- {failure.way}\n{shrunk(graph, fails).script()}----", flush=True)
    return False


def fuzz(seed: int, graphs: int, seconds: float, shrink: bool, trace: bool) -> int:
    """The number of graphs that fail."""
    print(
        f"seed {seed}: {mx.isa()}, MX_JIT={os.environ.get('MX_JIT', 'unset')}, {mx.num_threads()} threads", flush=True
    )
    failed, start = 0, time.monotonic()
    for i in range(graphs):
        if seconds and time.monotonic() - start > seconds:
            graphs = i
            break
        if trace:
            print(seed * PER_SEED + i, flush=True)
        failed += not fuzz_one(seed * PER_SEED + i, shrink and failed < 5)
        if (i + 1) % 1000 == 0:
            print(f"{i + 1} graphs, {failed} failed, {time.monotonic() - start:.0f} s", flush=True)
    print(f"{graphs} graphs, {failed} failed, {time.monotonic() - start:.1f} s")
    return failed


def digests(seed: int, graphs: int) -> None:
    from compare import digest
    from draw import draw

    for number in range(seed * PER_SEED, seed * PER_SEED + graphs):
        try:
            print(number, digest(draw(number)))
        except Exception as error:
            print(number, f"{type(error).__name__}: {error}".splitlines()[0])


def compare_modes(seed: int, graphs: int) -> int:
    """Runs everything in every mode, and compares the digests of the interpreter with those of the JIT."""
    failed = 0
    base = [sys.executable, __file__, "--seed", str(seed), "--graphs", str(graphs)]
    for name, variables in MODES.items():
        print(f"==== {name}", flush=True)
        failed += subprocess.run(base, env=os.environ | variables).returncode != 0
    texts = [
        subprocess.run([*base, "--digests"], env=os.environ | MODES[m], capture_output=True, text=True).stdout
        for m in ("vm", "jit")
    ]
    for vm, jit in zip(texts[0].splitlines(), texts[1].splitlines(), strict=True):
        if vm != jit:
            print(f"interpreter and JIT differ: {vm}, {jit}")
            failed += 1
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=0, help="stop after this time; 0: never")
    parser.add_argument("--one", type=int, help="the number of one graph")
    parser.add_argument("--modes", action="store_true", help="in processes of all executors and levels")
    parser.add_argument("--digests", action="store_true", help="only print a hash of each graph's outputs")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--trace", action="store_true", help="print each number first: to find a graph that crashes")
    args = parser.parse_args()
    if args.one is not None:
        return int(not fuzz_one(args.one, not args.no_shrink))
    if args.digests:
        digests(args.seed, args.graphs)
        return 0
    if args.modes:
        return int(compare_modes(args.seed, args.graphs) > 0)
    return int(fuzz(args.seed, args.graphs, args.seconds, not args.no_shrink, args.trace) > 0)


if __name__ == "__main__":
    sys.exit(main())
