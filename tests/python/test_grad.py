"""grad, value_and_grad, vjp, jvp, checkpoint and custom_function: what is differentiated, and what functions may do."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pymx as mx


def test_argnums_and_argnames():
    f = lambda x, y, z=1.0: x * y * z  # noqa: E731
    x, y, z = mx.array(2.0), mx.array(3.0), mx.array(4.0)
    assert mx.grad(f)(x, y).item() == 3
    assert mx.grad(f, 1)(x, y).item() == 2
    assert [g.item() for g in mx.grad(f, (1, 0))(x, y)] == [3, 2]  # in the order of the arguments
    none, by_name = mx.grad(f, argnames="z")(x, y, z=z)
    assert none is None
    assert by_name["z"].item() == 6
    positional, by_name = mx.grad(f, 0, ["z", "y"])(x, y=y, z=z)
    assert positional.item() == 12
    assert {k: v.item() for k, v in by_name.items()} == {"y": 8, "z": 6}
    value, g = mx.value_and_grad(f)(x, y)
    assert (value.item(), g.item()) == (6, 3)


def test_trees_and_other_results():
    def f(p, scale):
        loss = (p["w"][0] * p["b"]).sum() * scale
        return loss, {"loss": loss, "name": "f", "p": p}

    p = {"w": [mx.array([1.0, 2.0]), "text"][:1], "b": mx.array([3.0, 4.0])}
    (loss, more), g = mx.value_and_grad(f)(p, 2)
    assert loss.item() == 22
    assert more["name"] == "f"
    assert g["w"][0].tolist() == [6, 8]
    assert g["b"].tolist() == [2, 4]
    assert more["p"]["b"].tolist() == [3, 4]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: mx.grad(lambda a: "text")(x), ValueError),
        (lambda x: mx.grad(lambda a: (a.sum(), a))(x), ValueError),
        (lambda x: mx.value_and_grad(lambda a: ())(x), ValueError),
        (lambda x: mx.grad(lambda a: a)(x), ValueError),
        (lambda x: mx.grad(mx.sum, 1)(x), ValueError),
        (lambda x: mx.grad(mx.sum, -1), ValueError),
        (lambda x: mx.grad(mx.sum, (0, 0)), ValueError),
        (lambda x: mx.grad(mx.sum, ()), ValueError),
        (lambda x: mx.grad(mx.sum, (None,)), TypeError),
        (lambda x: mx.grad(mx.sum, argnames="k")(x), ValueError),
        (lambda x: mx.grad(mx.sum)("text"), ValueError),
        (lambda x: mx.grad(mx.sum)([x, 1.0]), ValueError),
        (lambda x: mx.grad(7), TypeError),
        (lambda x: mx.vjp(mx.sin, [x], []), ValueError),
        (lambda x: mx.vjp(mx.sin, [x], [x, x]), ValueError),
        (lambda x: mx.vjp(mx.sin, [x], [x[:1]]), ValueError),
        (lambda x: mx.vjp(lambda a: 1, [x], [x]), ValueError),
        (lambda x: mx.jvp(mx.sin, [x], []), ValueError),
        (lambda x: mx.jvp(mx.sin, [x], [x[:1]]), ValueError),
    ],
)
def test_errors(call, error):
    x = mx.array([1.0, 2.0])
    with pytest.raises(error):
        call(x)
    assert mx.grad(lambda a: (a * a).sum())(x).tolist() == [2, 4]  # nothing is left open


def test_what_does_not_depend_on_an_argument_has_zeros():
    c = mx.array([1.0, 2.0])
    assert mx.grad(lambda x: (c * c).sum())(c).tolist() == [0, 0]
    assert mx.grad(lambda x: (x + mx.stop_gradient(x)).sum())(c).tolist() == [1, 1]
    g = mx.grad(lambda x, i: (x * i).sum(), (0, 1))(mx.array([1.0, 2.0]), mx.array([3, 4]))
    assert g[0].tolist() == [3, 4]
    assert g[1].dtype == mx.int32
    assert mx.grad(lambda b: mx.where(b, 1.0, 2.0).sum())(mx.array([True, False])).tolist() == [False, False]
    _, (t,) = mx.jvp(lambda x: x > 1, [c], [c])
    assert t.dtype == mx.float32
    assert t.tolist() == [0, 0]


def test_the_same_array_twice():
    x = mx.array(3.0)
    assert [g.item() for g in mx.grad(lambda a, b: a * a * b, (0, 1))(x, x)] == [18, 9]
    assert [g.item() for g in mx.grad(lambda xs: xs[0] + 2 * xs[2])([x, x, x])] == [1, 0, 2]


def test_in_place_updates():
    def f(x, v):
        x[1:] = v * x[:-1]
        x += 1
        x *= x
        return x.sum()

    x, v = mx.array([1.0, 2.0, 3.0]), mx.array([4.0, 5.0])
    dx, dv = mx.grad(f, (0, 1))(x, v)
    # (x0 + 1)^2 + (v0 x0 + 1)^2 + (v1 x1 + 1)^2
    assert dx.tolist() == [4 + 2 * 5 * 4, 2 * 11 * 5, 0]
    assert dv.tolist() == [2 * 5 * 1, 2 * 11 * 2]
    assert x.tolist() == [1, 2, 3]  # the caller's array is its own


def test_containers_keep_what_the_function_puts_in_and_their_arrays():
    first, second = mx.array(1.0), mx.array(2.0)
    args = {"a": [first, second], "b": first}

    def f(p):
        p["a"][1] = p["a"][0] * 3
        p["new"] = p["b"] + p["a"][1]
        p["b"] += 1
        return p["new"]

    g = mx.grad(f)(args)
    assert args["a"][0] is first
    assert args["a"][1].item() == 3
    assert args["new"].item() == 4
    assert args["b"].item() == 2
    assert first.item() == 1
    assert g["a"][0].item() == 3
    with pytest.raises(ZeroDivisionError):
        mx.grad(lambda p: 1 / 0)(args)
    assert args["a"][0] is first


def test_evaluation_inside():
    def f(x):
        y = x * x
        mx.eval(y)
        if y.sum().item() > 4:
            y = y * 3
        z = mx.exp(y - y)
        z.tolist()
        return (y * z).sum()

    assert mx.grad(f)(mx.array([1.0, 2.0])).tolist() == [6, 12]
    second = mx.grad(lambda x: mx.grad(f)(x).sum())(mx.array([1.0, 2.0]))
    assert second.tolist() == [6, 6]
    with pytest.raises(ValueError):
        mx.grad(lambda x: (mx.async_eval(x * 2), x.sum())[1])(mx.array([1.0]))


@pytest.mark.parametrize("n", [100_000])
def test_long_chains(n):
    def f(x):
        for _ in range(n):
            x = x + 1
        return x

    assert mx.grad(f)(mx.array(0.0)).item() == 1
    _, (t,) = mx.jvp(f, [mx.array(0.0)], [mx.array(2.0)])
    assert t.item() == 2


def test_nesting_of_every_kind():
    f = lambda x: mx.sin(x) * x  # noqa: E731
    x = 0.7
    d1, d2, d3 = np.sin(x) + x * np.cos(x), 2 * np.cos(x) - x * np.sin(x), -3 * np.sin(x) - x * np.cos(x)
    a = mx.array(x)
    for wrap in (lambda g: g, mx.compile):
        assert abs(wrap(mx.grad(f))(a).item() - d1) < 1e-5
        assert abs(wrap(mx.grad(mx.grad(f)))(a).item() - d2) < 1e-5
        assert abs(wrap(mx.grad(wrap(mx.grad(wrap(mx.grad(f))))))(a).item() - d3) < 1e-5
        forward = wrap(lambda x: mx.jvp(mx.grad(f), [x], [mx.array(1.0)])[1][0])
        assert abs(forward(a).item() - d2) < 1e-5
        backward = wrap(mx.grad(lambda x: mx.jvp(f, [x], [mx.array(1.0)])[1][0]))
        assert abs(backward(a).item() - d2) < 1e-5
        twice = wrap(lambda x: mx.jvp(lambda y: mx.jvp(f, [y], [mx.array(1.0)])[1][0], [x], [mx.array(1.0)])[1][0])
        assert abs(twice(a).item() - d2) < 1e-5


def test_a_compiled_function_that_reads_a_tracer():
    def outer(x):
        inner = mx.compile(lambda k: k * x)
        return inner(mx.array(10.0)) + inner(mx.array(1.0))

    assert mx.grad(outer)(mx.array(3.0)).item() == 11


def test_random_numbers_inside():
    def f(x, key):
        return (x * mx.random.normal((3,), key=key)).sum()

    key = mx.random.key(3)
    x = mx.ones(3)
    assert np.array_equal(mx.grad(f)(x, key), mx.random.normal((3,), key=key))
    mx.random.seed(5)
    expected = mx.random.uniform(shape=(3,))
    mx.random.seed(5)
    got = mx.grad(lambda x: (x * mx.random.uniform(shape=(3,))).sum())(x)
    assert np.array_equal(got, expected)


def test_stop_gradient_and_cotangents():
    f = lambda x: [x * 2, mx.stop_gradient(x)]  # noqa: E731
    x = mx.array([1.0, 2.0])
    assert mx.vjp(f, [x], [x])[1][0].tolist() == [2, 4]
    assert mx.vjp(f, [x], [x, x])[1][0].tolist() == [2, 4]


def test_threads_at_once():
    def work(i):
        x = mx.array([float(i), 1.0])
        for _ in range(100):
            g = mx.grad(lambda x: (x**3).sum())(x)
            h = mx.grad(lambda x: mx.grad(lambda y: (y**3).sum())(x).sum())(x)
            assert (g.tolist(), h.tolist()) == ([3.0 * i * i, 3.0], [6.0 * i, 6.0])

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))


def test_work_that_another_thread_does_inside():
    x = mx.array([1.0, 2.0])

    def f(x):
        found = []
        t = threading.Thread(target=lambda: found.append(mx.exp(x)))
        t.start()
        t.join()
        mx.eval(found[0])
        return (found[0] * x).sum()

    np.testing.assert_allclose(np.array(mx.grad(f)(x)), np.exp([1, 2]) * (1 + np.array([1, 2])), rtol=1e-5)


def test_nothing_is_kept():
    x = mx.array([1.0, 2.0])
    f = mx.value_and_grad(lambda x: (mx.exp(x) * x).sum())

    def run():
        value, g = f(x)
        mx.eval(value, g)
        with pytest.raises(ZeroDivisionError):
            mx.grad(lambda x: (mx.exp(x), 1 / 0)[0])(x)

    run()
    gc.collect()
    before, memory = mx.handle_count(), mx.get_active_memory()
    for _ in range(20):
        run()
    gc.collect()
    assert mx.handle_count() == before
    assert mx.get_active_memory() == memory


def test_indices_ask_for_stop_gradient():
    x = mx.array([3.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="stop_gradient"):
        mx.grad(lambda x: x[mx.argsort(x)[:1]].sum())(x)
    assert mx.grad(lambda x: x[mx.stop_gradient(mx.argsort(x)[:1])].sum())(x).tolist() == [0, 1, 0]
    assert mx.grad(lambda x: mx.median(x))(x).tolist() == [0, 0, 1]
    assert mx.grad(lambda x: x[x > 1.5].sum())(x).tolist() == [1, 0, 1]


# ---- functions with rules


def test_custom_vjp():
    @mx.custom_function
    def f(x, y):
        return mx.sin(x) * y, {"x": x}

    @f.vjp
    def f_vjp(primals, cotangents, outputs):
        y = primals[1]
        assert outputs[1]["x"].shape == ()
        return cotangents[0] * 100 + cotangents[1]["x"], y * 0 + 7

    x, y = mx.array(2.0), mx.array(3.0)
    assert abs(f(x, y)[0].item() - 3 * np.sin(2)) < 1e-6
    loss = lambda x, y: f(x, y)[0] * 2 + f(x, y)[1]["x"]  # noqa: E731
    for wrap in (lambda g: g, mx.compile):
        assert [g.item() for g in wrap(mx.grad(loss, (0, 1)))(x, y)] == [201, 14]
    # forward: as usual
    _, (t, _) = mx.jvp(lambda x: (f(x, y)[0], x), [x], [mx.array(1.0)])
    assert abs(t.item() - 3 * np.cos(2)) < 1e-5


def test_custom_jvp_and_second_derivatives():
    @mx.custom_function
    def cube(x):
        return x * x * x

    @cube.jvp
    def cube_jvp(x, t):
        return 3 * x * x * t

    @cube.vjp
    def cube_vjp(x, g, y):
        return 3 * cube(x) / x * g

    x, one = mx.array(2.0), mx.array(1.0)
    assert mx.jvp(cube, [x], [one])[1][0].item() == 12
    assert abs(mx.grad(cube)(x).item() - 12) < 1e-5
    assert abs(mx.grad(mx.grad(cube))(x).item() - 12) < 1e-4
    assert abs(mx.grad(mx.grad(mx.grad(cube)))(x).item() - 6) < 1e-4

    @cube.jvp
    def partial(x, t):
        raise KeyError("rule")

    with pytest.raises(KeyError, match="rule"):
        mx.jvp(cube, [x], [one])
    assert mx.grad(lambda x: x * x)(x).item() == 4


def test_custom_functions_take_captured_arrays_as_constants():
    def g(x, y):
        @mx.custom_function
        def f(x):
            return x * y

        @f.vjp
        def f_vjp(x, dx, fx):
            return dx * 5

        return f(x)

    assert [d.item() for d in mx.grad(g, (0, 1))(mx.array(2.0), mx.array(3.0))] == [5, 0]


def test_custom_tangents_that_are_not_there():
    @mx.custom_function
    def f(x, y):
        return x * y

    seen = []

    @f.jvp
    def f_jvp(primals, tangents):
        seen.append(tangents)
        return tangents[0] * primals[1]

    y = mx.array(3.0)
    assert mx.jvp(lambda x: f(x, y), [mx.array(2.0)], [mx.array(1.0)])[1][0].item() == 3
    assert seen[0][1] is None


def test_checkpoint():
    runs = []

    def f(x, w=None):
        runs.append(1)
        return mx.sin(x) * w, x * x

    g = mx.checkpoint(f)
    x, w = mx.array([0.5, 1.0]), mx.array([2.0, 3.0])
    loss = lambda h: lambda x, w: h(x, w=w)[0].sum() + h(x, w=w)[1].sum()  # noqa: E731
    expected = mx.grad(loss(f), (0, 1))(x, w)
    n = len(runs)
    for wrap in (lambda g: g, mx.compile):
        for a, b in zip(wrap(mx.grad(loss(g), (0, 1)))(x, w), expected, strict=True):
            np.testing.assert_allclose(np.array(a), np.array(b), rtol=1e-6)
    assert len(runs) == n + 8  # two forward and two again, each way
    second = [mx.grad(lambda x, h=h: mx.grad(loss(h))(x, w).sum())(x) for h in (f, g)]
    np.testing.assert_allclose(np.array(second[0]), np.array(second[1]), rtol=1e-6)


def test_checkpoint_saves_memory():
    x = mx.ones((256, 1024))

    def block(x):
        for _ in range(4):
            x = mx.sin(mx.matmul(x, mx.full((1024, 1024), 1e-3)))
        return x

    def peak(f):
        def loss(x):
            for _ in range(6):
                x = f(x)
            return x.sum()

        mx.eval(mx.grad(loss)(x))
        mx.reset_peak_memory()
        mx.eval(mx.grad(loss)(x))
        return mx.get_peak_memory()

    assert peak(mx.checkpoint(block)) < peak(block)
