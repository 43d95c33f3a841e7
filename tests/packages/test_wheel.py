"""The wheel in dist/: one for all Pythons from 3.11 on and all Linux distributions of some years."""

import re
import zipfile

import pytest
from bare import VERSIONS, interpreters, run, smoke

PYTHONS = interpreters()


def test_tags(wheel):
    """auditwheel found no symbol and no library that older systems lack, and grafted none."""
    assert re.fullmatch(r"pymx-[\d.]+-cp311-abi3-manylinux_2_\d+_x86_64[\w.]*\.whl", wheel.name), wheel.name
    assert "is consistent with" in run("auditwheel", "show", wheel)
    with zipfile.ZipFile(wheel) as z:
        names = z.namelist()
    assert not any(".libs/" in name for name in names)


def test_contents(wheel):
    with zipfile.ZipFile(wheel) as z:
        names = {re.sub(r"pymx-[\d.]+\.dist-info", "dist-info", name) for name in z.namelist()}
    for name in (
        "pymx/_mx.abi3.so",
        "pymx/lib/libmx.so",
        "pymx/lib/pkgconfig/mx.pc",
        "pymx/lib/cmake/libmx/libmx-config.cmake",
        "pymx/include/mx/mx.h",
        "pymx/include/mx/mx.hpp",
        "pymx/py.typed",
        "pymx/_mx.pyi",
        "dist-info/licenses/LICENSE",
    ):
        assert name in names, name
    stray = [n for n in names if not n.startswith(("pymx/", "dist-info/")) or n.endswith((".c", ".cpp", ".a", ".o"))]
    assert not stray


@pytest.mark.parametrize("version", VERSIONS)
def test_bare_environment(wheel, version, tmp_path):
    if version not in PYTHONS:
        pytest.skip(f"there is no Python {version} on this machine")
    smoke(PYTHONS[version], wheel, tmp_path)
