"""The virtual environment of the peers, build/bench-venv, apart from the project's own; and the interpreters to run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / "build" / "bench-venv"
PYTHON = VENV / "bin" / "python"

# What pip installs for each peer; of torch a `+cpu` build is taken where an index has one.
REQUIREMENTS = {
    "numpy": "numpy",
    "numexpr": "numexpr",
    "numba": "numba",
    "mlx": "mlx[cpu]",
    "jax": "jax",
    "torch": "torch==2.13.0",
    "inductor": "torch==2.13.0",
    "matplotlib": "matplotlib",
    "pytest": "pytest",  # a row of tests/teardown/matrix.py
}
MODULES = {"mlx": "mlx.core", "inductor": "torch"}
INSTALL_LIMIT = 1800  # seconds


def interpreter(framework: str) -> str:
    """pymx is where this process's packages are."""
    return sys.executable if framework == "pymx" else str(PYTHON)


def ensure(names: list[str]) -> dict[str, str]:
    """Installs what is missing; what cannot be had comes back with the reason, and the bench goes on without it."""
    missing: dict[str, str] = {}
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    for name in dict.fromkeys(names):
        if name == "pymx":
            if not _imports(sys.executable, "pymx"):
                missing[name] = f"not installed in {sys.prefix}"
        elif not _imports(str(PYTHON), MODULES.get(name, name)):
            print(f"installing {REQUIREMENTS[name]} into {VENV.relative_to(ROOT)}", flush=True)
            reason = _install(REQUIREMENTS[name])
            if reason:
                missing[name] = reason
    return missing


def _imports(python: str, module: str) -> bool:
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module.split('.')[0]!r}) is None)"
    return subprocess.run([python, "-P", "-c", code], capture_output=True).returncode == 0


def _install(requirement: str) -> str:
    """The reason why not, or nothing."""
    pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "-q", "install", requirement]
    try:
        done = subprocess.run(pip, capture_output=True, text=True, timeout=INSTALL_LIMIT)
    except subprocess.TimeoutExpired:
        return f"pip install {requirement}: took too long"
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return f"pip install {requirement}: {lines[-1] if lines else done.stderr[-200:]}" if done.returncode else ""


def threads_environment(n_threads: int) -> dict[str, str]:
    """The variables that bound every framework's threads."""
    names = ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR", "NUMEXPR_MAX", "MX")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OPENBLAS", "PYTHON"))}
    env.update(
        {f"{name}_NUM_THREADS" if name != "NUMEXPR_MAX" else "NUMEXPR_MAX_THREADS": str(n_threads) for name in names}
    )
    env["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={'true' if n_threads > 1 else 'false'}"
    env["JAX_PLATFORMS"] = "cpu"
    return env


def bound_to(n_threads: int) -> set[int]:
    """The CPUs to run on: as many as threads, since some frameworks only look at these."""
    return set(sorted(os.sched_getaffinity(0))[:n_threads])
