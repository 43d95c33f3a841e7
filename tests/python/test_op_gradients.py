"""The rows of the op table again, for their derivatives: gradients against central differences of the references, which
NumPy computes in double precision; tangents against gradients, and second derivatives against differences of first
ones."""

import warnings

import numpy as np
import pytest
from test_op_table import COMPLEX, TABLE, as_list, operand, ours

import pymx as mx

# Rows whose op has no derivative, or that index by what derives from the operand.
WITHOUT = {"view", "to_fp8", "from_fp8", "argpartition"}
# Rows whose derivative is by definition not that of their values.
ROUGH = {"stop_gradient"}


def inexact(xs):
    return [x for x in xs if mx.issubdtype(x.dtype, mx.inexact)]


class Case:
    """One op at one point: the operands, and weights that make a number of its results."""

    def __init__(self, name, dtype):
        self.row = TABLE[name]
        self.f = self.row.call or getattr(mx, name)
        rng = np.random.default_rng(7)
        base = [operand(dtype, *domain, False, seed)[:3, :4] for seed, domain in enumerate(self.row.domains)]
        # away from one another, so that no two elements change places within a step
        self.x = [(b + rng.uniform(-1e-3, 1e-3, b.shape)).astype(b.dtype) for b in base]
        self.args = [ours(x) for x in self.x]
        self.outputs = inexact(as_list(self.f(*self.args)))
        self.w = [self.random(rng, y) for y in self.outputs]
        self.t = [self.random(rng, x) for x in self.args]

    def random(self, rng, like):
        w = rng.uniform(-1, 1, like.shape)
        if mx.issubdtype(like.dtype, mx.complexfloating):
            w = w + 1j * rng.uniform(-1, 1, like.shape)
        return mx.array(w, like.dtype)

    def run(self, *args):
        return inexact(as_list(self.f(*args)))

    def gradients(self, *args):
        return mx.vjp(self.run, args, self.w)[1]

    def number(self, x):
        """The weighted sum of the reference's results, in double precision."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = [np.asarray(y) for y in as_list(self.row.reference(*x))]
        results = [y for y in results if y.dtype.kind in "fc"]
        return sum((np.asarray(w, np.complex128).conj() * y).real.sum() for w, y in zip(self.w, results, strict=True))

    def differences(self, step):
        """Central differences in every element of every operand, as gradients are: imaginary parts count with i."""
        wide = [x.astype(np.complex128 if np.iscomplexobj(x) else np.float64) for x in self.x]
        found = []
        for x in wide:
            g = np.zeros_like(x)
            for place in np.ndindex(x.shape):
                for unit in (1, 1j) if np.iscomplexobj(x) else (1,):
                    kept = x[place]
                    x[place] = kept + unit * step
                    above = self.number(wide)
                    x[place] = kept - unit * step
                    g[place] += unit * (above - self.number(wide)) / (2 * step)
                    x[place] = kept
            found.append(g)
        return found


def dot(xs, ys):
    return sum((np.asarray(x, np.complex128).conj() * np.asarray(y)).real.sum() for x, y in zip(xs, ys, strict=True))


def rows():
    for name, row in TABLE.items():
        if name in WITHOUT:
            continue
        real = next((d for d in ("float64", "float32") if d in row.dtypes), None)
        numbers = [d for d in (real, *(d for d in COMPLEX[:1] if d in row.dtypes)) if d]
        for dtype in numbers:
            yield pytest.param(name, dtype, id=f"{name}-{dtype}")


@pytest.mark.parametrize(("name", "dtype"), list(rows()))
def test_gradient(name, dtype):
    case = Case(name, dtype)
    if not case.outputs:
        return  # nothing but truth values and indices
    gradients = case.gradients(*case.args)
    assert [(g.shape, g.dtype) for g in gradients] == [(x.shape, x.dtype) for x in case.args]
    close = 1e-5 if dtype == "float64" and case.outputs[0].dtype == mx.float64 else 2e-3
    if name not in ROUGH:
        for g, expected in zip(gradients, case.differences(1e-6), strict=True):
            np.testing.assert_allclose(np.array(g), expected, rtol=close, atol=close)
    # <w, J t> = <J^T w, t>
    _, tangents = mx.jvp(case.run, case.args, case.t)
    assert [(t.shape, t.dtype) for t in tangents] == [(y.shape, y.dtype) for y in case.outputs]
    scale = 1 + abs(dot(case.w, tangents))
    assert abs(dot(case.w, tangents) - dot(gradients, case.t)) < close * scale


@pytest.mark.parametrize(
    "name", [name for name, row in TABLE.items() if "float64" in row.dtypes and name not in WITHOUT]
)
def test_second_derivative(name):
    case = Case(name, "float64")
    if not case.outputs:
        return
    _, second = mx.vjp(lambda *x: mx.vjp(case.run, x, case.w)[1], case.args, case.t)
    step = 1e-5
    moved = [[x + sign * step * t for x, t in zip(case.args, case.t, strict=True)] for sign in (1, -1)]
    above, below = (case.gradients(*x) for x in moved)
    # the matrix of second derivatives is symmetric: its product with t from either side
    for got, high, low in zip(second, above, below, strict=True):
        expected = (np.array(high) - np.array(low)) / (2 * step)
        close = 1e-4 if case.outputs[0].dtype == mx.float64 else 2e-2
        np.testing.assert_allclose(np.array(got), expected, rtol=close, atol=close)


@pytest.mark.parametrize("name", ["view", "to_fp8"])
def test_ops_without_a_derivative_say_so(name):
    x = mx.array([1.0, 2.0])
    f = {"view": lambda x: mx.view(x, mx.int32), "to_fp8": mx.to_fp8}[name]
    y = f(x)
    with pytest.raises(NotImplementedError, match=name):
        mx.vjp(f, [x], [mx.ones_like(y)])
