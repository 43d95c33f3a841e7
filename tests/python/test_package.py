"""The package: its surface against the headers, and building C programs with it."""

import inspect
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import pymx as mx
from pymx._ffi import fast, lib

BY_HAND = {
    *(
        "check",
        "set_errors",
        "set_array_class",
        "set_drain",
        "set_long_eval",
        "interpreter_ends",
        "leak",
        "eval",
        "tolist",
    ),
    *("copy_buffer", "borrow_buffer", "dlpack_export", "dlpack_import", "dlpack_release", "BufferBase", "CompiledBase"),
}


def test_surface():
    """cffi declares every function of the headers, builtins exist for those marked MX_NOWAIT."""
    text = "".join(p.read_text() for p in Path(mx.get_include(), "mx").glob("*.h"))
    functions = re.findall(r"^MX_API ([^;(]*?)mx_(\w+)\(([^;]*);", text, re.MULTILINE)
    assert {f"mx_{name}" for _, name, _ in functions} == {
        n for n in dir(lib) if re.match(r"mx_[a-z_0-9]+$", n) and callable(getattr(lib, n))
    }
    callbacks = {name for _, name, params in functions if "(*" in params or "_fn " in params}
    marked = {name for marks, name, _ in functions if "MX_NOWAIT" in marks} - callbacks
    assert marked == {name for name in vars(fast) if not name.startswith("__")} - BY_HAND


def test_namespace():
    """What mlx.core has and this package claims to have."""
    for name in (
        "array",
        "float32",
        "compile",
        "eval",
        "random",
        "linalg",
        "fast",
        "pi",
        "newaxis",
        "concatenate",
        "save",
    ):
        assert hasattr(mx, name)
    assert mx.newaxis is None and mx.inf > 0 and abs(mx.e - 2.718281828) < 1e-8
    assert re.fullmatch(r"\d+\.\d+\.\d+", mx.__version__)


def test_import_is_light():
    """What only some functions need is imported by these."""
    heavy = "{'ctypes', 'numpy', 'cffi', 'asyncio', 'inspect', 'typing'}"
    code = f"import sys; before = set(sys.modules); import pymx; print(*{heavy} & (sys.modules.keys() - before))"
    assert subprocess.check_output([sys.executable, "-P", "-c", code], text=True).strip() == ""


def test_eval_is_a_builtin_with_a_signature():
    assert str(inspect.signature(mx.eval)) == "(*args, timeout=None)" and "Computes all arrays" in mx.eval.__doc__
    a = mx.array([1.0, 2.0])
    assert mx.eval(a + 1, {"x": [a * 2, None, "text"]}, 3) is None
    assert mx.eval() is None


@pytest.mark.skipif(shutil.which("pkg-config") is None, reason="pkg-config is not installed")
def test_c_program_builds_against_the_package(tmp_path):
    (entry,) = entry_points(group="pkg_config", name="mx")
    assert entry.value == "pymx.lib.pkgconfig"
    env = os.environ | {"PKG_CONFIG_PATH": f"{mx.get_library_dir()}/pkgconfig", "LD_LIBRARY_PATH": mx.get_library_dir()}
    flags = subprocess.check_output(["pkg-config", "--cflags", "--libs", "mx"], env=env, text=True).split()
    source = tmp_path / "a.c"
    source.write_text("#include <mx/mx.h>\nint main(void) { return mx_version() != 1; }\n")
    subprocess.check_call(["cc", source, "-o", tmp_path / "a", *flags])
    subprocess.check_call([tmp_path / "a"], env=env)


def test_isa_cap():
    code = "import pymx; print(pymx.isa())"
    out = subprocess.check_output([sys.executable, "-c", code], env=os.environ | {"MX_ISA": "v2"}, text=True)
    assert out.strip() in ("v2", "base")


def test_import_is_lean() -> None:
    """Modules of the standard library that take long to import wait until somebody needs them."""
    code = "import sys; before = set(sys.modules); import pymx; print(*(set(sys.modules) - before))"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    loaded = subprocess.check_output([sys.executable, "-S", "-c", code], env=env, text=True).split()
    assert "pymx.array" in loaded
    assert not set(loaded) & {"asyncio", "ctypes", "inspect", "json", "numbers", "numpy", "re", "threading", "typing"}
