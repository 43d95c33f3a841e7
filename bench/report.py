"""What a run found: rows of cells, printed as they come, and written as JSON, Markdown and a plot at the end."""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import environment
from environment import ROOT
from workloads import Workload

Cell = dict[str, Any]
OURS = "pymx"
NAME_WIDTH, CELL_WIDTH = 36, 10


class Row:
    """A line of the table. The values are seconds or bytes; less is better."""

    def __init__(self, name: str, cells: dict[str, Cell], unit: str = "s", limit: float = 0.0) -> None:
        self.name, self.cells, self.unit, self.limit = name, cells, unit, limit

    def value(self, framework: str) -> float | None:
        """The median, or None where there is none."""
        value: float | None = self.cells.get(framework, {}).get("median")
        return value

    def best(self) -> tuple[str, float] | None:
        """The best peer."""
        found = [(value, name) for name in self.cells if name != OURS and (value := self.value(name)) is not None]
        return (min(found)[1], min(found)[0]) if found else None

    def ratio(self) -> float | None:
        """How many times as fast as the best peer this project is."""
        ours, best = self.value(OURS), self.best()
        return best[1] / ours if ours and best else None


class Result:
    """All rows, and where they come from."""

    def __init__(self, n_threads: int, versions: dict[str, str], missing: dict[str, str]) -> None:
        self.versions, self.missing = versions, missing
        self.rows: list[Row] = []
        self.limits: dict[str, float] = {}  # of the machine: bytes/s and float32 operations/s
        self.about = {
            "date": time.strftime("%Y-%m-%d"),
            "command": shlex.join(["python", "bench/run.py", *sys.argv[1:]]),
            "commit": _output("git", "-C", str(ROOT), "describe", "--always", "--dirty"),
            "cpu": _cpu(),
            "cpus": str(os.cpu_count()),
            "threads": str(n_threads),
            "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
            "load before": f"{os.getloadavg()[0]:.2f}",
        }

    def add(self, workload: Workload, cells: dict[str, Cell]) -> Row:
        limit = 0.0
        if workload.n_bytes and "memory" in self.limits:
            limit = workload.n_bytes / self.limits["memory"]
        if workload.flops and "float32" in self.limits:
            limit = max(limit, workload.flops / self.limits["float32"])
        self.rows.append(Row(workload.name, cells, limit=limit))
        return self.rows[-1]

    def add_row(self, name: str, values: dict[str, Cell], unit: str = "s") -> Row:
        self.rows.append(Row(name, values, unit))
        return self.rows[-1]


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    flags = " ".join(line for line in lines if line.startswith("flags"))
    levels = [name for name in ("avx2", "avx512f", "avx512_bf16") if f" {name} " in f"{flags} "]
    return f"{names[0] if names else platform.machine()} ({', '.join(levels) or 'no AVX2'})"


def text_of(value: float | None, unit: str) -> str:
    """Three digits and a unit."""
    if value is None:
        return "-"
    steps = {"s": ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")), "B": ((1e6, "MB"), (1e3, "kB"))}[unit]
    size, name = next((step for step in steps if value >= step[0]), steps[-1])
    scaled = value / size
    return f"{scaled:.{0 if scaled >= 100 else 1 if scaled >= 10 else 2}f} {name}"


def mark_of(cell: Cell) -> str:
    """A word for a cell without a value."""
    why = cell.get("failed", "")
    return ("wrong" if why.startswith("wrong") else "failed") if why else "-"


def _ratio_text(row: Row) -> str:
    ratio = row.ratio()
    return f"{ratio:.2f}x" if ratio else "-"


def _limit_text(row: Row) -> str:
    ours = row.value(OURS)
    return f"{100 * row.limit / ours:.0f} %" if row.limit and ours else "-"


def print_header(result: Result) -> None:
    print(", ".join(f"{name} {version}" for name, version in result.versions.items()))
    names = "".join(f"{name:>{CELL_WIDTH}}" for name in result.versions)
    print(f"{'median':{NAME_WIDTH}}{names}{'to best':>{CELL_WIDTH}}{'of limit':>{CELL_WIDTH}}", flush=True)


def print_row(result: Result, row: Row) -> None:
    cells = [
        text_of(value, row.unit) if (value := row.value(name)) is not None else mark_of(row.cells.get(name, {}))
        for name in result.versions
    ]
    line = "".join(f"{cell:>{CELL_WIDTH}}" for cell in cells)
    print(f"{row.name:{NAME_WIDTH}}{line}{_ratio_text(row):>{CELL_WIDTH}}{_limit_text(row):>{CELL_WIDTH}}", flush=True)


# ---- files


def _markdown_cell(row: Row, name: str) -> str:
    value = row.value(name)
    if value is None:
        return mark_of(row.cells.get(name, {}))
    text = text_of(value, row.unit)
    if "min" in row.cells[name]:
        text = f"{text} ({text_of(row.cells[name]['min'], row.unit)})"
    best = row.best()
    return f"**{text}**" if name == OURS and best and value <= best[1] else text


def markdown(result: Result) -> str:
    names = list(result.versions)
    lines = ["# Benchmarks", "", "Written by `make bench`; do not edit.", ""]
    lines += [f"- {key}: {value}" for key, value in result.about.items()]
    lines += [f"- versions: {', '.join(f'{name} {version}' for name, version in result.versions.items())}"]
    lines += [f"- without {name}: {reason}" for name, reason in result.missing.items()]
    if result.limits:
        units = {"memory": "GB/s copied or read", "float32": "GFLOP/s"}
        limits = (f"{result.limits[key] / 1e9:.0f} {unit}" for key, unit in units.items() if key in result.limits)
        lines += [f"- limits of the machine, measured in the same run: {', '.join(limits)}"]
    lines += [
        "",
        "Median (minimum) of all samples of alternating rounds. *to best*: the best peer's median over ours, so more"
        " than 1 is faster than every peer; bold where it is. *of limit*: the least time that the machine allows over"
        " ours."
        " Every result was compared with float64 NumPy before it was timed: *wrong* failed that, - is not supported.",
        "",
        "| " + " | ".join(["", *names, "to best", "of limit"]) + " |",
        "|---" * (len(names) + 3) + "|",
    ]
    for row in result.rows:
        cells = [_markdown_cell(row, name) for name in names]
        lines.append("| " + " | ".join([row.name, *cells, _ratio_text(row), _limit_text(row)]) + " |")
    failures = [
        f"- {row.name}, {name}: {cell['failed']}"
        for row in result.rows
        for name, cell in row.cells.items()
        if "failed" in cell
    ]
    if failures:
        lines += ["", "What failed:", "", *failures]
    return "\n".join(lines) + "\n"


def write(result: Result, folder: Path, is_whole: bool) -> None:
    """JSON always; the documentation only of runs that measured every framework and kind of work."""
    docs = folder / "docs" if is_whole else folder / "build"
    for path in (folder / "build", docs):
        path.mkdir(parents=True, exist_ok=True)
    data = {
        "about": result.about,
        "versions": result.versions,
        "missing": result.missing,
        "limits": result.limits,
        "rows": [
            {"name": row.name, "unit": row.unit, "limit": row.limit, "to best": row.ratio(), "cells": row.cells}
            for row in result.rows
        ],
    }
    json_file = folder / "build" / "bench.json"
    json_file.write_text(json.dumps(data, indent=1) + "\n")
    (docs / "benchmarks.md").write_text(markdown(result))
    plot = [str(environment.PYTHON), str(Path(__file__).with_name("plot.py")), str(json_file), str(docs / "bench.png")]
    done = subprocess.run(plot, capture_output=True, text=True)
    if done.returncode:
        print(f"no plot: {done.stderr.strip().splitlines()[-1:]}")
    print(f"wrote {json_file}, {docs / 'benchmarks.md'}" + ("" if done.returncode else f", {docs / 'bench.png'}"))
