"""The teardown matrix (tests/teardown/matrix.py), each cell once, or often with MX_TEST_LONG=1; and that it tells
what goes wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TEARDOWN = Path(__file__).parent.parent / "teardown"


def test_every_cell():
    env = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    script = str(TEARDOWN / "matrix.py")
    out = subprocess.run([sys.executable, script], capture_output=True, text=True, env=env)
    assert out.returncode == 0, out.stdout + out.stderr


@pytest.fixture
def teardown(monkeypatch):
    """Its modules can be imported, and are gone afterwards: their names are common words."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(TEARDOWN)])
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name in {"process", "table", "matrix", "exits", "children", "states", "libraries"}:
            del sys.modules[name]


LEAVE = "import os, sys, time; print('leaving', 0, time.monotonic(), flush=True);"


@pytest.mark.parametrize(
    "program, kind",
    [
        (LEAVE, ""),
        (LEAVE + "os.abort()", "crash"),
        ("import os; os.abort()", "crash"),
        (LEAVE + "sys.exit(1)", "error"),
        ("print(1)", "error"),
        (LEAVE + "sys.stderr.write('x')", "noise"),
        (LEAVE + "time.sleep(30)", "hang"),
        (LEAVE + "raise AssertionError('the child hangs')", "hang"),
        (LEAVE + "raise AssertionError('the child died of signal 11')", "crash"),
        ("print('leaving', 0, 0.0)", "late"),
        (LEAVE + "os.fork() or (os.close(1), os.close(2), time.sleep(30))", "left"),
    ],
)
def test_what_is_wrong_with_an_end(teardown, program, kind, monkeypatch):
    import process

    monkeypatch.setattr(process, "LIMIT", 1e9 if kind != "left" and kind != "late" else 1.2)
    outcome = process.run([sys.executable, "-S", "-E", "-c", program], timeout=2 if kind == "hang" else 60)
    assert outcome.kind == kind, outcome.failure
    assert bool(outcome.failure) == bool(kind)


@pytest.mark.parametrize("late_again, kinds", [(0, {}), (2, {"late": 2})])
def test_late_runs_happen_again_alone(teardown, monkeypatch, tmp_path, late_again, kinds):
    import matrix
    from process import Outcome

    late, good = Outcome(2.0, "late", "took 2.00 s to end"), Outcome(0.1)
    outcomes = [late, good, late, good, *[late] * late_again, *[good] * (2 - late_again)]
    monkeypatch.setattr(matrix, "run", lambda command, timeout: outcomes.pop(0))
    campaign = matrix.Campaign("1", "3", None)
    cell = matrix.Cell("pymx", 8, "sys_exit", "I", ["true"], 4, "")
    campaign.run([cell], timeout=60, jobs=2)
    assert campaign.close() is not bool(kinds) and not outcomes
    assert campaign.entries[0]["kinds"] == kinds and campaign.entries[0]["runs"] == 4
    assert bool(campaign.results[0].first) is bool(kinds)


def test_runs_of_several_campaigns_add_up(teardown, tmp_path):
    import table

    record = tmp_path / "record"
    entry = {"module": "pymx", "version": "1", "python": "3", "row": 8, "path": "sys_exit", "state": "I", "reason": ""}
    for kinds in ({}, {"crash": 2}, {"hang": 1}):
        table.write(record, entry | {"runs": 5, "kinds": kinds})
    table.write(record, entry | {"state": "Q", "runs": 0, "kinds": {}, "reason": "has no queue"})
    for module, kinds in {"torch": {"crash": 2}, "jax": {"hang": 1}}.items():
        table.write(record, entry | {"module": module, "runs": 2, "kinds": kinds})
    table.write(record, entry | {"module": "jax", "state": "Q", "runs": 2, "kinds": {}})
    lines = table.markdown(table.read(record)).splitlines()
    assert "pymx 1 on Python 3 (15 runs of 1 cells, 3 failures in 1 cells)" in lines
    assert "| row | exit path | I | Q |" in lines
    assert "| 8 | sys exit | **3CH**/15 | \u2013 |" in lines
    assert "- Q: has no queue" in lines
    assert "| 8 | sys exit | C h | ? \u00b7 |" in lines
