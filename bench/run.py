"""Measures pymx and its peers in one run and writes build/bench.json, docs/benchmarks.md and docs/bench.png.

Every framework runs in a process of its own, the peers from their own virtual environment. Per workload each framework
first proves its result against float64 NumPy; then they are measured in turn, several rounds, while the others stand
still.

usage: run.py [--only TEXT ...] [--quick] [--frameworks NAME,...] [--rounds N] [--threads N] [--seconds S]"""

from __future__ import annotations

import argparse
import shutil
import zlib
from pathlib import Path
from statistics import median
from typing import Any

import environment
import frameworks
import native
import numpy as np
import report
import startup
from environment import ROOT
from peers import Peer
from workloads import Workload, all_workloads

DATA = ROOT / "build" / "bench-data"
PREPARE_LIMIT, MEASURE_LIMIT = 180.0, 120.0  # seconds
SLOW = 2.0  # seconds: what takes longer is measured once

Cell = dict[str, Any]


def write_inputs(workload: Workload) -> None:
    """The arguments and what comes of them in float64, as files that all workers read."""
    shutil.rmtree(DATA, ignore_errors=True)
    DATA.mkdir(parents=True)
    inputs = workload.inputs(np.random.default_rng(zlib.crc32(workload.name.encode())))
    if workload.is_bfloat16:
        inputs = [_rounded_to_bfloat16(x) for x in inputs]
    for i, x in enumerate(inputs):
        np.save(DATA / f"in{i:03}.npy", x)
    wide = [x.astype(np.float64) if x.dtype == np.float32 else x for x in inputs]
    reference = workload.reference or workload.function(frameworks.load("numpy"), 0)
    np.save(DATA / "reference.npy", reference(*wide))


def _rounded_to_bfloat16(x: frameworks.Host) -> frameworks.Host:
    """Round to nearest even in the upper 16 bits (no NaN here)."""
    bits = x.view(np.uint32)
    rounded: frameworks.Host = ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return rounded


def measure(workload: Workload, peers: list[Peer], rounds: int, seconds: float) -> dict[str, Cell]:
    """One row: per framework its times, or why there are none."""
    write_inputs(workload)
    cells: dict[str, Cell] = {}
    for peer in peers:
        cell = peer.ask(PREPARE_LIMIT, do="prepare", workload=workload.name, folder=str(DATA))
        if cell.get("error", 0) > workload.tolerance:
            cell = {"failed": f"wrong: error {cell['error']:.1e}, tolerated {workload.tolerance:.0e}", **cell}
        cells[peer.name] = cell
    times: dict[str, list[list[float]]] = {}
    for i in range(rounds):
        for peer in peers:
            cell = cells[peer.name]
            if "failed" in cell or "unsupported" in cell or (i and min(map(min, times[peer.name])) > SLOW):
                continue
            answer = peer.ask(MEASURE_LIMIT, do="measure", seconds=seconds)
            if "times" in answer:
                times.setdefault(peer.name, []).append(answer["times"])
            else:
                cell.update(answer)
    for name, samples in times.items():
        if "failed" not in cells[name]:
            cells[name] |= {"min": min(map(min, samples)), "median": median(map(median, samples))}
    return cells


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="TEXT", help="rows whose name contains one of these")
    parser.add_argument("--quick", action="store_true", help="small rows, two short rounds, no inductor")
    parser.add_argument("--frameworks", type=lambda s: s.split(","), help="of " + ",".join(frameworks.NAMES))
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, help="per framework, row and round")
    parser.add_argument("--out", type=Path, default=ROOT, help="the folder that gets build/ and docs/")
    options = parser.parse_args()
    options.rounds = options.rounds or (2 if options.quick else 5)
    options.seconds = options.seconds or (0.03 if options.quick else 0.15)
    options.frameworks = options.frameworks or default_frameworks(options)
    if unknown := set(options.frameworks) - set(frameworks.NAMES):
        parser.error(f"no such framework: {', '.join(sorted(unknown))}")
    return options


def is_wanted(name: str, only: list[str]) -> bool:
    return not only or any(text in name for text in only)


def main() -> None:
    options = parse()
    missing = environment.ensure(["numpy", "matplotlib", *options.frameworks])  # NumPy: for the workers
    peers = []
    for name in options.frameworks:
        if name not in missing:
            peer = Peer(name, options.threads)
            if peer.why_not:
                missing[name] = peer.why_not
                peer.end()
            else:
                peers.append(peer)
    for name, reason in missing.items():
        print(f"without {name}: {reason}")
    result = report.Result(options.threads, {peer.name: peer.version for peer in peers}, missing)
    try:
        result.limits = native.limits(options.threads)
    except (OSError, RuntimeError) as error:
        print(f"without limits of the machine: {error}")
    report.print_header(result)
    try:
        for workload in all_workloads():
            if is_wanted(workload.name, options.only) and not (options.quick and workload.is_long):
                cells = measure(workload, peers, options.rounds, options.seconds)
                report.print_row(result, result.add(workload, cells))
    finally:
        for peer in peers:
            peer.end()
        shutil.rmtree(DATA, ignore_errors=True)
    add_processes(result, options)
    if not result.rows:
        raise SystemExit(f"no row is called like {' or '.join(options.only)}")
    report.write(result, options.out, is_whole=not options.only and default_frameworks(options) == options.frameworks)


def add_processes(result: report.Result, options: argparse.Namespace) -> None:
    """The rows that are not of a worker: the C interface, and whole processes."""
    if "pymx" in result.versions:
        try:
            for name, cell in native.overhead(options.threads).items():
                if is_wanted(f"C: {name}", options.only):
                    report.print_row(result, result.add_row(f"C: {name}", {"pymx": cell}))
        except (OSError, RuntimeError) as error:
            print(f"without the C interface: {error}")
    if any(is_wanted(row, options.only) for row in startup.ROWS):
        table = startup.measure(list(result.versions), options.threads, max(3, options.rounds))
        for name, cells in table.items():
            unit = "B" if name in startup.ROWS_OF_BYTES else "s"
            report.print_row(result, result.add_row(name, cells, unit))


def default_frameworks(options: argparse.Namespace) -> list[str]:
    return [name for name in frameworks.NAMES if not (options.quick and name == "inductor")]


if __name__ == "__main__":
    main()
