"""vmap: axes and trees, what the table of ops does not reach, nesting, and misuse."""

import gc
import importlib
import threading
import weakref

import numpy as np
import pytest

import pymx as mx
from pymx._ffi import fast

call_rule = importlib.import_module("pymx.vmap").call_rule


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
        assert len(got) == len(expected)
        for x, y in zip(got, expected, strict=True):
            close(x, y, tolerance)
        return
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(np.array(got), np.array(expected), rtol=tolerance, atol=tolerance)


def agree(f, axes, *args, out_axis=0, tolerance=1e-5):
    close(mx.vmap(f, axes, out_axis)(*args), loop(f, axes, out_axis, *args), tolerance)


# ---- axes and trees


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("out_axis", [0, 1, -1])
def test_axes(axis, out_axis):
    agree(lambda x: mx.cumsum(x, 0) - 1, (axis,), rand(2, 3, 4), out_axis=out_axis)


def test_an_output_that_all_lanes_share_is_repeated():
    constant = mx.array([1.0, 2.0])
    out = mx.vmap(lambda x: (constant, x))(mx.zeros(3))
    assert out[0].tolist() == [[1, 2]] * 3
    assert mx.vmap(lambda x: constant, out_axes=1)(mx.zeros(3)).tolist() == [[1] * 3, [2] * 3]
    assert mx.vmap(lambda x: mx.ones_like(x[0]))(mx.zeros((3, 5))).tolist() == [1] * 3


def test_an_output_axis_of_none_is_the_last():
    x = rand(3, 2)
    close(mx.vmap(lambda x: x, out_axes=None)(x), x.T)


def test_no_lanes():
    out = mx.vmap(lambda x, y: (x @ y, mx.sort(x, 0)), (0, None))(mx.zeros((0, 2, 3)), mx.zeros((3, 4)))
    assert [x.shape for x in out] == [(0, 2, 4), (0, 2, 3)]


def test_trees():
    x = {"w": rand(3, 2), "b": [rand(2, 3), rand(2)]}
    f = lambda t, k: {"sum": t["w"] + t["b"][0] * k, "parts": (t["b"][1], k)}  # noqa: E731
    out = mx.vmap(f, ({"w": 0, "b": [1, None]}, 0), {"sum": 1, "parts": 0})(x, mx.arange(3))
    close(out["sum"], x["w"].T + x["b"][0] * mx.arange(3))
    close(out["parts"][0], mx.stack([x["b"][1]] * 3))
    close(out["parts"][1], mx.arange(3))
    # one argument: the axes of the argument, or of the list of arguments
    close(mx.vmap(lambda t: t["w"], {"w": 1})({"w": x["w"]}), x["w"].T)
    close(mx.vmap(lambda t: t["w"], ({"w": 1},))({"w": x["w"]}), x["w"].T)
    close(mx.vmap(lambda t: t[0] + t[1], (0, None))((x["w"], x["b"][1])), x["w"] + x["b"][1])


def test_the_function_keeps_its_name():
    def scale(x: mx.array) -> mx.array:
        """Scales."""
        return 2 * x

    mapped = mx.vmap(scale)
    assert (mapped.__name__, mapped.__doc__, mapped.__wrapped__) == ("scale", "Scales.", scale)


@pytest.mark.parametrize(
    ("in_axes", "out_axes", "args"),
    [
        (0, 0, (mx.array(1.0),)),
        (0, 0, ("hello",)),
        (0, 0, ()),
        ("axis", 0, (mx.zeros(2),)),
        (0, "axis", (mx.zeros(2),)),
        (1.0, 0, (mx.zeros(2),)),
        (1, 0, (mx.zeros(2),)),
        (-2, 0, (mx.zeros(2),)),
        (0, 1, (mx.zeros(2),)),
        (0, -2, (mx.zeros(2),)),
        (None, 0, (mx.zeros(2),)),
        ((0, 0), 0, ([mx.zeros(2), mx.zeros(2), mx.zeros(2)],)),
        ({"a": 0}, 0, ({"b": mx.zeros(2)},)),
        (0, (0, 0), (mx.zeros(2),)),
        (0, 0, (mx.zeros(2), mx.zeros(3))),
        ((0, 1), 0, (mx.zeros((2, 3)), mx.zeros((2, 3)))),
    ],
)
def test_bad_axes(in_axes, out_axes, args):
    with pytest.raises(ValueError, match="vmap"):
        mx.vmap(lambda *args: args[0], in_axes, out_axes)(*args)
    with pytest.raises(mx.TraceError):  # nothing is left open
        mx.vmap(lambda x: x.item())(mx.zeros(2))


def test_only_functions_are_mapped():
    with pytest.raises(TypeError, match="vmap"):
        mx.vmap(3)
    with pytest.raises(ValueError, match="result"):
        mx.vmap(lambda x: 3)(mx.zeros(2))


# ---- values inside


def test_placeholders_have_no_value():
    kept = []

    def look(x, y):
        kept.append(x)
        assert (x.shape, x.dtype) == ((3,), mx.float32)
        with pytest.raises(ValueError):
            mx.eval(x)
        with pytest.raises(ValueError):
            mx.async_eval(x + 1)
        with pytest.raises(ValueError):
            x.tolist()
        mx.eval(y)  # no placeholder
        return x + y

    close(mx.vmap(look, (0, None))(rand(2, 3), mx.ones(3)), rand(2, 3) + 1)
    with pytest.raises(ValueError):
        mx.eval(kept[0])


def test_a_failed_function_leaves_nothing_open():
    for _ in range(100):  # more than traces may be nested
        with pytest.raises(KeyError):
            mx.vmap(lambda x: {}[x.shape])(mx.zeros(3))
    gc.collect()
    before = mx.handle_count()
    with pytest.raises(KeyError):
        mx.vmap(lambda x: {}[x.shape])(mx.zeros(3))
    gc.collect()
    assert mx.handle_count() == before


def test_updates_in_place():
    def f(x, i, v):
        x[i] = v
        x[1:] += 10
        return x

    x = rand(3, 4)
    expected = np.array(x)
    for lane, (i, v) in enumerate(zip([0, 3, 1], [7, 8, 9], strict=True)):
        expected[lane, i] = v
    expected[:, 1:] += 10
    close(mx.vmap(f)(x, mx.array([0, 3, 1]), mx.array([7.0, 8, 9])), mx.array(expected))
    shared = mx.zeros(4)
    assert mx.vmap(f, (None, 0, 0))(shared, mx.array([0, 3]), mx.array([7.0, 8])).shape == (2, 4)
    assert shared.tolist() == [0] * 4


def test_nodes_that_derive_from_no_lane_are_computed_once():
    drawn = mx.vmap(lambda x: x * 0 + mx.random.uniform(shape=(2,)))(mx.zeros((3, 2)))
    assert drawn[0].tolist() == drawn[1].tolist() == drawn[2].tolist()


def test_keys_of_each_lane():
    keys = mx.random.split(mx.random.key(3), 4)
    draw = lambda key: mx.random.normal((3, 2), key=key)  # noqa: E731
    agree(draw, (0,), keys)
    agree(draw, (1,), keys.T)
    agree(lambda key: mx.random.split(key, 2), (0,), keys)
    agree(lambda key: mx.random.randint(0, 99, (5,), key=key), (0,), keys)
    agree(lambda key: mx.random.permutation(7, key=key), (0,), keys)
    agree(lambda x, key: mx.random.categorical(x, num_samples=6, key=key), (0, 0), rand(4, 5), keys)


# ---- by index: which of the operands differ between the lanes

WHICH = [(m, n) for m in (0, 1, None) for n in (0, 1, None) if (m, n) != (None, None)]


def operands(axes, *shapes, limit=None):
    """An operand of each shape, with three lanes where it has an axis; with a limit: indices below it."""
    out = []
    for k, (axis, shape) in enumerate(zip(axes, shapes, strict=True)):
        full = list(shape)
        if axis is not None:
            full.insert(axis, 3)
        rng = np.random.default_rng(k)
        is_index = limit is not None and k > 0 and limit[k - 1]
        values = rng.integers(-limit[k - 1], limit[k - 1], full) if is_index else rng.normal(size=full)
        out.append(mx.array(values.astype(np.int32 if is_index else np.float32)))
    return out


@pytest.mark.parametrize("axes", WHICH)
def test_gathers(axes):
    x, i = operands(axes, (5, 6), (2, 4), limit=[5])
    for f in (
        lambda x, i: x[i],
        lambda x, i: x[:, i],
        lambda x, i: x[i, i + 1],
        lambda x, i: mx.take(x, i, axis=1),
        lambda x, i: mx.take(x, i),
        lambda x, i: mx.take_along_axis(x, i[:, :1] * mx.ones((1, 6), mx.int32), 0),
        lambda x, i: x[i.astype(mx.uint8), 1:3],
    ):
        agree(f, axes, x, i)


@pytest.mark.parametrize("axes", [(*w, u) for w in WHICH for u in (0, 2, None)])
def test_scatters(axes):
    x, i, v = operands(axes, (5, 6), (4,), (4, 6), limit=[5, 0])

    def assigned(x, i, v):
        x[i] = v
        return x

    for f in (
        assigned,
        lambda x, i, v: x.at[i].add(v),
        lambda x, i, v: x.at[:, i].multiply(v[0, 0]),
        lambda x, i, v: x.at[i, i].maximum(v[:, 0]),
        lambda x, i, v: mx.put_along_axis(x, i[:, None] * mx.ones((1, 6), mx.int32), v, 0),
        lambda x, i, v: x.at[1:5].add(v),
    ):
        agree(f, axes, x, i, v)


@pytest.mark.parametrize("axes", WHICH)
def test_slices_from_a_place_that_is_an_array(axes):
    x, start = operands(axes, (5, 6), (2,), limit=[9])  # beyond both ends: clipped
    agree(lambda x, start: mx.slice(x, start, (0, 1), (2, 3)), axes, x, start)
    agree(lambda x, start: mx.slice(x, start[:1], (1,), (5, 3)), axes, x, start)
    agree(lambda x, start: mx.slice_update(x, mx.ones((2, 3)), start, (0, 1)), axes, x, start)
    update = rand(3, 2, 3)
    agree(lambda x, start, u: mx.slice_update(x, u, start, (1, 0)), (*axes, 0), x, start, mx.swapaxes(update, 1, 2))


@pytest.mark.parametrize("axes", [(a, m, v) for a in (0, 1, None) for m in (0, 1, None) for v in (0, None)][:-1])
def test_masked_assignment(axes):
    x, _, v = operands(axes, (4, 2), (4,), (9,))
    shape = [4] if axes[1] is None else [3, 4] if axes[1] == 0 else [4, 3]
    rng = np.random.default_rng(1)
    mask = mx.array(rng.random(shape) > 0.5)

    def f(x, mask, v):
        x[mask] = v[:4][:, None]
        return x

    def g(x, mask, v):  # of all elements
        x[mx.stack([mask, mask], 1)] = v
        return x

    agree(f, axes, x, mask, v)
    agree(g, axes, x, mask, v)


@pytest.mark.parametrize("axes", WHICH)
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(axes, side):
    x, v = operands(axes, (40,), (5, 7))
    agree(lambda x, v: fast.searchsorted(mx.sort(x, 0), v, side == "right", None), axes, x, v)


def test_what_all_lanes_must_share():
    """As in MLX, whose tests look for it; the library itself can do more."""
    x = rand(3, 4)
    with pytest.raises(ValueError, match="sorted array of searchsorted"):
        mx.vmap(lambda line: mx.searchsorted(line, x))(x)
    with pytest.raises(ValueError, match="value of pad"):
        mx.vmap(lambda x, v: mx.pad(x, 1, constant_values=v + 1))(x, mx.zeros(3))
    with pytest.raises(ValueError, match="value of pad"):  # of an outer mapping
        mx.vmap(lambda v: mx.vmap(lambda x: mx.pad(x, 1, constant_values=v))(x))(mx.zeros(3))
    line, v = mx.arange(4.0), mx.array(2.0)
    agree(lambda x: mx.searchsorted(line, mx.pad(x, 1, constant_values=v)), (0,), x)


# ---- products, norms, attention


@pytest.mark.parametrize("axes", WHICH)
def test_products(axes):
    vector, matrix, stack = (5,), (4, 5), (2, 4, 5)
    pairs = [
        (matrix, (5, 6)),
        (matrix, vector),
        (vector, (5, 6)),
        (vector, vector),
        (stack, (5, 6)),
        (matrix, (2, 5, 1)),
    ]
    for a, b in pairs:
        agree(mx.matmul, axes, *operands(axes, a, b))


@pytest.mark.parametrize("axes", [(c, *w) for c in (0, 1, None) for w in WHICH] + [(0, None, None), (1, None, None)])
def test_addmm(axes):
    for shape in ((4, 6), (6,)):
        c, a, b = operands(axes, shape, (4, 5), (5, 6))
        agree(lambda c, a, b: mx.addmm(c, a, b, alpha=0.5, beta=2), axes, c, a, b)


@pytest.mark.parametrize("axes", [(x, w, b) for x in (0, 2, None) for w in (0, 1, None) for b in (0, None)][:-1])
def test_norms(axes):
    x, w, b = operands(axes, (4, 6), (6,), (6,))
    agree(lambda x, w, b: mx.fast.layer_norm(x, w, b, 1e-5), axes, x, w, b)
    agree(lambda x, w, b: mx.fast.layer_norm(x, None, b, 1e-5), axes, x, w, b)
    agree(lambda x, w, b: mx.fast.rms_norm(x, w, 1e-5) + b, axes, x, w, b)


@pytest.mark.parametrize("axes", [(0, None), (3, None), (None, 0), (0, 0), (2, 0)])
def test_rope(axes):
    rope = lambda x, offset, freqs=None: mx.fast.rope(  # noqa: E731
        x, 4, traditional=False, base=None if freqs is not None else 1e4, scale=1.0, offset=offset, freqs=freqs
    )
    x, _ = operands(axes, (2, 5, 6), (2,))
    offset = mx.array([3, 1, 7]) if axes[1] == 0 else mx.array(4)
    agree(rope, axes, x, offset)
    offsets = mx.array([[3, 1], [7, 2], [0, 5]]) if axes[1] == 0 else mx.array([4, 2])
    agree(rope, axes, x, offsets)
    freqs = mx.exp(rand(3, 2))
    agree(rope, (*axes, 0), x, offset, freqs)


@pytest.mark.parametrize("axes", [(0, 0, 0, 0, 0), (1, None, None, None, None), (None, 0, 2, None, None)])
@pytest.mark.parametrize("sinks", [0, None])
def test_attention(axes, sinks):
    axes = (*axes[:4], sinks)
    q, k, v, mask, s = operands(axes, (2, 4, 5, 8), (2, 2, 7, 8), (2, 2, 7, 8), (4, 5, 7), (4,))
    f = mx.fast.scaled_dot_product_attention
    agree(lambda q, k, v, mask, s: f(q, k, v, scale=0.3), axes, q, k, v, mask, s)
    agree(lambda q, k, v, mask, s: f(q, k, v, scale=0.3, mask="causal", sinks=s), axes, q, k, v, mask, s)
    agree(lambda q, k, v, mask, s: f(q, k, v, scale=0.3, mask=mask, sinks=s), axes, q, k, v, mask, s)
    agree(lambda q, k, v, mask, s: f(q, k, v, scale=0.3, mask=mask[0], sinks=s), axes, q, k, v, mask, s)
    agree(lambda q, k, v, mask, s: f(q, k, v, scale=0.3, mask=mx.stack([mask, mask])), axes, q, k, v, mask, s)


# ---- linear algebra


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_linear_algebra(axis):
    square = mx.moveaxis(rand(3, 4, 4) + 4 * mx.eye(4), 0, axis)
    for f in (
        mx.linalg.inv,
        lambda x: mx.linalg.cholesky(x @ x.T),
        lambda x: mx.linalg.tri_inv(mx.tril(x)),
        lambda x: mx.linalg.qr(x),
        lambda x: mx.linalg.svd(x, compute_uv=False),
        lambda x: mx.linalg.eigvalsh(x + x.T),
        lambda x: mx.linalg.lu_factor(x),
        lambda x: mx.linalg.lu(x),
        lambda x: mx.linalg.norm(x),
        lambda x: mx.linalg.norm(x, 2),
        lambda x: mx.linalg.pinv(x),
        lambda x: mx.linalg.cross(x[:, :3], x[:, 1:]),
    ):
        agree(lambda x, f=f: [y] if isinstance(y := f(x), mx.array) else list(y), (axis,), square, tolerance=1e-3)


@pytest.mark.parametrize("axes", WHICH)
def test_solve(axes):
    def solve(a, b):
        a = a + 4 * mx.eye(4)
        return mx.linalg.solve(a, b), mx.linalg.solve_triangular(mx.tril(a), b)

    for shape in ((4, 2), (4,)):
        agree(solve, axes, *operands(axes, (4, 4), shape), tolerance=1e-3)


# ---- shapes


def test_views_of_lanes():
    x = rand(2, 3, 4, 5)
    for axis in range(4):
        for f in (
            lambda x: x.reshape(-1, 2) if x.size % 2 == 0 else x.reshape(-1),
            lambda x: mx.flatten(x, 0, 1),
            lambda x: mx.flatten(x, 1, 2),
            lambda x: mx.expand_dims(x, (0, 2, 5)),
            lambda x: mx.diagonal(x, 1, 0, 2),
            lambda x: mx.roll(x, 3),
            lambda x: mx.transpose(x, (2, 0, 1)),
            lambda x: mx.broadcast_to(x[0], (2, *x.shape)),
            lambda x: mx.as_strided(x, (3, 2), (1, 2), 1),
            lambda x: x.view(mx.int16),
            lambda x: mx.full((2, *x.shape), x),
            lambda x: mx.unflatten(x, 1, (1, -1, 1)),
        ):
            agree(f, (axis,), x)
            agree(lambda x, f=f: mx.exp(f(x)), (axis,), x.astype(mx.float64), out_axis=-1)


# ---- with other transforms and traces


def test_nested_maps():
    x, y = rand(2, 3), rand(4, 3)
    outer = mx.vmap(mx.vmap(lambda a, b: (a * b).sum(), (None, 0)), (0, None))
    close(outer(x, y), x @ y.T)
    shared = mx.vmap(lambda a: mx.vmap(lambda b: a + b)(y))(x)  # reaches the outer lane through the closure
    close(shared, x[:, None] + y)


def test_compiled_functions_inside():
    traces = []

    def body(a, b):
        traces.append(1)
        return mx.tanh(a @ b)

    compiled = mx.compile(body)
    x, w = rand(5, 3), rand(3, 2)
    close(mx.vmap(compiled, (0, None))(x, w), mx.tanh(x @ w))
    assert compiled.cache_info().traces == 0  # inlined
    k = compiled(x, w)
    close(mx.vmap(lambda a: a + compiled(x, w)[0])(x[:, :2]), x[:, :2] + k[0])


def test_inside_a_compiled_function():
    f = mx.compile(mx.vmap(lambda a, b: mx.softmax(a @ b, -1), (0, None)))
    for n in (2, 5):
        x, w = rand(n, 4, 3), rand(3, 2)
        close(f(x, w), mx.softmax(x @ w, -1))
    with pytest.raises(ValueError):
        mx.compile(lambda x: [kept := [], mx.vmap(lambda a: [kept.append(a), a][1])(x), kept[0]][2])(rand(2, 2))


def test_long_chains():
    def f(x):
        for _ in range(20_000):
            x = x + 1
        return x

    assert mx.vmap(f)(mx.zeros((2, 1))).tolist() == [[20_000.0]] * 2


# ---- functions with a rule of their own


def test_a_rule():
    seen = []

    def rule(args, axes):
        seen.append((args[0].shape, axes))
        return args[0] * 100 + args[1]["k"].sum(), 0

    def f(x, y):
        is_mapped, result = call_rule(rule, (x, y))
        return result if is_mapped else x * y["k"]

    x, k = rand(3, 4), mx.array(2.0)
    close(mx.vmap(lambda x: f(x + 1, {"k": k}) - 1)(x), (x + 1) * 100 + 2 - 1)
    assert seen == [((3, 4), (0, {"k": None}))]
    close(f(x, {"k": k}), 2 * x)  # outside: the function
    close(mx.vmap(lambda y: y + f(x, {"k": k})[0])(x), x + 2 * x[0])  # of what all lanes share, too
    nested = mx.vmap(mx.vmap(lambda x: f(x, {"k": k})))
    close(nested(rand(2, 3, 4)), rand(2, 3, 4) * 100 + 2)
    outer = mx.vmap(lambda x: mx.vmap(lambda y: y * f(x, {"k": k}).sum())(mx.arange(5.0)))
    close(outer(x), (x * 100 + 2).sum(1, keepdims=True) * mx.arange(5.0))


def test_results_of_a_rule():
    run = lambda rule: mx.vmap(lambda x: call_rule(rule, (x,))[1])(rand(3, 4))  # noqa: E731
    out = run(lambda x, axis: ({"a": x.T, "b": mx.array([1.0, 2.0])}, {"a": 1, "b": None}))
    close(out["a"], rand(3, 4))
    close(out["b"], mx.array([[1.0, 2.0]] * 3))
    with pytest.raises(ValueError, match="tuple"):
        run(lambda x, axis: x)
    with pytest.raises(ValueError, match="vmap"):
        run(lambda x, axis: (x[:2], 0))


# ---- lifetime and threads


def test_no_leaks():
    def outer():
        d = {"x": mx.zeros(1000)}
        d["f"] = mx.vmap(lambda x: x + d["x"])
        d["f"](mx.zeros((2, 1000)))
        return weakref.ref(d["f"])

    gc.collect()
    before = mx.handle_count()
    dead = outer()
    gc.collect()
    assert dead() is None
    assert mx.handle_count() == before


def test_threads():
    x, w = rand(6, 4), rand(4, 3)
    mx.eval(x, w)
    expected = np.array(mx.vmap(lambda a: a @ w)(x))
    wrong = []

    def work():
        for _ in range(200):
            if not np.array_equal(np.array(mx.vmap(lambda a: a @ w)(x)), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
