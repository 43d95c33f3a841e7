"""What common calls cost in Python, next to MLX's binding (nanobind): the same source in both, in a process each, alone
and beside a Python thread that computes. Nothing is evaluated but where the row says so.

usage: overhead.py [SECONDS]"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from statistics import median
from typing import Any

import environment
from sampling import sample, sample_shared, spinning

CALLS = [
    "a.shape",
    "a.dtype",
    "a.ndim",
    "a + b",
    "a * 2.0",
    "-a",
    "a == b",
    "a @ a",
    "a[0]",
    "a[1:3, None]",
    "a.reshape(16)",
    "a.T",
    "a.sum()",
    "mx.exp(a)",
    "mx.maximum(a, b)",
    "mx.where(m, a, b)",
    "mx.mean(a, axis=-1, keepdims=True)",
    "mx.concatenate([a, b])",
    "mx.zeros((4, 4))",
    "mx.array(1.0)",
    "s.item()",
    "mx.eval(a + b)",
    "mx.eval(f(a))",
]
_SETUP = """
a, b, s = mx.ones((4, 4)), mx.full((4, 4), 2.0), mx.array(1.5)
m = a < b
f = mx.compile(lambda x: x * 2 + 1)
mx.eval(a, b, s, m, f(a))
"""


def measure(name: str, seconds: float) -> dict[str, tuple[float, float]]:
    """Of each call the seconds alone and beside the busy thread."""
    mx = importlib.import_module("mlx.core" if name == "mlx" else "pymx")
    mx.set_default_device(mx.cpu)
    scope: dict[str, Any] = {"mx": mx}
    exec(_SETUP, scope)
    calls = {call: eval(f"lambda: {call}", scope) for call in CALLS}
    alone = {call: median(sample(f, seconds)) for call, f in calls.items()}
    with spinning():
        busy = {call: median(sample_shared(f, seconds, 3)) for call, f in calls.items()}
    return {call: (alone[call], busy[call]) for call in CALLS}


def _child(name: str, seconds: float) -> dict[str, tuple[float, float]]:
    command = [environment.interpreter(name), __file__, str(seconds), name]
    done = subprocess.run(command, capture_output=True, text=True, env=environment.threads_environment(2))
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr[-300:]}")
    found: dict[str, tuple[float, float]] = json.loads(done.stdout)
    return found


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.1
    if len(sys.argv) > 2:
        print(json.dumps(measure(sys.argv[2], seconds)))
        return
    for name, reason in environment.ensure(["mlx"]).items():
        raise SystemExit(f"without {name}: {reason}")
    ours, theirs = _child("pymx", seconds), _child("mlx", seconds)
    print(f"{'ns per call':38}{'pymx':>8}{'MLX':>8}{'ratio':>7}   {'busy':>8}{'MLX':>8}{'ratio':>7}")
    ratios: tuple[list[float], list[float]] = [], []
    for call in CALLS:
        line = f"{call:38}"
        for i, ratio in enumerate(ratios):
            x, y = ours[call][i], theirs[call][i]
            ratio.append(x / y)
            line += f"{x * 1e9:8.0f}{y * 1e9:8.0f}{x / y:7.2f}   "
        print(line.rstrip())
    print(f"{'median ratio':54}{median(ratios[0]):7.2f}{median(ratios[1]):26.2f}")


if __name__ == "__main__":
    main()
