"""repr, str, format and printoptions."""

import numpy as np
import pytest

import pymx as mx


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (mx.array(1.0), "array(1, dtype=float32)"),
        (mx.array(True), "array(True, dtype=bool)"),
        (mx.array([1, 2, 3]), "array([1, 2, 3], dtype=int32)"),
        (mx.array([7], mx.uint8), "array([7], dtype=uint8)"),
        (mx.array([1.0, np.nan, np.inf, -np.inf]), "array([1, nan, inf, -inf], dtype=float32)"),
        (
            mx.array([0.1, 100.5, 1e-5, 1e10, 1234567.0]),
            "array([0.1, 100.5, 1e-05, 1e+10, 1.23457e+06], dtype=float32)",
        ),
        (mx.array([1 + 2.5j, -1 - 0.5j]), "array([1+2.5j, -1-0.5j], dtype=complex64)"),
        (mx.array([1.5, 2], mx.bfloat16), "array([1.5, 2], dtype=bfloat16)"),
        (mx.array([0.1], mx.float16), "array([0.0999756], dtype=float16)"),
        (mx.array([[1, 2], [3, 4]]), "array([[1, 2],\n       [3, 4]], dtype=int32)"),
        (mx.zeros((2, 1, 1)), "array([[[0]],\n       [[0]]], dtype=float32)"),
        (mx.arange(6), "array([0, 1, 2, 3, 4, 5], dtype=int32)"),
        (mx.arange(7), "array([0, 1, 2, ..., 4, 5, 6], dtype=int32)"),
        (mx.zeros((0, 3)), "array([], dtype=float32)"),
        (mx.zeros((2, 0, 3)), "array([[],\n       []], dtype=float32)"),
    ],
)
def test_repr(value, text):
    assert repr(value) == str(value) == f"{value!r}" == text


def test_long_axes_show_their_ends():
    lines = str(mx.zeros((7, 8, 9))).split("\n")
    assert len(lines) == 7 * 7 - 6 and lines[0] == "array([[[0, 0, 0, ..., 0, 0, 0],"
    assert lines[1] == "        [0, 0, 0, ..., 0, 0, 0]," and lines[3] == "        ...," and "       ...," in lines
    x = mx.arange(1_000_000).reshape(1000, 1000)
    assert str(x).split("\n")[-1] == "       [999000, 999001, 999002, ..., 999997, 999998, 999999]], dtype=int32)"


def test_format():
    assert f"{mx.array(3.14159):.2f}" == "3.14" and f"{mx.array(7):04d}" == "0007" and f"{mx.array(3)}" == "3"
    assert f"{mx.array([1])}" == "array([1], dtype=int32)"
    with pytest.raises(TypeError):
        f"{mx.array([1.0]):.2f}"


def test_printoptions():
    x = mx.array([1.23456, 2, 100.123])
    with mx.printoptions(precision=3):
        assert mx.get_printoptions().precision == 3
        assert repr(x) == "array([1.235, 2.000, 100.123], dtype=float32)"
        assert repr(mx.array([1, 2])) == "array([1, 2], dtype=int32)"
        assert repr(mx.array(1 + 2.5555j)) == "array(1.000+2.556j, dtype=complex64)"
        with mx.printoptions(precision=0):
            assert repr(x) == "array([1, 2, 100], dtype=float32)"
        assert mx.get_printoptions() == mx.PrintOptions(3)
    assert mx.get_printoptions().precision == -1 and repr(mx.array(1.23456789)) == "array(1.23457, dtype=float32)"
    mx.set_printoptions(precision=2)
    assert repr(mx.array(1.0)) == "array(1.00, dtype=float32)"
    mx.set_printoptions()
