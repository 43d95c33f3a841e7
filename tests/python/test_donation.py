"""A call writes into the memory of an input that nobody else needs, and into no other."""

import numpy as np
import pytest

import pymx as mx


def address(x):
    return np.asarray(x, copy=False).__array_interface__["data"][0]


@pytest.mark.parametrize("n", [16, 1000, 100_000])
def test_inputs_are_donated(n):
    f = mx.compile(lambda x: mx.sin(x) + 1)
    mx.eval(f(mx.zeros((n,))))
    x = mx.zeros((n,)) + 0
    mx.eval(x)
    before = address(x)
    y = f(x)
    del x
    mx.eval(y)
    assert address(y) == before
    assert y[:3].tolist() == [1, 1, 1]


@pytest.mark.parametrize("n", [16, 1000, 100_000])
def test_what_is_still_needed_is_not_donated(n):
    f = mx.compile(lambda x, y: mx.sin(x) + y)
    constants = [mx.zeros((n,)) + 0]
    zeros = mx.compile(lambda: mx.sin(constants[0]) + 1)
    mx.eval(constants)
    mx.eval(zeros())
    constants.clear()
    assert zeros()[:2].tolist() == zeros()[:2].tolist() == [1, 1]
    for keep in (lambda x: x, lambda x: x[1:], memoryview, lambda x: f(x, x)):
        x = mx.zeros((n,)) + 0
        mx.eval(x)
        kept = keep(x)
        y = f(x, mx.array(1.0))
        del x
        mx.eval(y)
        assert y[:2].tolist() == [1, 1] and kept[0:2].tolist() == [0, 0]
    x = mx.zeros((n,)) + 0
    mx.eval(x)
    y = f(x, x)
    del x
    assert y[:2].tolist() == [0, 0]
