"""Draws a result of run.py: per row, where every framework's time lies relative to the best peer's, on a log scale.

usage: plot.py BENCH.json OUT.png (with matplotlib: the bench's own environment)"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

OURS = "pymx"
MARKERS = {
    "pymx": "D",
    "numpy": "o",
    "numexpr": "v",
    "numba": "^",
    "mlx": "s",
    "jax": "P",
    "torch": "X",
    "inductor": "*",
}


def relative(row: dict[str, Any]) -> dict[str, float]:
    """Medians over the best peer's median."""
    medians = {name: cell["median"] for name, cell in row["cells"].items() if cell.get("median")}
    peers = [value for name, value in medians.items() if name != OURS]
    return {name: value / min(peers) for name, value in medians.items()} if peers else {}


def draw(data: dict[str, Any], path: Path) -> None:
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    rows = [(row["name"], points) for row in data["rows"] if (points := relative(row))]
    figure, axes = pyplot.subplots(figsize=(10, 1.5 + 0.24 * len(rows)), layout="constrained")
    for i in range(0, len(rows), 2):
        axes.axhspan(i - 0.5, i + 0.5, color="0.96", zorder=0)
    axes.axvline(1, color="0.5", linewidth=1, zorder=1)
    for name in data["versions"]:
        xs = [points[name] for _, points in rows if name in points]
        ys = [i for i, (_, points) in enumerate(rows) if name in points]
        ours = name == OURS
        color = {"color": "crimson"} if ours else {}
        marker = MARKERS.get(name, ".")
        axes.scatter(xs, ys, s=46 if ours else 28, marker=marker, label=name, zorder=3 if ours else 2, **color)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("median relative to the best peer's (left is better)")
    axes.grid(axis="x", which="major", color="0.85")
    about = data["about"]
    axes.set_title(f"{about['cpu']}, {about['threads']} threads, {about['date']}", fontsize=9)
    figure.legend(ncols=8, fontsize=8, loc="outside lower center")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
