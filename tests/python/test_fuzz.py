"""Short runs of the fuzzers in tests/fuzz, with fixed seeds: random graphs, in processes of several executors and
levels, and random calls of the C ABI."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parents[1] / "fuzz" / "run.py"
CALLS = RUN.with_name("calls.py")


@pytest.mark.parametrize(
    ("graphs", "variables"),
    [(240, {}), (60, {"MX_JIT": "0"}), (60, {"MX_JIT": "always"}), (60, {"MX_ISA": "v3"}), (60, {"MX_ISA": "v2"})],
)
def test_random_graphs(graphs, variables):
    arguments = [sys.executable, RUN, "--seed", "7", "--graphs", str(graphs)]
    done = subprocess.run(arguments, env=os.environ | variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_result_is_found_and_made_small():
    """A fault planted into one way of evaluating: the fuzzer must see it and print a program of one step."""
    code = f"""
import sys
sys.path.insert(0, {str(RUN.parent)!r})
import pymx as mx
import compare, run
def wrong(graph):
    f = compare.WAYS["alone"]
    return [mx.where(mx.isnan(x), x, x + 1) if x.dtype == mx.float32 else x for x in f(graph)]
compare.WAYS.clear()
compare.WAYS["alone"] = compare._alone
compare.WAYS["planted"] = wrong
print(sum(not run.fuzz_one(number, True) for number in range(7000000, 7000020)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "planted" in done.stdout and "def f(" in done.stdout and int(done.stdout.split()[-1]) > 3


@pytest.mark.skipif(shutil.which("cc") is None, reason="reading the headers takes a C compiler")
@pytest.mark.parametrize("threads", [1, 6])
def test_random_calls(threads):
    command = [sys.executable, CALLS, "--calls", "3000", "--threads", str(threads)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("cc") is None, reason="reading the headers takes a C compiler")
@pytest.mark.parametrize(
    ("planted", "said"),
    [("return 5", "status 5"), ("args[0][0] = 7; return 1", "was written"), ("os.abort()", "ended with -6 in mx_abs(")],
)
def test_a_wrong_call_is_found(planted, said, tmp_path):
    """A fault planted into one function: an internal error, an output of a failed call, a crash."""
    code = f"""
import os, sys
sys.path.insert(0, {str(CALLS.parent)!r})
import calls
from pymx._ffi import lib
class Planted:
    def __getattr__(self, name): return wrong if name == "mx_abs" else getattr(lib, name)
def wrong(*args):
    {planted}
def plant(caller):
    caller.lib = Planted()
    caller.functions = [f for f in caller.functions if f.name in ("abs", "add")]
calls.prepare = plant
sys.exit(calls.main())
"""
    program = tmp_path / "planted.py"
    program.write_text(code)
    done = subprocess.run(
        [sys.executable, program, "--calls", "300", "--processes", "1"], capture_output=True, text=True
    )
    assert done.returncode == 1 and said in done.stdout, done.stdout + done.stderr
