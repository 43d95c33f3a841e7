"""The transform vmap: axes and trees, values inside, nesting, rules of functions, and misuse."""

import gc
import importlib
import weakref

import numpy as np
import pytest
from helpers import run_threads
from lanes import agree, close, rand

import pymx as mx

call_rule = importlib.import_module("pymx.vmap").call_rule


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

    def work():
        for _ in range(200):
            assert np.array_equal(np.array(mx.vmap(lambda a: a @ w)(x)), expected)

    run_threads([work] * 4)
