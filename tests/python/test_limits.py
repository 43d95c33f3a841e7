"""Sizes and numbers at the edge: long and wide graphs, many axes, shapes beyond 32 bits, denormals, signed zeros, NaN
payloads, infinities. Right or a clear error; fused and compiled as eager, bit for bit."""

import itertools

import numpy as np
import pytest

import pymx as mx

FLOATS = ["float16", "float32", "float64"]


def bits(x):
    """The bits of an array's elements, one NaN for all."""
    x = np.array(x)
    x = np.where(np.isnan(x), np.asarray(np.nan, x.dtype), x) if x.dtype.kind == "f" else x
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")


def of(x):
    """The array of a NumPy array, float64 included."""
    return mx.array(x, {"float64": mx.float64}.get(x.dtype.name))


def evaluated(xs):
    mx.eval(xs)
    return xs


# ---- graphs


@pytest.mark.parametrize("n", [300, 100_000])
def test_long_chains(n):
    x = mx.array([0.5, -2.0, 3.0])

    def chain(y):
        for i in range(n):
            y = y + 1 if i % 3 else y * -0.5
        return y

    expected = np.array([0.5, -2.0, 3.0], np.float32)
    for i in range(n):
        expected = expected + np.float32(1) if i % 3 else expected * np.float32(-0.5)
    compiled = mx.compile(chain)
    for got in (chain(x), compiled(x), compiled(x)):
        assert np.array_equal(np.array(got), expected)


def test_long_chain_on_several_blocks_and_threads():
    x = mx.random.uniform(shape=(100_003,))
    y = x
    for i in range(300):
        y = mx.sqrt(y * y + i) - y * 0.25
    step = x
    for i in range(300):
        step = evaluated(mx.sqrt(step * step + i) - step * 0.25)
    assert np.array_equal(bits(y), bits(step))


def test_64_inputs_and_64_outputs():
    xs = [mx.random.uniform(-1, 1, (3, 5 if i % 2 else 1)) for i in range(64)]

    def f(*xs):
        return [xs[i] * xs[(i + 7) % 64] + xs[(i * 5) % 64] for i in range(64)]

    compiled = mx.compile(f)
    expected = [evaluated(evaluated(xs[i] * xs[(i + 7) % 64]) + xs[(i * 5) % 64]) for i in range(64)]
    for got in (f(*xs), compiled(*xs), compiled(*xs)):
        assert all(np.array_equal(bits(g), bits(e)) for g, e in zip(evaluated(got), expected, strict=True))


def test_kernels_beyond_the_budget_of_a_loop_are_split():
    """More operands and more instructions than one loop has room for."""
    xs = [mx.random.uniform(0.5, 1, (17, 3)) for _ in range(300)]

    def f(*xs):
        y = xs[0]
        for x in xs[1:]:
            y = mx.tanh(y * x + 0.25) / (x + 1)
        return y

    step = xs[0]
    for x in xs[1:]:
        step = evaluated(mx.tanh(evaluated(evaluated(step * x) + 0.25)))
        step = evaluated(step / evaluated(x + 1))
    compiled = mx.compile(f)
    for got in (f(*xs), compiled(*xs), compiled(*xs)):
        assert np.array_equal(bits(got), bits(step))
    assert mx.explain(compiled, *xs).count("  over (17, 3)") > 1


def test_ten_axes_in_any_order():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(2, 3) * 5).astype(np.float32)
    f = mx.compile(lambda x, y: (x * y + x, (x - y).max(axis=(0, 3, 8)), mx.exp(x).sum(axis=tuple(range(10)))))
    for _ in range(5):
        order = [int(i) for i in rng.permutation(10)]
        x = a.transpose(order)
        y = np.broadcast_to(
            rng.normal(size=[n if i % 3 else 1 for i, n in enumerate(x.shape)]).astype(np.float32), x.shape
        )
        fma, top, total = evaluated(f(mx.array(a).transpose(order), mx.array(y)))
        assert np.array_equal(np.array(fma), x * y + x)
        assert np.array_equal(np.array(top), (x - y).max(axis=(0, 3, 8)))
        assert abs(total.item() - np.exp(x.astype(float)).sum()) < 1e-6 * np.exp(np.abs(x.astype(float))).sum()


# ---- shapes

HUGE = [2**30, 2**31 - 2, 2**31 - 1]  # one more is refused: see test_sizes_have_32_bits


@pytest.mark.parametrize("n", HUGE)
def test_views_beyond_32_bits(n):
    """Of up to 1.3e10 elements."""
    x = mx.arange(6.0).reshape(2, 3, 1)
    wide = mx.broadcast_to(x, (2, 3, n))
    assert wide.size == 6 * n and wide.nbytes == 24 * n
    assert wide[1, 2, n - 1].item() == 5 and wide[0, 1, -n].item() == 1
    assert wide[:, 1, n - 3 :: 2].tolist() == [[1, 1], [4, 4]]
    turned = wide.transpose(2, 1, 0)
    assert turned.shape == (n, 3, 2) and turned[n - 2].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert turned[::-1][5, 0, 1].item() == 3
    f = mx.compile(lambda w: (w[..., n - 2 :] * 2).sum(axis=-1))
    assert f(wide).tolist() == [[0, 4, 8], [12, 16, 20]] == f(wide).tolist()
    with pytest.raises(IndexError):
        wide[0, 0, n]


@pytest.mark.parametrize("n", HUGE)
def test_empty_shapes_beyond_32_bits(n):
    empty = mx.broadcast_to(mx.zeros((0, 1)), (0, n))
    assert (empty + 1).shape == (0, n) and evaluated(empty * 2).size == 0
    assert mx.broadcast_to(mx.zeros((1, 0)), (n, 0)).sum(axis=0).tolist() == []


def test_what_does_not_fit_is_refused():
    x = mx.zeros((1,))
    with pytest.raises(MemoryError):
        mx.eval(mx.broadcast_to(x, (2**22, 2**23)) + 1)
    with pytest.raises(MemoryError):
        mx.eval(mx.broadcast_to(x, (2**22, 2**11, 2**12)).reshape(2**22, -1)[::2] * 2)
    with pytest.raises((ValueError, OverflowError)):
        mx.broadcast_to(x, (2**62, 4))
    with pytest.raises((ValueError, OverflowError)):
        mx.zeros((2**31, 2**33))
    assert (x + 1).item() == 1


# ---- numbers


@pytest.mark.parametrize("n", [1, 7, 100_000])
@pytest.mark.parametrize("dtype", FLOATS)
def test_denormals_are_kept(dtype, n):
    """On the calling thread and on the pool's."""
    tiny = np.finfo(dtype).smallest_subnormal
    x = np.full(n, tiny, dtype) * np.arange(1, n + 1).clip(max=50).astype(dtype)
    f = mx.compile(lambda x: (x + x, x * 1, x - x / 2, -x, mx.abs(-x), mx.maximum(x, 0), x > 0, x.max(), x.sum()))
    with np.errstate(all="ignore"):
        expected = [x + x, x * 1, x - x / 2, -x, x, x, x > 0, x.max(), x.astype("f8").sum().astype(dtype)]
    a = of(x)
    for got in (evaluated(f(a)), evaluated(f(a))):
        assert all(np.array_equal(np.array(g), e) for g, e in zip(got[:-1], expected[:-1], strict=True))
        assert got[-1].item() == pytest.approx(float(expected[-1]), rel=1e-3 if dtype == "float16" else 1e-6)
    assert mx.exp(mx.array([-100.0])).item() > 0 and mx.sqrt(mx.array([1e-45])).item() > 3e-23


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.0, -3.0, 6e-8, 65504.0]
PAIRS = np.array(list(itertools.product(SPECIAL, SPECIAL))).T
BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "arctan2", "logaddexp", "power"]
COMPARE = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or"]
UNARY = ["negative", "abs", "sign", "square", "floor", "ceil", "trunc", "round", "sqrt", "reciprocal", "exp", "expm1"]
UNARY += ["log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh"]
UNARY += ["arcsinh", "arccosh", "arctanh", "isnan", "isinf", "isfinite", "logical_not"]


def same_special(got, expected):
    """The same zeros with their signs, infinities and NaNs; other numbers are judged by other tests."""
    got, expected = np.array(got), np.asarray(expected).astype(np.array(got).dtype)
    if got.dtype == bool:
        return np.array_equal(got, expected)
    special = ~np.isfinite(expected) | (expected == 0)
    a, b = got[special], expected[special]
    return (
        np.array_equal(a, b, equal_nan=True)
        and np.array_equal(np.signbit(a[a == 0]), np.signbit(b[a == 0]))
        and np.all(np.isfinite(got[~special]))
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [*BINARY, *COMPARE])
def test_all_pairs_of_special_numbers(name, dtype):
    a, b = (x.astype(dtype) for x in PAIRS)
    f = mx.compile(getattr(mx, name))
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(a.astype("f8"), b.astype("f8")).astype(bool if name in COMPARE else dtype)
    if name in ("maximum", "minimum"):  # which zero is larger is left open
        both = (a == 0) & (b == 0)
        a, b, expected = a[~both], b[~both], expected[~both]
    eager = evaluated(getattr(mx, name)(of(a), of(b)))
    assert same_special(eager, expected)
    assert np.array_equal(bits(eager), bits(f(of(a), of(b))))
    one = [getattr(mx, name)(of(x), of(y)).item() for x, y in zip(a[:30], b[:30], strict=True)]
    assert np.array_equal(bits(np.array(one, np.array(eager).dtype)), bits(eager)[:30])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_special_numbers(name, dtype):
    x = np.array(SPECIAL, dtype)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x.astype("f8"))
        expected = expected if expected.dtype == bool else expected.astype(dtype)
    assert same_special(getattr(mx, name)(of(x)), expected)
    assert same_special(mx.compile(getattr(mx, name))(of(x)), expected)


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
def test_nan_payloads_survive_what_only_moves(dtype):
    quiet = {"uint16": 0x7E00, "uint32": 0x7FC00000, "uint64": 0x7FF8000000000000}[dtype]
    signalling = {"uint16": 0x7D01, "uint32": 0x7FA00001, "uint64": 0x7FF4000000000001}[dtype]
    to = {"uint16": mx.float16, "uint32": mx.float32, "uint64": mx.float64}[dtype]
    raw = np.array(
        [[quiet | 0x55, signalling, 5], [signalling | 1 << (8 * np.dtype(dtype).itemsize - 1), quiet, 0]], dtype
    )
    x = evaluated(mx.array(raw).view(to))

    def f(x):
        moved = [x.T, x[:, ::-1], mx.concatenate([x, x]), x[1], mx.pad(x, 1)[1:-1, 1:-1]]
        moved += [
            mx.take(x, mx.array([1, 0]), axis=0),
            mx.broadcast_to(x, (2, 2, 3)),
            mx.contiguous(x.T),
            mx.stack([x, x]),
        ]
        return moved

    expected = [
        raw.T,
        raw[:, ::-1],
        np.concatenate([raw, raw]),
        raw[1],
        raw,
        raw[::-1],
        np.broadcast_to(raw, (2, 2, 3)),
    ]
    expected += [raw.T, np.stack([raw, raw])]
    for got in (f(x), mx.compile(f)(x)):
        for g, e in zip(got, expected, strict=True):
            assert np.array_equal(np.array(mx.contiguous(g).view(getattr(mx, dtype))), e)


@pytest.mark.parametrize("n", [2, 9, 1000, 70_001])
@pytest.mark.parametrize("dtype", FLOATS)
def test_reductions_of_infinities(dtype, n):
    inf, nan = np.inf, np.nan
    cases = [(inf, 0, inf), (-inf, 0, -inf), (inf, -inf, nan), (nan, inf, nan), (0.0, nan, nan)]
    for first, last, total in cases:
        x = np.zeros((3, n), dtype)
        x[:, 0], x[:, -1] = first, last
        for axis, a in ((1, of(x)), (0, of(np.ascontiguousarray(x.T)))):
            got = [mx.sum(a, axis), mx.mean(a, axis), mx.max(a, axis), mx.min(a, axis), mx.logsumexp(a, axis)]
            with np.errstate(all="ignore"):
                tops = [x.max(1), x.min(1)]
            want = [np.full(3, total), np.full(3, total), *tops]
            for g, w in zip(got[:4], want, strict=True):
                assert np.array_equal(np.array(g), w.astype(dtype), equal_nan=True), (first, last, axis)
            if first == inf and last == 0:
                assert np.array(got[4]).tolist() == [inf] * 3
    assert mx.logsumexp(mx.full((4,), -inf)).item() == -inf
    assert np.isnan(np.array(mx.softmax(mx.array([inf, 0.0, 1.0])))).any()
