"""The C programs of the bench: c_overhead.c against the installed library, limits.c for the machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import environment
from environment import ROOT

FOLDER = ROOT / "build" / "bench"
LIMIT = 300  # seconds


def _run(*command: str, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=LIMIT)
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name}: status {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def _build(source: str, *flags: str) -> str:
    FOLDER.mkdir(parents=True, exist_ok=True)
    program = FOLDER / Path(source).stem
    _run("cc", "-std=gnu11", str(Path(__file__).with_name(source)), "-o", str(program), *flags)
    return str(program)


def limits(n_threads: int) -> dict[str, float]:
    """Bytes per second from or to memory, and float32 operations per second."""
    program = _build("limits.c", "-O3", "-march=native", "-lpthread")
    return {name: float(value) for name, value in (line.split() for line in _run(program, str(n_threads)).splitlines())}


def overhead(n_threads: int) -> dict[str, dict[str, Any]]:
    """Seconds per call of the C interface: min and median by name."""
    pymx = [sys.executable, "-P", "-m", "pymx"]
    flags = _run(*pymx, "--cflags", "--libs").split()
    program = _build("c_overhead.c", "-O2", *flags, f"-Wl,-rpath,{_run(*pymx, '--libdir').strip()}")
    lines = _run(program, env=environment.threads_environment(n_threads)).splitlines()
    cells = (line.split("\t") for line in lines)
    return {name: {"min": float(least), "median": float(middle)} for name, least, middle in cells}
