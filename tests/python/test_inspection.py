"""explain, export_to_dot and profile."""

import io
import json
import os
import shutil
import threading

import pytest

import pymx as mx


@pytest.fixture
def xyz():
    arrays = mx.arange(12.0).reshape(3, 4), mx.array(0.5), mx.ones((3, 4))
    mx.eval(*arrays)
    return arrays


def fma(x, y, z):
    return z + x * y


def dot(*args, **kwargs):
    out = io.StringIO()
    mx.export_to_dot(out, *args, **kwargs)
    return out.getvalue()


def test_explain_traces_but_does_not_run(xyz):
    plain, compiled = mx.explain(fma, *xyz), mx.compile(fma)
    assert mx.explain(compiled, *xyz) == plain and repr(plain) == plain
    assert plain.startswith("fma\ninputs\n") and "multiply+add  over (3, 4)" in plain
    assert compiled.cache_info()[:3] == (0, 1, 1)
    compiled(*xyz)
    assert compiled.cache_info()[:2] == (1, 1)  # the entry that explain made


def test_explain_of_arrays_and_trees(xyz):
    x, y, z = xyz
    both = mx.explain([x * y, {"b": z + y}])
    assert "multiply" in both and "out1" in both
    assert mx.explain(x) == "nothing to compute\n"
    call = mx.compile(fma)(*xyz)
    assert "region 0: a compiled call" in mx.explain(mx.exp(call))


def test_explain_leaves_captured_state_and_random_numbers_alone(xyz):
    state = {"x": xyz[0]}

    def step(y):
        state["x"] = state["x"] + y * mx.random.uniform()
        return state["x"]

    f = mx.compile(step, inputs=[state, mx.random.state], outputs=[state, mx.random.state])
    mx.random.seed(7)
    assert "add" in mx.explain(f, xyz[1])
    assert state["x"] is xyz[0]
    got = mx.random.uniform().item()
    mx.random.seed(7)
    assert got == mx.random.uniform().item()


def test_explain_passes_on_what_the_function_raises(xyz):
    def broken(x):
        raise KeyError("no")

    with pytest.raises(KeyError):
        mx.explain(broken, xyz[0])
    with pytest.raises(ValueError, match="broadcast"):
        mx.explain(fma, xyz[0], mx.ones((5,)), xyz[2])


def test_explain_says_why_steps_are_apart(xyz):
    text = mx.explain(lambda x: mx.matmul(x, x.T).sum(0), xyz[0])
    assert "1 after 0: matmul is a kernel of the library" in text and "library  matmul" in text


def test_explain_shows_what_follows_a_product(xyz):
    text = mx.explain(lambda x: mx.matmul(x, x.T) + 1, xyz[0])
    assert "library  matmul+add" in text and "splits" not in text


def test_dot_names_fused_ops(xyz):
    def f(x, y, z):
        stretched = mx.broadcast_to(y, z.shape)
        return x + stretched * z, stretched.sum()

    x, y, z = xyz
    d = mx.compile(f)(x, y, z)
    text = dot(a=x, b=y, c=z, d1=d[0], d2=d[1])
    assert "CompiledBroadcastMultiplyAdd" in text
    for name in ("a", "b", "c", "d1", "d2"):
        assert f'"{name}"' in text
    assert text.count("label") < dot(f(x, y, z)).count("label") + 1


def test_dot_shows_no_value_inside_a_step(xyz):
    f = mx.compile(lambda x: x * mx.rsqrt(mx.mean(x * x, axis=-1, keepdims=True) + 1))
    values = [line for line in dot(x=xyz[0], y=f(xyz[0])).splitlines() if "tooltip" in line]
    assert len(values) == 2 and '"x"' in values[0] and '"y"' in values[1]


def test_dot_of_ops_values_and_several_outputs(xyz):
    x, y, _ = xyz
    assert dot(x).startswith("digraph {")
    assert 'label="Add"' in dot(x + y)
    quotient, remainder = mx.divmod(x, y)
    text = dot(quotient, r=remainder)
    assert '"r"' in text and 'label="Remainder"' in text
    many = dot([x + i for i in range(60)])  # more than the alphabet has letters
    assert '"BH"' in many and many.count("label") == 60


def test_dot_to_files(xyz, tmp_path):
    mx.export_to_dot(tmp_path / "graph.dot", xyz[0] + 1)
    mx.export_to_dot(str(tmp_path / "again.dot"), xyz[0] + 1)
    assert (tmp_path / "graph.dot").read_text() == (tmp_path / "again.dot").read_text() != ""
    with pytest.raises(ValueError, match="path or a text file"):
        mx.export_to_dot(5, xyz[0])


def test_svg_by_graphviz(xyz, tmp_path, monkeypatch):
    target = tmp_path / "graph.svg"
    if shutil.which("dot"):
        mx.export_to_dot(target, xyz[0] + 1)
        assert "<svg" in target.read_text()
    program = tmp_path / "dot"  # what is passed to Graphviz, whether it is installed or not
    program.write_text('#!/bin/sh\n[ "$1" = -Tsvg ] && [ "$2" = -o ] && exec tee "$3" >/dev/null\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    mx.export_to_dot(target, xyz[0] + 1)
    assert target.read_text().startswith("digraph {")
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="Graphviz"):
        mx.export_to_dot(target, xyz[0] + 1)


def events(path):
    trace = json.loads(path.read_text())
    assert trace["otherData"]["dropped"] == 0
    return trace["traceEvents"]


def test_profile_has_kernels_of_all_threads(tmp_path):
    path = tmp_path / "trace.json"
    n = mx.num_threads()
    mx.set_num_threads(2)
    try:
        with mx.profile(path):
            x = mx.random.normal((700, 700))
            threads = [threading.Thread(target=lambda: mx.eval(mx.matmul(x, x), mx.exp(x) + 1)) for _ in range(3)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            assert not path.exists()
    finally:
        mx.set_num_threads(n)
    found = events(path)
    assert {"kernel", "wait", "allocation", "compile"} <= {e.get("cat") for e in found}
    assert sum(e["name"] == "matmul" and e["cat"] == "kernel" for e in found if "cat" in e) == 3
    assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in found if e["ph"] == "X")
    assert {"main", "worker"} <= {e["args"]["name"] for e in found if e["name"] == "thread_name"}
    assert any(e["name"] == "active memory" and e["args"]["bytes"] >= 4 * 700 * 700 for e in found)


def test_profile_that_fails_leaves_no_file(tmp_path):
    path = tmp_path / "trace.json"
    with pytest.raises(KeyError), mx.profile(path):
        raise KeyError
    with mx.profile(path), pytest.raises(ValueError, match="already"), mx.profile(path):
        pass
    assert os.listdir(tmp_path) == ["trace.json"]
    with pytest.raises(OSError, match="nowhere"), mx.profile(tmp_path / "nowhere" / "trace.json"):
        pass
    with mx.profile(path):  # the failed one has ended
        pass
