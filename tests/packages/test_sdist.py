"""The source archive in dist/: pip makes the same wheel of it."""

import os
import sys
import tarfile
import zipfile

from bare import run, smoke


def test_contents(sdist):
    with tarfile.open(sdist) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert {"meson.build", "pyproject.toml", "LICENSE", "include/mx/mx.h", "tests/meson.build", "PKG-INFO"} <= names
    assert not any(name.startswith((".venv", "build/", "dist/")) for name in names)


def files(wheel: zipfile.ZipFile) -> set[str]:
    return {name for name in wheel.namelist() if not name.endswith("/")}  # auditwheel lists folders as well


def test_wheel_of_sdist(sdist, wheel, tmp_path):
    """In an environment of its own, as pip does it by default: what pyproject.toml asks for is enough."""
    run(sys.executable, "-m", "pip", "-q", "wheel", "--no-deps", "-w", tmp_path, sdist)
    (built,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(built) as mine, zipfile.ZipFile(wheel) as released:
        assert files(mine) == files(released)
    smoke(sys.executable, built, tmp_path)
    assert os.path.getsize(built) < 2 * os.path.getsize(wheel)
