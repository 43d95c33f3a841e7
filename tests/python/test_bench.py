"""The benchmark's own arithmetic: what it accepts as right, what it traces, how it compares. Nothing is timed."""

import sys
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture(autouse=True)
def bench_path(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(BENCH)])
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in {"frameworks", "workloads", "worker", "report", "environment", "sampling"}:
            del sys.modules[name]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 5.1])
def test_a_wrong_element_is_noticed(value):
    from worker import error_of

    reference = np.arange(12.0).reshape(3, 4)
    x = reference.astype(np.float32)
    assert error_of(x, reference) == 0
    x[1, 1] = value
    assert error_of(x, reference) > 1e-3


def test_another_shape_is_wrong():
    from worker import WRONG, error_of

    assert error_of(np.zeros((2, 3)), np.zeros((3, 2))) == WRONG


def test_expressions_have_the_value_of_their_function():
    from frameworks import expression
    from workloads import all_workloads

    chain = next(w for w in all_workloads() if w.name.startswith("20-op chain"))
    from frameworks import load

    x, y = np.linspace(-2, 2, 9), np.linspace(1, -1, 9)
    names, text, constants = expression.trace(chain.function(expression.Tracing("test"), 0))
    assert names == ["a0", "a1"]
    value = eval(text, {"maximum": np.maximum, "a0": x, "a1": y, **constants})
    np.testing.assert_array_equal(value, chain.function(load("numpy"), 0)(x, y))


def test_reductions_are_no_expressions():
    from frameworks import Unsupported, expression

    f = expression.Tracing("test")
    with pytest.raises(Unsupported):
        expression.trace(lambda x: f.sum(x, 0))
    with pytest.raises(Unsupported):
        expression.trace(lambda x, y: x @ y)


def test_workloads_have_names_of_their_own():
    from workloads import all_workloads

    names = [workload.name for workload in all_workloads()]
    assert len(set(names)) == len(names)


def test_ratios_are_to_the_best_peer():
    from report import Row, text_of

    row = Row(
        "row", {"pymx": {"median": 2.0}, "numpy": {"median": 6.0}, "jax": {"median": 3.0}, "mlx": {"failed": "died"}}
    )
    assert row.best() == ("jax", 3.0)
    assert row.ratio() == 1.5
    assert Row("row", {"pymx": {"median": 2.0}}).ratio() is None
    assert [text_of(x, "s") for x in (1.5, 2.346e-3, 12.34e-6, 5e-10)] == ["1.50 s", "2.35 ms", "12.3 µs", "0.50 ns"]
