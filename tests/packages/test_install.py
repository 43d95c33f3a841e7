"""The C library alone: `meson install` without the Python package, found by pkg-config and CMake, also when moved."""

import os
import re
import shutil

import pytest
from bare import ROOT, run


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("install")
    run("meson", "setup", folder / "b", ROOT, "-Dpython=false", "-Dwerror=true", f"--prefix={folder}/first")
    run("meson", "install", "-C", folder / "b", "--quiet")
    (folder / "first").rename(folder / "prefix")  # nothing in it may say where it was
    return folder / "prefix"


@pytest.fixture(scope="module")
def libdir(prefix):
    (library,) = prefix.rglob("libmx.so")
    return library.parent


def test_contents(prefix, libdir):
    files = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()}
    inside = str(libdir.relative_to(prefix))
    assert not [f for f in files if "python" in f or f.endswith((".py", ".a"))]
    assert {f"{inside}/pkgconfig/mx.pc", f"{inside}/cmake/libmx/libmx-config.cmake", "include/mx/mx.hpp"} <= files
    soname = re.search(r"SONAME.*?\[(.*?)\]", run("readelf", "-d", libdir / "libmx.so"))
    assert soname and re.fullmatch(r"libmx\.so\.\d+\.\d+", soname[1]) and (libdir / soname[1]).is_symlink()


def test_pkg_config(libdir, tmp_path):
    env = os.environ | {"PKG_CONFIG_PATH": str(libdir / "pkgconfig"), "LD_LIBRARY_PATH": str(libdir)}
    flags = run("pkg-config", "--cflags", "--libs", "mx", env=env).split()
    run("cc", "-std=c11", "-Wall", "-Werror", ROOT / "examples/c/add.c", "-o", tmp_path / "add", *flags)
    assert run(tmp_path / "add", env=env).split() == ["2", "4", "6"]


def test_cmake(prefix, tmp_path):
    if not shutil.which("cmake"):
        pytest.skip("cmake is not installed")
    run("cmake", "-S", ROOT / "examples/cmake", "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path)
    assert run(tmp_path / "add_cpp").split() == ["12", "24", "36"]
