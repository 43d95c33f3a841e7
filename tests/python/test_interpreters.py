"""Several interpreters in one process: each has its own classes, whichever imports first and whichever ends."""

import sys

import pytest
from helpers import run_python

HEAD = """
import sys
old = sys.version_info < (3, 13)
interpreters = __import__("_xxsubinterpreters" if old else "_interpreters")
def create(legacy=True):
    if old: return interpreters.create(isolated=not legacy)
    return interpreters.create("legacy" if legacy else "isolated")
def run(other, code):
    failure = interpreters.run_string(other, code)
    assert failure is None, failure
"""
CHECK = """
import pymx as mx
a = mx.ones((3,)) + 1
assert isinstance(a, mx.array) and a.dtype is mx.float32 and a.tolist() == [2.0] * 3
assert mx.compile(lambda x: x * 2)(a).tolist() == [4.0] * 3
try: mx.array([1]) + 2**70
except mx.errors.RangeError: pass
try: a.reshape(7)
except ValueError: pass
try: mx.load("/nowhere.npy")
except mx.errors.FileError: pass
"""


def run(body):
    code = HEAD + f"check = {CHECK!r}\n" + body
    out = run_python(code)
    assert (out.returncode, out.stderr) == (0, "")


@pytest.mark.parametrize("order", ["main first", "main last", "main never"])
def test_classes_belong_to_their_interpreter(order):
    """Two others import; one ends in between. Whoever is left has its own exceptions, dtypes and arrays."""
    run(
        ("exec(check)\n" if order == "main first" else "")
        + "first, second = create(), create()\n"
        + "run(first, check); run(second, check); run(first, check)\n"
        + "interpreters.destroy(first)\n"
        + "run(second, check)\n"
        + ("" if order == "main never" else "exec(check)\n")
        + "third = create(); run(third, check); interpreters.destroy(second); run(third, check)\n"
        + "interpreters.destroy(third)\n"
        + ("" if order == "main never" else "exec(check)\n")
    )


@pytest.mark.skipif(sys.version_info < (3, 12), reason="interpreters with a GIL of their own are there from 3.12 on")
def test_isolated_interpreters_are_refused():
    run(
        "other = create(legacy=False)\n"
        "code = 'try: import pymx\\nexcept ImportError as e: assert len(str(e).splitlines()) == 1\\nelse: assert 0'\n"
        "run(other, code)\n"
    )
