"""Every op of the table of test_op_table.py mapped over an axis, against a loop over what lies along that axis."""

import itertools

import numpy as np
import pytest
from test_op_table import TABLE, as_list, bits, host, operand, ours

import pymx as mx

LANES = 3


def dtype_of(row):
    return "float32" if "float32" in row.dtypes else row.dtypes[0]


def lanes_of(row, dtype, cut):
    """For every operand an array of each lane."""
    return [
        [ours(operand(dtype, *domain, row.special, 7 * lane + k)[cut]) for lane in range(LANES)]
        for k, domain in enumerate(row.domains)
    ]


def check(row, got, expected):
    assert len(got) == len(expected)
    for x, y in zip(got, expected, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if row.wide:  # the order of additions follows the shape
            tolerance = row.factor * 1e-5
            np.testing.assert_allclose(host(x), host(y), rtol=tolerance, atol=tolerance)
        else:
            assert bits([x]) == bits([y])


CUTS = {"matrix": (2, ...), "vector": (1, 0), "scalar": (0, (1, 2))}  # dimensions of a lane, which part of the operand
CASES = [(name, cut) for name, row in TABLE.items() for cut, (n_dims, _) in CUTS.items() if n_dims >= row.least]


@pytest.mark.parametrize(("name", "cut"), CASES)
def test_mapped_op(name, cut):
    row = TABLE[name]
    lanes = lanes_of(row, dtype_of(row), CUTS[cut][1])
    f = row.call or getattr(mx, name)
    run = lambda *args: as_list(f(*args))  # noqa: E731
    for mapped in itertools.product([True, False], repeat=len(lanes)):
        if not any(mapped):
            continue
        single = [x if m else x[:1] * LANES for x, m in zip(lanes, mapped, strict=True)]
        results = [run(*args) for args in zip(*single, strict=True)]
        for axis in sorted({0, lanes[0][0].ndim, -1}):
            args = [mx.stack(x, axis) if m else x[0] for x, m in zip(lanes, mapped, strict=True)]
            axes = tuple(axis if m else None for m in mapped)
            expected = [mx.stack(list(each), -1) for each in zip(*results, strict=True)]
            check(row, mx.vmap(run, axes, -1)(*args), expected)


@pytest.mark.parametrize("name", [name for name, row in TABLE.items() if len(row.domains) > 1])
def test_operands_with_lanes_at_different_places(name):
    row = TABLE[name]
    lanes = lanes_of(row, dtype_of(row), ...)
    f = row.call or getattr(mx, name)
    run = lambda *args: as_list(f(*args))  # noqa: E731
    results = [run(*args) for args in zip(*lanes, strict=True)]
    expected = [mx.stack(list(each)) for each in zip(*results, strict=True)]
    axes = tuple((2 - k) % 3 for k in range(len(lanes)))
    check(row, mx.vmap(run, axes)(*[mx.stack(x, axis) for x, axis in zip(lanes, axes, strict=True)]), expected)


@pytest.mark.parametrize("name", [name for name, row in TABLE.items() if row.shapeless])
def test_mapped_op_compiled_for_any_shape(name):
    """Traced with other sizes: what can be replayed gives the same when it is mapped."""
    row = TABLE[name]
    f = row.call or getattr(mx, name)
    mapped = mx.vmap(lambda *args: as_list(f(*args)))
    compiled = mx.compile(mapped, shapeless=True)
    wide = [mx.stack(x) for x in lanes_of(row, dtype_of(row), ...)]
    for args in ([x[:2, :4, :5] for x in wide], wide):
        check(row, compiled(*args), mapped(*args))
    assert compiled.cache_info().traces == 1
