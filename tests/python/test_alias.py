"""pymx.alias in processes of its own: code written for MLX runs on pymx."""

import os
import subprocess
import sys


def python(folder, *arguments):
    env = {k: v for k, v in os.environ.items() if k != "PYTHONSAFEPATH"}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=env, capture_output=True, text=True, timeout=60)


def run(tmp_path, *arguments, **files):
    """A program's lines of output; `files` are written beside it, with / for __ in their names."""
    for name, text in files.items():
        path = tmp_path / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = python(tmp_path, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split("\n")[:-1]


def test_a_script_with_arguments(tmp_path):
    script = """
import sys
import mlx.core as mx
import mlx.core.random
from mlx.core import linalg, fast
assert mx.random is mlx.core.random and mlx.core.linalg is linalg
print(type(mx.array([1, 2])), mx.float32, mx.array([1, 2]) + 1, *sys.argv[1:], __name__)
"""
    [line] = run(tmp_path, "-m", "pymx.alias", "program.py", "a", "-b", program=script)
    assert line == "<class 'mlx.core.array'> mlx.core.float32 array([2, 3], dtype=int32) a -b __main__"


def test_python_parts_of_mlx_are_found_and_its_core_is_hidden(tmp_path):
    files = {
        "mlx__core": "raise RuntimeError('the other one')",
        "mlx__nn____init__": "",
        "mlx__utils": "import mlx.core as mx\nones = mx.ones(2)",
        "program": "import pymx\nfrom mlx.utils import ones\nimport mlx.core\nprint(ones.tolist(), mlx.core is pymx)",
    }
    assert run(tmp_path, "-m", "pymx.alias", "-m", "program", **files) == ["[1.0, 1.0] True"]
    assert run(tmp_path, "-m", "pymx.alias", "program.py") == ["[1.0, 1.0] True"]


def test_imported_by_a_program(tmp_path):
    script = """
import pickle, sys
import pymx.alias
import mlx.core as mx
sys.path.append("later")
import mlx.more
print(mlx.more.x, pickle.loads(pickle.dumps(mx.array([1.5]))))
"""
    lines = run(tmp_path, "-P", "program.py", program=script, later__mlx__more="x = 3")
    assert lines == ["3 array([1.5], dtype=float32)"]


def test_another_core_was_imported(tmp_path):
    script = "try:\n    import mlx.core, pymx.alias\nexcept ImportError as e:\n    print(e)"
    [line] = run(tmp_path, "program.py", program=script, mlx__core="")
    assert "another mlx.core" in line


def test_usage(tmp_path):
    done = python(tmp_path, "-m", "pymx.alias")
    assert done.returncode == 1 and done.stderr.startswith("usage:")
