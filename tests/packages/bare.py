"""Bare environments: nothing is there but Python and the package under test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15")


def run(*command: object, **options: object) -> str:
    done = subprocess.run(list(map(str, command)), text=True, capture_output=True, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def only(pattern: str) -> Path:
    found = list((ROOT / "dist").glob(pattern))
    assert len(found) == 1, f"dist/ should have one {pattern}: {found}"
    return found[0]


def interpreters() -> dict[str, str]:
    """The Pythons of this machine that the wheel is for: in PATH, or pyenv's."""
    places = [*map(Path, os.environ["PATH"].split(":")), *Path.home().glob(".pyenv/versions/*/bin")]
    found = {f"{sys.version_info[0]}.{sys.version_info[1]}": sys.executable}
    for version in VERSIONS:
        for place in places:
            python = place / f"python{version}"
            if version in found or ".pyenv/shims" in str(place) or not os.access(python, os.X_OK):
                continue
            code = "import sys, venv, ensurepip; print(sys.version_info[:2])"
            if subprocess.run([python, "-c", code], capture_output=True).returncode == 0:
                found[version] = str(python)
    return found


def smoke(python: str, package: Path, folder: Path) -> None:
    """Installs the package where there is nothing else, then uses it with no compiler in reach."""
    run(python, "-m", "venv", folder / "venv")
    bin = folder / "venv/bin"
    run(bin / "pip", "--disable-pip-version-check", "-q", "install", "--only-binary", ":all:", package)
    bare = {"PATH": str(bin), "HOME": str(folder)}
    out = run(bin / "python", "-I", ROOT / "tests/packages/smoke.py", cwd=folder, env=bare)
    assert re.fullmatch(r"ok \d+\.\d+\.\d+ \w+\n", out), out
