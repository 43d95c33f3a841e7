"""Each example of the C ABI, built as its first lines say, against the package as installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pymx as mx

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
LIBRARY = Path(mx.get_library_dir())
FLAGS = [f"-I{mx.get_include()}", f"-L{LIBRARY}", "-lmx", f"-Wl,-rpath,{LIBRARY}"]
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]


def run(*command: object, **options: object) -> str:
    done = subprocess.run(list(map(str, command)), text=True, capture_output=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def need(command: str) -> str:
    found = shutil.which(command)
    if not found:
        pytest.skip(f"{command} is not installed")
    return found


def test_c(tmp_path):
    run(os.environ.get("CC", "cc"), "-std=c11", *STRICT, EXAMPLES / "c/add.c", "-o", tmp_path / "add", *FLAGS)
    assert run(tmp_path / "add").split() == ["2", "4", "6"]


def test_cpp(tmp_path):
    run(os.environ.get("CXX", "c++"), "-std=c++20", *STRICT, EXAMPLES / "cpp/add.cpp", "-o", tmp_path / "add", *FLAGS)
    assert run(tmp_path / "add").split() == ["12", "24", "36"]


def test_ctypes():
    code = EXAMPLES / "ctypes/add.py"
    assert run(sys.executable, "-I", code, LIBRARY / "libmx.so").split() == ["2", "4", "6"]


def test_rust(tmp_path):
    rustc = [need("rustc"), "--edition", "2021", "-Dwarnings"]
    flat, source, crate = (tmp_path / name for name in ("mx.i.h", "mx.rs", "libmx.rlib"))
    header = Path(mx.get_include(), "mx/mx.h")
    run("cc", "-E", "-P", "-DMX_CFFI", f"-I{mx.get_include()}", "-x", "c", header, "-o", flat)
    tools = ROOT / "tools"
    run(sys.executable, tools / "gen_rust.py", flat, source, env=os.environ | {"PYTHONPATH": str(tools)})
    run(*rustc, "--crate-type", "rlib", "--crate-name", "mx", source, "-o", crate)
    link = [f"-L{LIBRARY}", f"-Clink-arg=-Wl,-rpath,{LIBRARY}"]
    run(*rustc, EXAMPLES / "rust/add.rs", "--extern", f"mx={crate}", *link, "-o", tmp_path / "add")
    assert run(tmp_path / "add").split() == ["2", "4", "6"]


def test_cmake(tmp_path):
    cmake = need("cmake")
    prefix = LIBRARY.parent
    run(cmake, "-S", EXAMPLES / "cmake", "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}")
    run(cmake, "--build", tmp_path)
    assert run(tmp_path / "add_c").split() == ["2", "4", "6"]
    assert run(tmp_path / "add_cpp").split() == ["12", "24", "36"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("{0}.{1}", True), ("{0}.{1}.0", True), ("{0}.{1}.999", False), ("{0}.{2}", False), ("{3}.0", False)],
)
def test_cmake_versions(tmp_path, wanted, found):
    """A version is found if it may stand for the wanted one: before 1.0 the minor version must be the same."""
    cmake = need("cmake")
    major, minor = map(int, mx.__version__.split(".")[:2])
    wanted = wanted.format(major, minor, minor + 1, major + 1)
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.16)\nproject(p NONE)\nfind_package(libmx {wanted} REQUIRED)\n"
    )
    command = [cmake, "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={LIBRARY.parent}"]
    done = subprocess.run(command, text=True, capture_output=True)
    assert (done.returncode == 0) == found, done.stdout + done.stderr
