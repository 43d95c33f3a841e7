"""A short run of the fuzzer in tests/fuzz, with fixed seeds, in processes of several executors and levels."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parents[1] / "fuzz" / "run.py"


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
