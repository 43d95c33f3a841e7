"""What a process pays before and after any work: import and first op, peak memory, exit; and what lies on disk.

Each sample is a new process. Its own clock and /proc/self/status are used: the parent's memory does not count."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
import time
from statistics import median
from typing import Any

import environment

FIRST_OP = {
    "pymx": "import pymx as mx; mx.eval(mx.ones(8) + 1)",
    "numpy": "import numpy as np; np.ones(8, np.float32) + 1",
    "numexpr": "import numexpr, numpy as np; x = np.ones(8, np.float32); numexpr.evaluate('x + 1')",
    "numba": "import numba, numpy as np; numba.njit(lambda x: x + 1)(np.ones(8, np.float32))",
    "mlx": "import mlx.core as mx; mx.set_default_device(mx.cpu); mx.eval(mx.ones(8) + 1)",
    "jax": "import jax.numpy as jnp; (jnp.ones(8) + 1).block_until_ready()",
    "torch": "import torch; torch.ones(8) + 1",
    "inductor": "import torch; torch.compile(lambda x: x * 2 + 1)(torch.ones(8))",
}
DISTRIBUTIONS = {"inductor": "torch"}
ROWS = ["import + first op", "peak memory", "exit", "largest shared library", "size on disk, with dependencies"]
ROWS_OF_BYTES = {ROWS[1], ROWS[3], ROWS[4]}

_PROBE = """
import os, time
start = time.monotonic()
{code}
end = time.monotonic()
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
os.write(1, f"{{end - start}} {{peak * 1024}} {{time.monotonic()}}\\n".encode())
"""

_SIZE = """
import importlib.metadata as metadata, os, re, sys
seen, largest = {{}}, 0
def add(name):
    global largest
    name = re.sub("[-_.]+", "-", name).lower()
    if name in seen:
        return
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return
    paths = [str(file.locate()) for file in found.files or [] if not str(file).endswith(".pyc")]
    sizes = {{path: os.path.getsize(path) for path in paths if os.path.exists(path)}}
    seen[name] = sum(sizes.values())
    largest = max([largest, *(size for path, size in sizes.items() if re.search(r"[.]so([.0-9]*)$", path))])
    for requirement in found.requires or []:
        if "extra ==" not in requirement or name == "mlx" and "cpu" in requirement:
            add(re.match(r"[A-Za-z0-9_.-]+", requirement).group())
add({name!r})
print(largest, sum(seen.values()))
"""


def measure(frameworks: list[str], n_threads: int, rounds: int) -> dict[str, dict[str, dict[str, Any]]]:
    """Per row and framework: min and median, or why not."""
    env = environment.threads_environment(n_threads)
    samples: dict[str, dict[str, list[float]]] = {row: {} for row in ROWS[:3]}
    cells: dict[str, dict[str, dict[str, Any]]] = {row: {} for row in ROWS}
    for _ in range(rounds):
        for name in frameworks:
            if "failed" in cells[ROWS[0]].get(name, {}):
                continue
            found = _process(name, env)
            if isinstance(found, str):
                cells[ROWS[0]][name] = {"failed": found}
                continue
            for row, value in zip(ROWS, found, strict=False):
                samples[row].setdefault(name, []).append(value)
    for row, by_name in samples.items():
        cells[row] |= {name: {"min": min(xs), "median": median(xs)} for name, xs in by_name.items()}
    for name in frameworks:
        code = _SIZE.format(name=DISTRIBUTIONS.get(name, name))
        done = subprocess.run(
            [environment.interpreter(name), "-P", "-c", code], capture_output=True, text=True, env=env
        )
        if done.returncode == 0:
            for row, size in zip(ROWS[3:], done.stdout.split(), strict=True):
                cells[row][name] = {"median": float(size)}
    return cells


def _process(name: str, env: dict[str, str]) -> tuple[float, float, float] | str:
    """Seconds to the first result, peak bytes, seconds from the last statement to the end of the process."""
    code = _PROBE.format(code=FIRST_OP[name])
    if name == "pymx":  # the .pth files of this environment import what it has nothing to do with
        env = {**env, "PYTHONPATH": sysconfig.get_path("platlib")}
    process = subprocess.Popen(
        [str(environment.PYTHON), "-P", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    )
    assert process.stdout and process.stderr
    line = process.stdout.readline()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    end = time.monotonic()
    _, errors = process.communicate()
    if process.returncode or not line:
        return f"status {process.returncode}: {errors.decode()[-200:]}"
    first, peak, last = (float(x) for x in line.split())
    return first, peak, end - last


if __name__ == "__main__":
    names = [name for name in FIRST_OP if name != "inductor"]
    print(json.dumps(measure(names, 2, 5), indent=1))
