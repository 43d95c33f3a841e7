"""What the tests of vmap share: a loop over the lanes, which says what a mapped function must give."""

import numpy as np

import pymx as mx


def rand(*shape, seed=0):
    return mx.array(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def loop(f, axes, out_axis, *args):
    """What vmap(f, axes, out_axis) must give: a call for each lane."""
    n = next(x.shape[a] for x, a in zip(args, axes, strict=True) if a is not None)
    lanes = []
    for i in range(n):
        # copies of what all lanes share: the function may update it
        cut = [mx.array(x) if a is None else mx.take(x, mx.array(i), axis=a) for x, a in zip(args, axes, strict=True)]
        lanes.append(f(*cut))
    if isinstance(lanes[0], mx.array):
        return mx.stack(lanes, out_axis)
    return [mx.stack(list(each), out_axis) for each in zip(*lanes, strict=True)]


def close(got, expected, tolerance=1e-5):
    if not isinstance(expected, mx.array):
        # the message: pytest tells values in test files only
        assert len(got) == len(expected), (len(got), len(expected))
        for x, y in zip(got, expected, strict=True):
            close(x, y, tolerance)
        return
    kinds = [(x.dtype, x.shape) for x in (got, expected)]
    assert kinds[0] == kinds[1], kinds
    np.testing.assert_allclose(np.array(got), np.array(expected), rtol=tolerance, atol=tolerance)


def agree(f, axes, *args, out_axis=0, tolerance=1e-5):
    close(mx.vmap(f, axes, out_axis)(*args), loop(f, axes, out_axis, *args), tolerance)
