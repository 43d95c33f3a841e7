"""pymx.tree."""

import collections
from dataclasses import dataclass

import pytest

import pymx as mx
from pymx import tree

Point = collections.namedtuple("Point", "x y")


@dataclass
class Box:
    inside: object
    label: str


TREE = {"a": [1, (2, Point(3, None))], "b": {}, "c": ()}


def test_flatten_and_unflatten():
    leaves, structure = tree.flatten(TREE)
    assert leaves == [1, 2, 3, None] == list(tree.leaves(TREE))
    assert tree.unflatten(structure, leaves) == TREE
    other = tree.unflatten(structure, "wxyz")
    assert other == {"a": ["w", ("x", Point("y", "z"))], "b": {}, "c": ()} and type(other["a"][1][1]) is Point
    for wrong in ([1], range(9)):
        with pytest.raises(ValueError):
            tree.unflatten(structure, wrong)
    assert tree.flatten(5)[0] == [5] and tree.unflatten(tree.flatten(5)[1], [6]) == 6


def test_map():
    assert tree.map(lambda x, y: (x, y), [1, {"k": 2}], [3, {"k": 4}]) == [(1, 3), {"k": (2, 4)}]
    with pytest.raises(ValueError):
        tree.map(lambda x, y: x, [1, 2], [1])
    with pytest.raises(ValueError):
        tree.map(lambda x, y: x, [1], 1)


def test_subclasses_keep_their_type():
    class Row(list):
        pass

    words = collections.defaultdict(int, a=1)
    out = tree.map(lambda x: x + 1, [Row([1]), words, collections.OrderedDict(b=2)])
    assert type(out[0]) is Row and out[1].default_factory is int and out[1] == {"a": 2}
    assert type(out[2]) is collections.OrderedDict and words == {"a": 1}


def test_registered_types():
    assert list(tree.leaves(Box(1, "x"))) == [Box(1, "x")]
    tree.register(Box, lambda b: [b.inside], lambda b, new: Box(new[0], b.label))
    assert tree.map(lambda x: x * 2, Box([1, 2], "x")) == Box([2, 4], "x")
    f = mx.compile(lambda b: Box(b.inside + 1, b.label))
    for _ in range(2):
        assert f(Box(mx.array(1), "y")).inside.item() == 2
    with pytest.raises(TypeError):
        tree.register(3, list, list)


def test_eval_walks_trees_and_ignores_others():
    x = mx.ones((3,)) + 1
    mx.eval([{"x": x}, None, "text", 3, object()])
    mx.async_eval(x + 1, {"y": (x * 2,)}, 5)
    mx.eval()
    mx.eval([])
    assert x.tolist() == [2, 2, 2]


def test_deep_trees():
    nested = [mx.array(1)]
    for _ in range(5000):
        nested = [nested]
    assert len(list(tree.leaves(nested))) == 1
    mx.eval(nested)
