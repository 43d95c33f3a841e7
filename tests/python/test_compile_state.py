"""compile: captured state, the wrapper as an object, threads."""

import functools
import gc
import inspect
import sys
import threading
import weakref

import pytest
from helpers import counted, run_threads

import pymx as mx

# ---- captured state


def test_captured_inputs():
    state = {"a": mx.array(1.0), "b": [mx.array(2.0)], "c": (mx.array(3.0),)}
    body, traces = counted(lambda x: x + state["a"] * state["b"][0] * state["c"][0])
    f = mx.compile(body, inputs=state)
    assert f(mx.array(1.0)).item() == 7
    state["a"] = mx.array(10.0)
    state["b"][0] = mx.array(1.0)
    assert f(mx.array(1.0)).item() == 31
    state["c"] = (mx.array(2.0),)
    assert f(mx.array(1.0)).item() == 21 and len(traces) == 1
    state["a"] = mx.array([1.0, 2.0])
    assert f(mx.array(1.0)).tolist() == [3, 5] and len(traces) == 2


def test_captured_outputs():
    state = {}

    def body(x):
        state["y"] = x + state.get("y", 0)
        return state["y"]

    f = mx.compile(body, inputs=state, outputs=state)
    for expected in (1, 2, 3, 4):
        assert f(mx.array(1)).item() == expected and state["y"].item() == expected
    assert f.cache_info().traces == 2


def test_state_updated_in_place_and_constants_in_it():
    state = {"n": mx.array(0), "step": 0, "list": [mx.array(1)], "name": "adam"}
    original = state["n"]

    def body(x):
        state["n"] += 1
        state["step"] += 1
        state["list"].append(x)
        return x * state["n"]

    f = mx.compile(body, inputs=state, outputs=state)
    for i in range(1, 4):
        assert f(mx.array(2)).item() == 2 * i
        assert state["n"].item() == i and state["step"] == i and len(state["list"]) == i + 1
    assert original.item() == 0 and state["name"] == "adam" and [x.item() for x in state["list"]] == [1, 2, 2, 2]


def test_keys_that_go_and_containers_that_come():
    state = {"old": mx.array(1), "kept": mx.array(2)}

    def body(x):
        state.pop("old", None)
        state["new"] = {"deep": [x]}
        return x

    f = mx.compile(body, inputs=state, outputs=state)
    f(mx.array(5))
    assert sorted(state) == ["kept", "new"] and state["new"]["deep"][0].item() == 5
    inner = state["new"]
    f(mx.array(6))
    f(mx.array(7))
    assert state["new"] is inner and inner["deep"][0].item() == 7
    state.clear()
    state.update(old=mx.array(1), kept=mx.array(2))
    f(mx.array(8))
    assert sorted(state) == ["kept", "new"]


def test_a_failed_trace_restores_captured_state():
    state = {"n": mx.array(1.0), "extra": [mx.array(2.0)]}
    before = dict(state)

    def body(x):
        state["n"] = state["n"] + x
        state["extra"].append(x)
        state["new"] = x
        raise KeyboardInterrupt

    f = mx.compile(body, inputs=state, outputs=state)
    with pytest.raises(KeyboardInterrupt):
        f(mx.array(1.0))
    assert state == before and state["n"].item() == 1 and len(state["extra"]) == 1


def test_random_state_can_be_captured():
    for captured in (mx.random.state, [mx.random.state], {"rng": mx.random.state, "n": mx.array(0)}):
        f = mx.compile(lambda: mx.random.uniform(shape=(4,)), inputs=captured, outputs=captured)
        mx.random.seed(3)
        a, b = f().tolist(), f().tolist()
        mx.random.seed(3)
        eager = [mx.random.uniform(shape=(4,)).tolist() for _ in range(2)]
        mx.random.seed(3)
        again = f().tolist()
        assert a != b and again == a and eager == [a, b]


def test_random_state_is_that_of_the_calling_thread():
    f = mx.compile(lambda: mx.random.uniform(shape=(4,)), inputs=mx.random.state, outputs=mx.random.state)
    mx.random.seed(1)
    mine = f().tolist()
    out = []

    def work():
        mx.random.seed(1)
        out.append(f().tolist())
        out.append(mx.random.uniform(shape=(4,)).tolist())

    run_threads([work])
    assert out[0] == mine and out[1] == f().tolist()


def test_state_of_one_trace_is_not_seen_by_another_thread():
    state, inside, go = {"n": mx.array(1.0)}, threading.Event(), threading.Event()

    def body(x):
        inside.set()
        go.wait(10)
        state["n"] = state["n"] + x
        return state["n"]

    f = mx.compile(body, inputs=state, outputs=state)
    out = []
    threads = [threading.Thread(target=lambda: out.append(f(mx.array(1.0)).item())) for _ in range(2)]
    threads[0].start()
    inside.wait(10)
    threads[1].start()
    threads[1].join(0.2)
    assert threads[1].is_alive()
    go.set()
    for t in threads:
        t.join(10)
    assert sorted(out) == [2, 3] and state["n"].item() == 3


def test_waiting_while_holding_is_an_error():
    one, two = {"n": mx.array(1.0)}, {"n": mx.array(1.0)}
    ready = threading.Barrier(2, timeout=10)

    def nested(mine, other):
        g = mx.compile(lambda x: x + other["n"], inputs=other)

        def body(x):
            ready.wait()
            return g(mx.array(1.0)) + x + mine["n"]

        return mx.compile(body, inputs=mine)

    errors = []

    def work(f):
        try:
            f(mx.array(1.0))
        except mx.TraceError as error:
            errors.append(error)

    run_threads([lambda: work(nested(one, two)), lambda: work(nested(two, one))])
    assert errors and mx.compile(lambda x: x + one["n"], inputs=one)(mx.array(1.0)).item() == 2


# ---- the wrapper as an object


def test_attributes_signature_and_wraps():
    def fun(x, y: int = 2) -> mx.array:
        "What it says."
        return x + y

    f = mx.compile(fun)
    assert (f.__name__, f.__qualname__, f.__doc__) == (fun.__name__, fun.__qualname__, fun.__doc__)
    assert inspect.signature(f) == inspect.signature(fun) and f.__wrapped__ is fun

    @functools.wraps(f)
    def g(*args):
        return f(*args)

    assert g.__name__ == "fun" and g(mx.array(1)).item() == 3
    assert mx.compile(functools.partial(fun, y=5))(mx.array(1)).item() == 6


def test_decorators_and_methods():
    @mx.compile
    def one(x):
        return x + 1

    @mx.compile(shapeless=True)
    def two(x):
        return x + 2

    three = functools.partial(mx.compile, shapeless=True)(lambda x: x + 3)
    assert one(mx.array(0)).item() == 1 and two(mx.array(0)).item() == 2 and three(mx.array(0)).item() == 3

    class Layer:
        def __init__(self, w):
            self.w = mx.array(w)

        @mx.compile
        def __call__(self, x):
            return x * self.w

        @mx.compile
        def forward(self, x, k=1):
            return x * self.w * k

    a, b = Layer(2), Layer(3)
    for _ in range(2):
        assert a.forward(mx.array(5)).item() == 10 and b.forward(mx.array(5), k=2).item() == 30
        assert a(mx.array(5)).item() == 10
    assert a.forward is a.forward
    alive = weakref.ref(a)
    del a
    gc.collect()
    assert alive() is None
    with pytest.raises(TypeError):
        mx.compile(3)


def test_wrappers_are_collected():
    class Owner:
        def __init__(self):
            self.w = mx.ones((3,))
            self.f = mx.compile(self.forward)

        def forward(self, x):
            return x + self.w

    gc.collect()
    functions, arrays = mx.handle_count(), []
    for _ in range(20):
        owner = Owner()
        arrays.append(owner.f(mx.ones((3,))).tolist())
    alive = weakref.ref(owner)
    del owner
    gc.collect()
    assert alive() is None and mx.handle_count() == functions and arrays[0] == [2, 2, 2]

    def in_a_cycle():
        f = mx.compile(lambda x: x + 1 if f else x)
        f(mx.array(1))
        return weakref.ref(f)

    alive = in_a_cycle()
    gc.collect()
    assert alive() is None and mx.handle_count() == functions


def test_fresh_closures_do_not_pile_up():
    gc.collect()
    before, memory = mx.handle_count(), []
    for i in range(300):
        f = mx.compile(lambda x, i=i: mx.divmod(x, 2)[0] + i)
        assert f(mx.array([4])).item() == 2 + i
        if i % 100 == 99:
            del f
            gc.collect()
            memory.append(mx.get_active_memory())
    assert mx.handle_count() == before and memory[0] == memory[-1]


# ---- threads


def test_one_function_on_many_threads():
    f = mx.compile(lambda x: {"y": (x + 1, [x * 2])})

    def work():
        for n in range(50):
            out = f(mx.full((n % 5 + 1,), float(n)))
            assert out["y"][0].tolist() == [n + 1] * (n % 5 + 1) and out["y"][1][0].tolist() == [n * 2] * (n % 5 + 1)

    run_threads([work] * 8)
    assert f.cache_info().entries == 5


def test_functions_dropped_on_other_threads():
    results = []

    def work():
        for i in range(100):
            f = mx.compile(lambda x, i=i: x + i)
            results.append((i, f(mx.zeros((2,))).tolist()[0]))
            results.append((i, f))

    run_threads([work] * 3)
    for i, x in results:
        assert x == i if isinstance(x, float) else x(mx.zeros((2,))).tolist()[0] == i
    results.clear()
    gc.collect()


def test_a_trace_on_one_thread_does_not_disturb_another():
    inside, go = threading.Event(), threading.Event()

    def body(x):
        inside.set()
        assert go.wait(10)
        return x + 1

    f, out = mx.compile(body), []
    t = threading.Thread(target=lambda: out.append(f(mx.array([1.0])).item()))
    t.start()
    inside.wait(10)
    a = mx.array([1.0, 2.0]) * 2
    assert a.tolist() == [2, 4] and mx.compile(lambda x: x - 1)(a).tolist() == [1, 3]
    f.clear_cache()
    go.set()
    t.join(10)
    assert out == [2]


def test_first_use_on_many_threads():
    def work():
        fs = [mx.compile(lambda x, k=k: x * k) for k in range(20)]
        for k, f in enumerate(fs):
            assert f(mx.array([2.0])).item() == 2 * k

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        run_threads([work] * 8)
    finally:
        sys.setswitchinterval(interval)
