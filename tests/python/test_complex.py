"""Complex functions: special values as in C99 Annex G, which NumPy follows too, and accuracy away from them."""

import itertools

import numpy as np
import pytest

import pymx as mx
import pymx.array_api as xp

SPECIAL = [0.0, -0.0, 0.5, -2.0, np.inf, -np.inf, np.nan]
UNARY = {
    **{name: getattr(np, name) for name in ("exp", "expm1", "log", "log1p", "sqrt", "sinh", "cosh", "tanh", "sin")},
    **{name: getattr(np, name) for name in ("cos", "tan", "arcsin", "arccos", "arctan", "arcsinh", "arccosh")},
    "arctanh": np.arctanh,
}
# Signs of zeros and NaN that Annex G leaves open; and expm1, log1p, which it does not have.
SIGN_IS_OPEN = {"expm1", "log1p"}
WIDER = {"complex64": np.complex128, "complex128": np.clongdouble}
LIMIT = {"complex64": 1e-6, "complex128": 2e-15}  # about 8 units in the last place
DTYPES = pytest.mark.parametrize("dtype", WIDER)


def computed(name, x):
    """Our function of NumPy's array, in its dtype."""
    f = xp.expm1 if name == "expm1" else getattr(mx, name)
    got = np.array(f(mx.array(x, getattr(mx, x.dtype.name))))
    assert got.dtype == x.dtype
    return got


def parts(values):
    return np.stack([values.real, values.imag], -1)


@DTYPES
@pytest.mark.parametrize("name", UNARY)
def test_special_values(name, dtype):
    x = np.array([complex(a, b) for a, b in itertools.product(SPECIAL, SPECIAL)])
    with np.errstate(all="ignore"):
        expected = parts(np.exp(x) - 1 if name == "expm1" else UNARY[name](x))  # np.expm1(inf) has a NaN
    got = parts(computed(name, x.astype(dtype))).astype(np.float64)
    for value, e, g in zip(x, expected, got, strict=True):
        for part in (0, 1):
            if np.isinf(e[part]) or np.isnan(e[part]):
                assert np.abs(g[part]) == np.abs(e[part]) or np.isnan(e[part]) == np.isnan(g[part]) != 0, (value, e, g)
            else:
                assert g[part] == pytest.approx(e[part], rel=LIMIT[dtype], abs=LIMIT[dtype] / 10), (value, e, g)


@DTYPES
@pytest.mark.parametrize("name", [n for n in UNARY if n not in SIGN_IS_OPEN])
def test_branch_cuts_follow_the_sign_of_zero(name, dtype):
    x = np.array([complex(a, b) for a in (-2.0, -0.5, 0.0, 0.5, 2.0) for b in (0.0, -0.0)], dtype=dtype)
    x = np.concatenate([x, x.imag + 1j * x.real]).astype(dtype)  # the cuts on the other axis
    with np.errstate(all="ignore"):
        expected = parts(UNARY[name](x.astype(np.complex128)))
    got = parts(computed(name, x))
    np.testing.assert_allclose(got, expected, rtol=LIMIT[dtype], atol=LIMIT[dtype])
    large = np.abs(expected) > 1e-6
    np.testing.assert_array_equal(np.signbit(got)[large], np.signbit(expected)[large])


@DTYPES
@pytest.mark.parametrize("name", UNARY)
def test_accuracy(name, dtype):
    rng = np.random.default_rng(11)
    radius, turn = np.exp(rng.uniform(-6, 6, 4000)), rng.uniform(-np.pi, np.pi, 4000)
    x = (radius * np.exp(1j * turn)).astype(dtype)
    x = x[(np.abs(x.real) < 40) & (np.abs(x.imag) < 40)]
    expected = UNARY[name](x.astype(WIDER[dtype]))
    got = computed(name, x).astype(WIDER[dtype])
    # Relative to the value; its parts cannot be better where the argument of a periodic function is large.
    condition = 1 + np.abs(x) if name in ("exp", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh") else 1
    error = np.abs(got - expected) / (np.abs(expected) * condition)
    assert error.max() < LIMIT[dtype], (x[error.argmax()], error.max())


@DTYPES
def test_huge_arguments_do_not_overflow_on_the_way(dtype):
    large = {"complex64": 3e38, "complex128": 1.7e308}[dtype]
    x = np.array([large, -large, large * 1j, -large * 1j, large * (0.6 + 0.6j)], dtype=dtype)
    for name in ("log", "sqrt", "arcsinh", "arccosh", "arctanh", "arcsin", "arccos"):
        got, expected = computed(name, x), UNARY[name](x.astype(WIDER[dtype]))
        np.testing.assert_allclose(got, expected, rtol=LIMIT[dtype], atol=LIMIT[dtype], err_msg=name)


def test_sign_of_zero_is_zero():
    x = np.array([0j, complex(-0.0, 0.0), complex(0.0, -0.0)], dtype=np.complex64)
    assert np.array(mx.sign(mx.array(x))).tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", ["expm1", "sigmoid", "erf", "erfinv"])
def test_not_defined_as_in_mlx(name):
    for x in (mx.array([1 + 2j]), 1 + 2j):
        with pytest.raises(mx.DtypeError, match=name) as caught:
            getattr(mx, name)(x)
        assert isinstance(caught.value, ValueError) and "complex64" in str(caught.value)
    with pytest.raises(ValueError, match="arctan2"):
        mx.arctan2(mx.array([1j]), mx.array([1j]))
