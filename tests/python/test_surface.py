"""The surface as a whole: its signatures against MLX's, and what it has beyond MLX: positions and distinct elements of
unknown number, contractions, order of sorts, groups of one process."""

import importlib.util
import inspect
import pickle
from pathlib import Path

import numpy as np
import pytest
from helpers import op_names
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pymx as mx

SURFACE = Path(__file__).parents[2] / "tools" / "gen_surface.py"


def test_signatures_take_a_stream():
    for name in op_names() - {"broadcast_shapes", "einsum_path", "depends"}:
        assert "stream" in inspect.signature(getattr(mx, name)).parameters, name


def test_signatures_are_mlxs():
    """Whatever exists takes what MLX's function takes, in the same places and by the same names."""
    spec = importlib.util.spec_from_file_location("gen_surface", SURFACE)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    rows = tool.wanted()
    assert len(rows) > 500
    differing = [text for row in rows if not any(s in (text := tool.row(*row)) for s in ("| same", "**missing**"))]
    assert differing == []
    assert "## class pymx.array" in tool.document()


# ---- what has a size that follows from the values


@given(hnp.arrays(st.sampled_from([np.bool_, np.int32, np.float32]), hnp.array_shapes(min_dims=1, min_side=0)))
@settings(deadline=None)
def test_nonzero_and_argwhere(x):
    a = mx.array(x)
    for got, expected in zip(mx.nonzero(a), np.nonzero(x), strict=True):
        np.testing.assert_array_equal(np.array(got), expected)
    np.testing.assert_array_equal(np.array(mx.argwhere(a)), np.argwhere(x))
    np.testing.assert_array_equal(np.array(a[mx.nonzero(a)]), x[np.nonzero(x)])
    more = np.array(mx.argwhere(a, size=np.count_nonzero(x) + 2))
    np.testing.assert_array_equal(more, np.concatenate([np.argwhere(x), np.zeros((2, x.ndim), int)]))


@given(
    hnp.arrays(
        st.sampled_from([np.uint8, np.int32, np.float32]),
        hnp.array_shapes(max_dims=3, min_side=0),
        elements=st.integers(0, 5),
    )
)
@settings(deadline=None)
def test_unique(x):
    names = dict.fromkeys(("return_index", "return_inverse", "return_counts"), True)
    got = [np.array(v) for v in mx.unique(mx.array(x), **names)]
    expected = np.unique(x, **names)
    for mine, theirs in zip(got, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs.reshape(mine.shape))
    assert got[2].shape == x.shape
    np.testing.assert_array_equal(np.array(mx.unique(mx.array(x))), expected[0])


def test_unique_of_a_given_size():
    a = mx.array([3, 1, 1, 2, 5, 3])
    values, index, inverse, counts = mx.unique(a, 6, True, True, True, fill_value=-7)
    assert values.tolist() == [1, 2, 3, 5, -7, -7] and index.tolist() == [1, 3, 0, 4, 1, 1]
    assert inverse.tolist() == [2, 0, 0, 1, 3, 2] and counts.tolist() == [2, 1, 2, 1, 0, 0]
    assert (index.dtype, inverse.dtype, counts.dtype) == (mx.uint32, mx.uint32, mx.int32)
    assert mx.unique(a, size=5).tolist() == [1, 2, 3, 5, 1]
    values, inverse = mx.unique(a, 2, return_inverse=True)
    assert values.tolist() == [1, 2] and inverse.tolist() == [1, 0, 0, 1, 1, 1]
    f = mx.compile(lambda x: mx.unique(x, 3, return_counts=True))
    for x in (a, mx.array([4, 4, 4, 4, 4, 4])):
        assert [v.tolist() for v in f(x)] == [v.tolist() for v in mx.unique(x, 3, return_counts=True)]
    nan = mx.array([np.nan, 1.0, np.nan, 0.0, -0.0])
    values, counts = mx.unique(nan, return_counts=True)
    assert str(values.tolist()) == "[0.0, 1.0, nan, nan]" and counts.tolist() == [2, 1, 1, 1]
    with pytest.raises(ValueError):
        mx.unique(a, -1)
    with pytest.raises(ValueError):
        mx.unique(a, 2, fill_value=mx.array([1, 2]))


@pytest.mark.parametrize("f", [mx.nonzero, mx.argwhere, mx.unique])
def test_sizes_are_not_known_inside_a_trace(f):
    with pytest.raises(mx.TraceError):
        mx.compile(f)(mx.array([1, 0]))
    assert mx.compile(lambda x: mx.argwhere(x, size=1))(mx.array([0, 5])).tolist() == [[1]]


def test_nonzero_wants_dimensions():
    with pytest.raises(ValueError):
        mx.nonzero(mx.array(1))
    assert mx.argwhere(mx.array(1)).shape == (1, 0)


# ---- order


@given(hnp.arrays(np.int32, hnp.array_shapes(max_dims=3), elements=st.integers(-3, 3)), st.booleans())
@settings(deadline=None)
def test_sorting_downwards_is_stable(x, stable):
    a = mx.array(x)
    order = np.argsort(-x, -1, kind="stable")
    np.testing.assert_array_equal(np.array(mx.argsort(a, descending=True, stable=stable)), order)
    np.testing.assert_array_equal(np.array(mx.sort(a, descending=True)), np.take_along_axis(x, order, -1))
    flat = np.argsort(-x.ravel(), kind="stable")
    np.testing.assert_array_equal(np.array(mx.argsort(a, axis=None, descending=True)), flat)


def test_downwards_nan_comes_first_and_shapes_may_change():
    assert str(mx.sort(mx.array([1.0, np.nan, 3.0]), descending=True).tolist()) == "[nan, 3.0, 1.0]"
    f = mx.compile(lambda x: mx.argsort(x, descending=True), shapeless=True)
    for n in (3, 5, 2):
        assert f(mx.arange(n)).tolist() == list(range(n))[::-1]


# ---- contractions

SUMS = [
    *("i->", "i", "ii", "ii->i", "iij->j", "ij->ji", "ijk->kj", "ij,jk", "ij,jk->ki", "ij,ij", "ij,ij->i", "i,j->ij"),
    *("bij,bjk->bik", "...ij,...jk->...ik", "...i,i", "ij,jk,kl->il", "a,ab,abc->abc", "ab,cd,ef->acf", "iji,j->"),
]


@pytest.mark.parametrize("subscripts", SUMS)
@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64"])
def test_einsum(subscripts, dtype):
    sizes = dict(zip("abcdefijkl", (2, 3, 1, 2, 4, 2, 3, 4, 2, 5), strict=True))
    rng = np.random.default_rng(0)
    terms = subscripts.split("->")[0].split(",")
    shapes = [[*([2] * ("..." in t)), *(sizes[c] for c in t.replace("...", ""))] for t in terms]
    xs = [np.round(rng.uniform(-4, 4, s)).astype(dtype) for s in shapes]
    got = mx.einsum(subscripts, *map(mx.array, xs))
    np.testing.assert_allclose(np.array(got), np.einsum(subscripts, *xs), rtol=1e-5, atol=1e-4)
    compiled = mx.compile(lambda *a: mx.einsum(subscripts, *a))(*map(mx.array, xs))
    assert bytes(compiled) == bytes(got)


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_einsum_of_any_labels(data):
    labels = "abcd"
    sizes = {c: data.draw(st.integers(1, 3)) for c in labels}
    terms = data.draw(st.lists(st.text(labels, min_size=1, max_size=4), min_size=1, max_size=4))
    used = sorted(set("".join(terms)))
    out = "".join(data.draw(st.lists(st.sampled_from(used), unique=True)))
    xs = [np.random.default_rng(i).integers(-3, 4, [sizes[c] for c in t]) for i, t in enumerate(terms)]
    text = f"{','.join(terms)}->{out}"
    np.testing.assert_array_equal(np.array(mx.einsum(text, *map(mx.array, xs))), np.einsum(text, *xs))
    floats = [mx.array(x.astype(np.float32)) for x in xs]
    np.testing.assert_allclose(np.array(mx.einsum(text, *floats)), np.einsum(text, *xs), atol=1e-3)


def test_einsum_path():
    shapes = {"ij": (5, 8), "jk": (8, 10), "kl": (10, 7)}
    path, text = mx.einsum_path("ij,jk,kl", *map(mx.zeros, shapes.values()))
    assert path == [(1, 2), (0, 1)] and "(1, 2)" in text
    assert mx.einsum_path("ii", mx.zeros((2, 2)))[0] == [(0,)]
    for subscripts, operands in [
        ("ij", 2),
        ("i", 1),
        ("ij->k", 1),
        ("ij->ii", 1),
        ("i1", 1),
        ("i..j", 1),
        ("ij,kj", 2),
    ]:
        xs = [mx.zeros((2, 3)), mx.zeros((4, 5))][:operands]
        with pytest.raises(ValueError, match="einsum"):
            mx.einsum(subscripts, *xs)


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (7, 3), (3, 7), (8, 4), (5, 5), (300, 40)])
def test_convolve(n, m, mode):
    rng = np.random.default_rng(0)
    x, v = rng.integers(-4, 5, n), rng.integers(-4, 5, m)
    for dtype in (np.int32, np.float32, np.complex64):
        got = mx.convolve(mx.array(x.astype(dtype)), mx.array(v.astype(dtype)), mode)
        np.testing.assert_array_equal(np.array(got), np.convolve(x, v, mode))
    with pytest.raises(ValueError, match="mode"):
        mx.convolve(mx.array(x), mx.array(v), "other")


# ---- the rest


def test_groups_of_one():
    group = mx.distributed.init()
    x = mx.array([1, 2])
    assert (group.rank(), group.size()) == (0, 1) and not mx.distributed.is_available()
    for name in ("all_sum", "all_max", "all_min", "all_gather", "sum_scatter"):
        assert getattr(mx.distributed, name)(x, group=group).tolist() == [1, 2]
    for f in (lambda: group.split(0), lambda: mx.distributed.init(strict=True)):
        with pytest.raises(RuntimeError):
            f()
    for f in (
        lambda: mx.distributed.send(x, 0),
        lambda: mx.distributed.recv((2,), mx.int32, 0),
        lambda: mx.distributed.recv_like(x, 0),
    ):
        with pytest.raises(ValueError):
            f()


def test_kernels_of_other_devices_can_be_named():
    kernel = mx.fast.metal_kernel("k", ["x"], ["y"], "source")
    for f in (lambda: kernel(), lambda: mx.fast.cuda_kernel("k", ["x"], ["y"], "source")):
        with pytest.raises(RuntimeError):
            f()


def test_state_of_arrays():
    class Named(mx.array):
        __slots__ = ("name",)

    a = mx.arange(6).reshape(2, 3)
    b = mx.array(0)
    b.__setstate__(a.__getstate__())
    assert b.tolist() == a.tolist() and b.dtype is a.dtype
    assert a.__div__(2).tolist() == (a / 2).tolist() and a.__rdiv__(2).tolist() == (2 / a).tolist()
    assert pickle.loads(pickle.dumps(mx.array([1.5], mx.bfloat16))).tolist() == [1.5]


def test_sizes_have_32_bits():
    too_many = 2**31
    one = mx.zeros((1,))
    for f in (
        lambda: mx.zeros(too_many),
        lambda: mx.full([too_many], 0),
        lambda: mx.arange(too_many),
        lambda: one.reshape([too_many]),
        lambda: mx.broadcast_to(one, (too_many, 1)),
        lambda: mx.concatenate([mx.broadcast_to(one, (2**30,))] * 2),
        lambda: mx.repeat(mx.broadcast_to(one, (2**30,)), 2),
        lambda: mx.flatten(mx.broadcast_to(one, (2**16, 2**15))),
    ):
        with pytest.raises(OverflowError, match=str(too_many)):
            f()
    with pytest.raises(OverflowError):
        mx.zeros([-too_many - 1])
    with pytest.raises(ValueError):
        mx.zeros([-1])
    a = mx.arange(3)
    for f in (lambda: a[: 2**32], lambda: a[2**32], lambda: a[-(2**40) :]):
        with pytest.raises(ValueError):
            f()
    assert a[: 2**31 - 1].tolist() == [0, 1, 2]


def test_what_numbers_do_not_allow():
    for f in (lambda: mx.linalg.inv(mx.zeros((2, 2))), lambda: mx.linalg.cholesky(-mx.eye(2))):
        with pytest.raises(mx.NumericError):
            mx.eval(f())
    assert issubclass(mx.NumericError, RuntimeError)
