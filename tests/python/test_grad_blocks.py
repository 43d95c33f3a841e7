"""Derivatives of what the op table does not hold: updates by index, scans of every kind, norms, rotary embedding,
attention, linear algebra. Against central differences in double precision."""

import numpy as np
import pytest

import pymx as mx

f64 = mx.float64


def random(*shape, seed=0):
    return np.random.default_rng(seed).uniform(0.5, 2, shape)


def positive(n, seed=0):
    x = random(n, n, seed=seed)
    return x @ x.T + n * np.eye(n)


def check(f, *args, second=True):
    """Gradients, tangents and second derivatives of f, which takes and returns arrays, at `args`."""
    args = [mx.array(x, f64) for x in args]
    y = f(*args)
    rng = np.random.default_rng(3)
    w = mx.array(rng.uniform(-1, 1, y.shape), f64)
    along = [mx.array(rng.uniform(-1, 1, x.shape), f64) for x in args]
    number = lambda *xs: (f(*xs) * w).sum()  # noqa: E731
    gradient = lambda *xs: mx.vjp(f, xs, [w])[1]  # noqa: E731
    step = 1e-6

    def at(sign):
        return [x + sign * step * t for x, t in zip(args, along, strict=True)]

    slope = (number(*at(1)).item() - number(*at(-1)).item()) / (2 * step)
    got = sum((g * t).sum().item() for g, t in zip(gradient(*args), along, strict=True))
    assert abs(got - slope) < 1e-6 * (1 + abs(slope))
    _, (tangent,) = mx.jvp(f, args, along)
    assert abs((tangent * w).sum().item() - slope) < 1e-6 * (1 + abs(slope))
    if not second:
        return
    _, curvature = mx.vjp(gradient, args, along)
    for c, above, below in zip(curvature, gradient(*at(1)), gradient(*at(-1)), strict=True):
        expected = (np.array(above) - np.array(below)) / (2 * step)
        np.testing.assert_allclose(np.array(c), expected, rtol=1e-4, atol=1e-5)


PLACES = mx.array([2, 0, 2])


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "maximum", "minimum"])
def test_updates_at_places(name):
    places = PLACES if name in ("add", "subtract") else mx.array([2, 0])
    n = places.size
    check(lambda x, u: getattr(x.at[places], name)(u), random(4, 3), random(n, 3, seed=1))
    check(lambda x, u: getattr(x.at[1:3], name)(u), random(4, 3), random(1, 3, seed=1))


def test_assignments():
    def by_array(x, u):
        x = x * 1
        x[mx.array([3, 1])] = u
        return x * x

    def by_slice(x, u):
        x = x * 1
        x[3::-2, 1:] = u
        return x * x

    def by_mask(x, u):
        x = x * 1
        x[mx.array([True, False, True, False])] = u
        return x * x

    check(by_array, random(4, 3), random(2, 3, seed=1))
    check(by_slice, random(4, 3), random(2, seed=1))
    check(by_mask, random(4, 3), random(2, 3, seed=1))
    check(lambda x, u: mx.put_along_axis(x, mx.array([[2], [0]]), u, 1) ** 2, random(2, 3), random(2, 1, seed=1))


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_scans(name, reverse, inclusive, axis):
    def f(x):
        y = getattr(mx, name)(x, axis=axis, reverse=reverse, inclusive=inclusive)
        return mx.where(mx.isfinite(y), y, 0)  # exclusive scans begin with an infinity

    check(f, random(5, 6))


def test_running_products_with_zeros():
    x = random(7)
    x[[2, 5]] = 0
    check(mx.cumprod, x)
    check(lambda x: mx.prod(x), x[:4])
    check(lambda x: mx.prod(x.reshape(2, 2, 3), axis=(0, 2)), np.concatenate([x, x[:5]]))


def test_sums_of_exponentials_over_a_wide_range():
    x = np.array([-800.0, 0.0, 700.0, -300.0, 710.0])
    g = mx.grad(lambda x: mx.logcumsumexp(x).sum())(mx.array(x, f64))
    y = np.logaddexp.accumulate(x)
    expected = [sum(np.exp(x[i] - y[j]) for j in range(i, 5)) for i in range(5)]
    np.testing.assert_allclose(np.array(g), expected, rtol=1e-12)


def test_norms():
    x, w, b = random(3, 5), random(5, seed=1), random(5, seed=2)
    check(lambda x, w, b: mx.fast.layer_norm(x, w, b, 1e-5), x, w, b)
    check(lambda x: mx.fast.layer_norm(x, None, None, 1e-5), x)
    check(lambda x, b: mx.fast.layer_norm(x, None, b, 1e-5), x, b)
    check(lambda x, w: mx.fast.rms_norm(x, w, 1e-5), x, w)
    check(lambda x: mx.fast.rms_norm(x, None, 1e-5), x)


@pytest.mark.parametrize("traditional", [False, True])
def test_rope(traditional):
    turn = lambda x: mx.fast.rope(x, 4, traditional=traditional, base=100.0, scale=0.5, offset=3)  # noqa: E731
    x = mx.array(random(1, 3, 6), mx.float32)
    g, t = mx.array(random(1, 3, 6, seed=1)), mx.array(random(1, 3, 6, seed=2))
    _, (back,) = mx.vjp(turn, [x], [g])
    _, (forth,) = mx.jvp(turn, [x], [t])
    assert np.allclose(np.array(forth), np.array(turn(t)))  # linear
    assert abs((back * t).sum().item() - (g * forth).sum().item()) < 1e-4  # and its transposed


@pytest.mark.parametrize("mask", [None, "causal", "bool", "added"])
@pytest.mark.parametrize("heads", [2, 4])
@pytest.mark.parametrize("sinks", [False, True])
def test_attention(mask, heads, sinks):
    q, k, v = random(2, heads, 3, 4), random(2, 2, 5, 4, seed=1), random(2, 2, 5, 4, seed=2)
    keep = np.ones((3, 5), bool)
    keep[1, 2:] = False
    bias = random(1, heads, 3, 5, seed=3)
    s = random(heads, seed=4)

    def f(q, k, v, *more):
        more = list(more)
        m = {"bool": mx.array(keep), "added": more.pop(0) if mask == "added" else None}.get(mask, mask)
        return mx.fast.scaled_dot_product_attention(q, k, v, scale=0.5, mask=m, sinks=more[0] if sinks else None)

    check(f, q, k, v, *([bias] if mask == "added" else []), *([s] if sinks else []))


def test_linear_algebra():
    a, b = positive(4), random(4, 2, seed=1)
    symmetric = lambda a: (a + a.T) / 2  # noqa: E731
    check(lambda a: mx.linalg.inv(a), a)
    check(lambda a: mx.linalg.inv(a), np.stack([a, positive(4, 5)]))
    check(lambda a: mx.linalg.tri_inv(mx.tril(a)), a)
    check(lambda a, b: mx.linalg.solve(a, b), a, b)
    check(lambda a, b: mx.linalg.solve_triangular(mx.triu(a), b, upper=True), a, b)
    check(lambda a: mx.linalg.cholesky(symmetric(a)), a)
    check(lambda a: mx.linalg.cholesky(symmetric(a), upper=True), a)
    check(lambda a: mx.linalg.eigvalsh(symmetric(a)), a)

    def from_eigh(a):  # signs of the vectors do not count
        w, v = mx.linalg.eigh(symmetric(a))
        return (v * mx.log(w)) @ v.T

    check(from_eigh, a, second=False)
    check(lambda a: mx.linalg.norm(a), a)


def test_products_of_batches():
    check(lambda a, b: a @ b, random(2, 3, 4), random(4, 5, seed=1))
    check(lambda a, b: a @ b, random(3, 4), random(2, 4, 5, seed=1))
    check(lambda a, b: a @ b, random(2, 1, 3, 4), random(3, 4, 5, seed=1))
    check(lambda a, b: a @ b, random(4), random(4, seed=1))
    check(lambda c, a, b: mx.addmm(c, a, b, 0.5, 2.0), random(5), random(2, 3, 4), random(4, 5, seed=1))
    check(lambda a, b: mx.gather_mm(a, b, None, mx.array([1, 0, 1])), random(3, 2, 4), random(2, 4, 5, seed=1))
    check(mx.convolve, random(6), random(3, seed=1))


def test_mapped_functions():
    x, w = random(3, 4), random(4, seed=1)
    check(lambda x, w: mx.vmap(lambda row: mx.sin(row) * w)(x), x, w)
    g = mx.vmap(mx.grad(lambda row: (row**3).sum()))(mx.array(x, f64))
    np.testing.assert_allclose(np.array(g), 3 * x**2)
    g = mx.grad(lambda x: mx.vmap(mx.grad(lambda row: (row**3).sum()))(x).sum())(mx.array(x, f64))
    np.testing.assert_allclose(np.array(g), 6 * x)
