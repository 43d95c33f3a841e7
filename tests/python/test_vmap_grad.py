"""vmap beside derivatives: each inside the other, and custom functions with a rule for mappings."""

import numpy as np
import pytest

import pymx as mx


def rand(*shape, seed=0):
    return mx.array(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def close(a, b, tolerance=1e-4):
    assert a.shape == b.shape
    np.testing.assert_allclose(np.array(a), np.array(b), rtol=tolerance, atol=tolerance)


def loss(w, x):
    return mx.square(mx.tanh(x @ w)).sum()


def test_a_gradient_for_each_lane():
    w, x = rand(3, 2), rand(5, 4, 3)
    each = mx.stack([mx.grad(loss)(w, row) for row in x])
    close(mx.vmap(mx.grad(loss), (None, 0))(w, x), each)
    values, gradients = mx.vmap(mx.value_and_grad(loss), (None, 0))(w, x)
    close(values, mx.stack([loss(w, row) for row in x]))
    close(gradients, each)


def test_the_gradient_of_a_mapping():
    w, x = rand(3, 2), rand(5, 4, 3)
    mapped = lambda w, x: mx.vmap(loss, (None, 0))(w, x).sum()  # noqa: E731
    plain = lambda w, x: sum(loss(w, row) for row in x)  # noqa: E731
    for k in (0, 1):
        close(mx.grad(mapped, k)(w, x), mx.grad(plain, k)(w, x))
    closure = lambda w: mx.vmap(lambda row: loss(w, row))(x).sum()  # noqa: E731
    close(mx.grad(closure)(w), mx.grad(lambda w: plain(w, x))(w))


def test_jacobians_and_hessians():
    f = lambda x: mx.sin(x) * x[::-1]  # noqa: E731
    x, eye = rand(4), mx.eye(4)
    by_rows = mx.vmap(lambda v: mx.vjp(f, [x], [v])[1][0])(eye)
    by_columns = mx.vmap(lambda v: mx.jvp(f, [x], [v])[1][0], out_axes=1)(eye)
    expected = np.diag(np.cos(np.array(x)) * np.array(x)[::-1])
    expected += np.diag(np.sin(np.array(x)))[:, ::-1]
    close(by_rows, mx.array(expected.astype(np.float32)))
    close(by_columns, by_rows)
    g = lambda x: (x**3).sum()  # noqa: E731
    hessian = mx.vmap(lambda v: mx.jvp(mx.grad(g), [x], [v])[1][0])(eye)
    close(hessian, mx.diag(6 * x))


def test_gradients_inside_mappings_inside_gradients():
    w, x = rand(3), rand(5, 3)
    inner = mx.grad(lambda w, row: mx.sin((w * row).sum()))
    f = lambda w: mx.vmap(inner, (None, 0))(w, x).sum()  # noqa: E731
    plain = lambda w: sum(inner(w, row).sum() for row in x)  # noqa: E731
    close(mx.grad(f)(w), mx.grad(plain)(w))
    close(mx.compile(mx.grad(f))(w), mx.grad(plain)(w))


def test_compiled_function_of_a_gradient_inside_a_mapping():
    compiled = mx.compile(lambda g: 2 * g)
    x = rand(5, 3)
    close(mx.vmap(lambda row: compiled(mx.grad(lambda r: (r**2).sum())(row)))(x), 4 * x)


def test_a_rule_for_mappings():
    seen = []

    @mx.custom_function
    def f(x, y):
        return x * y["k"]

    @f.vmap
    def rule(primals, axes):
        seen.append((primals[0].shape, axes))
        return primals[0] * 100 + primals[1]["k"].sum(), 0

    x, k = rand(3, 4), mx.array(2.0)
    close(mx.vmap(lambda x: f(x + 1, {"k": k}) - 1)(x), (x + 1) * 100 + 2 - 1)
    assert seen == [((3, 4), (0, {"k": None}))]
    close(f(x, {"k": k}), 2 * x)  # outside: the function
    nested = mx.vmap(mx.vmap(lambda x: f(x, {"k": k})))(rand(2, 3, 4))
    close(nested, rand(2, 3, 4) * 100 + 2)


def test_results_of_a_rule():
    @mx.custom_function
    def f(x):
        return {"a": x, "b": x}

    axes = {"a": 1, "b": None}
    f.vmap(lambda x, axis: ({"a": x.T, "b": mx.array([1.0, 2.0])}, axes))
    out = mx.vmap(f)(rand(3, 4))
    close(out["a"], rand(3, 4))
    close(out["b"], mx.array([[1.0, 2.0]] * 3))
    f.vmap(lambda x, axis: x)
    with pytest.raises(ValueError, match="tuple"):
        mx.vmap(f)(rand(3, 4))
    f.vmap(lambda x, axis: (x[:2], 0))
    with pytest.raises(ValueError, match="vmap"):
        mx.vmap(f)(rand(3, 4))
