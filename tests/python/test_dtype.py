"""Dtypes, categories, promotion and limits."""

import pickle

import numpy as np
import pytest

import pymx as mx

ALL = [
    *(mx.bool_, mx.uint8, mx.uint16, mx.uint32, mx.uint64, mx.int8, mx.int16, mx.int32, mx.int64),
    *(mx.float16, mx.float32, mx.float64, mx.bfloat16, mx.complex64, mx.complex128),
]


def test_text_size_and_identity():
    assert str(mx.float32) == repr(mx.float32) == "mlx.core.float32" and repr(mx.bool_) == "mlx.core.bool"
    for d in ALL:
        assert d.size == mx.zeros((1,), d).itemsize and pickle.loads(pickle.dumps(d)) is d
        assert [d == other for other in ALL].count(True) == 1 and len({d, d}) == 1


def test_categories():
    assert mx.issubdtype(mx.float16, mx.floating) and mx.issubdtype(mx.float16, mx.inexact)
    assert mx.issubdtype(mx.complex64, mx.complexfloating) and not mx.issubdtype(mx.complex64, mx.floating)
    assert mx.issubdtype(mx.uint8, mx.unsignedinteger) and mx.issubdtype(mx.unsignedinteger, mx.integer)
    assert not mx.issubdtype(mx.uint8, mx.signedinteger) and mx.issubdtype(mx.int8, mx.number)
    assert not mx.issubdtype(mx.bool_, mx.number) and all(mx.issubdtype(d, mx.generic) for d in ALL)
    assert mx.issubdtype(mx.int32, mx.int32) and not mx.issubdtype(mx.int32, mx.int64)
    assert not mx.issubdtype(mx.floating, mx.float32) and repr(mx.floating) == "DtypeCategory.floating"


def test_kinds_of_the_array_api():
    assert mx.isdtype(mx.int8, "integral") and mx.isdtype(mx.int8, ("bool", "signed integer"))
    assert mx.isdtype(mx.bfloat16, "real floating") and mx.isdtype(mx.complex64, "numeric")
    assert not mx.isdtype(mx.bool_, "numeric") and mx.isdtype(mx.bool_, mx.bool_)
    with pytest.raises(ValueError):
        mx.isdtype(mx.int8, "real")


def test_promotion():
    assert mx.result_type(mx.int32, mx.float16) is mx.float16 and mx.result_type(mx.uint8, mx.int8) is mx.int16
    assert mx.result_type(mx.float16, mx.bfloat16) is mx.float32 and mx.result_type(mx.uint64, mx.int8) is mx.float32
    assert mx.result_type(mx.array(1), mx.float32, mx.bool_) is mx.float32
    assert mx.result_type(mx.array([1], mx.int8), 3) is mx.int8 and mx.result_type(mx.int8, 1.0) is mx.float32
    assert mx.result_type(1, 2.0) is mx.float32
    # complex128 only comes from complex128
    assert mx.result_type(mx.float64, mx.complex64) is mx.result_type(mx.float64, 1j) is mx.complex64
    assert all(mx.result_type(mx.complex128, x) is mx.complex128 for x in (*ALL, 1j, 1.0, 2, True))
    for a in ALL:
        assert mx.result_type(a) is a and mx.result_type(a, a) is a and mx.can_cast(a, a)
        for b in ALL:
            assert mx.result_type(a, b) is mx.result_type(b, a)
    assert mx.can_cast(mx.int8, mx.int16) and not mx.can_cast(mx.float32, mx.int32)
    with pytest.raises(ValueError):
        mx.result_type()


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_finfo(name):
    ours, theirs = mx.finfo(getattr(mx, name)), np.finfo(name)
    for field in ("bits", "min", "max", "eps", "smallest_normal"):
        assert getattr(ours, field) == float(getattr(theirs, field))


def test_finfo_of_others():
    b = mx.finfo(mx.bfloat16)
    assert b.max == 3.3895313892515355e38 and b.eps == 0.0078125 and b.dtype is mx.bfloat16
    assert mx.finfo(mx.complex64).max == mx.finfo(mx.float32).max
    assert mx.finfo(mx.complex128).eps == mx.finfo(mx.float64).eps and mx.finfo(mx.complex128).dtype is mx.float64
    assert repr(mx.finfo(mx.float16)) == "finfo(min=-65504, max=65504, dtype=float16)"
    with pytest.raises(ValueError):
        mx.finfo(mx.int8)


@pytest.mark.parametrize("name", ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"])
def test_iinfo(name):
    ours, theirs = mx.iinfo(getattr(mx, name)), np.iinfo(name)
    assert (ours.bits, ours.min, ours.max) == (theirs.bits, theirs.min, theirs.max)
    with pytest.raises(ValueError):
        mx.iinfo(mx.float32)
