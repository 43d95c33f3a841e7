"""NumPy's side of dtypes: conversion to and from pymx, random numbers, units in the last place."""

from __future__ import annotations

import ml_dtypes
import numpy as np

import pymx as mx

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
SIGNED = ("int8", "int16", "int32", "int64")
INTEGERS = UNSIGNED + SIGNED
HALVES = ("float16", "bfloat16")
FLOATS = (*HALVES, "float32", "float64")
REAL = ("bool", *INTEGERS, *FLOATS)
COMPLEX = ("complex64", "complex128")
ALL = (*REAL, *COMPLEX)

_DIGITS = {"float16": (11, -14), "bfloat16": (8, -126), "float32": (24, -126), "float64": (53, -1022)}  # p, emin
_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}


def name_of(x: mx.array) -> str:
    """The name of an array's dtype."""
    return str(x.dtype).rsplit(".", 1)[-1].removesuffix("_")


def part(name: str) -> str:
    """The dtype of a complex dtype's parts; else the dtype itself."""
    return {"complex64": "float32", "complex128": "float64"}.get(name, name)


def dtype_of(name: str) -> np.dtype:
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)


def to_numpy(x: mx.array) -> np.ndarray:
    if x.dtype == mx.bfloat16:
        return np.array(x.reshape(-1).view(mx.uint16)).view(BFLOAT16).reshape(x.shape)
    return np.array(x)


def to_mx(x: np.ndarray) -> mx.array:
    if x.dtype == BFLOAT16:
        return mx.array(x.reshape(-1).view(np.uint16)).view(mx.bfloat16).reshape(x.shape)
    return mx.array(x, {"float64": mx.float64, "complex128": mx.complex128}.get(x.dtype.name))


def canonical(x: np.ndarray) -> np.ndarray:
    """The bits, with one NaN for all: which of its operands' payloads an op hands on is left open."""
    x = np.ascontiguousarray(x)
    if x.dtype.kind == "c":
        return canonical(x.view(x.real.dtype))
    if x.dtype.kind == "f" or x.dtype == BFLOAT16:
        x = x.copy()
        x[np.isnan(x)] = np.nan
    return x.view(np.dtype(f"u{x.dtype.itemsize}"))


def wide(x: np.ndarray) -> np.ndarray:
    """More digits than any result is judged by."""
    if x.dtype.kind == "c":
        return x.astype(np.complex128 if x.dtype == np.complex64 else np.clongdouble)
    long = x.dtype == np.float64 or (x.dtype.kind in "iu" and x.dtype.itemsize == 8)
    return x.astype(np.longdouble if long else float)


def ulp(name: str, x: np.ndarray) -> np.ndarray:
    """The distance of neighbours around x in a floating dtype."""
    digits, lowest = _DIGITS[name]
    _, exponent = np.frexp(np.where(np.isfinite(x), np.abs(x), 0))
    return np.ldexp(np.ones_like(x), np.maximum(exponent - 1, lowest) - digits + 1)


def unit(name: str) -> float:
    """The unit roundoff."""
    return 2.0 ** -_DIGITS[name][0]


def may_overflow(name: str, magnitudes: np.ndarray) -> np.ndarray:
    """Whether a sum of these magnitudes may leave the range on its way, in some order: inf there, else 0."""
    return np.where(magnitudes < _LARGEST.get(name, 1.7e308) / 2, 0, np.inf)


def magnitude(x: np.ndarray) -> np.ndarray:
    """The absolute value; of a complex number the sum of those of its parts, of which a NaN does not hide the other."""
    if x.dtype.kind != "c":
        return np.abs(x)
    return np.where(np.isnan(x.real), 0, np.abs(x.real)) + np.where(np.isnan(x.imag), 0, np.abs(x.imag))


def rounded(name: str, x: np.ndarray) -> np.ndarray:
    """x as a floating dtype has it."""
    with np.errstate(all="ignore"):
        return _to_odd(x).astype(BFLOAT16) if name == "bfloat16" else x.astype(dtype_of(name))


def _to_odd(x: np.ndarray) -> np.ndarray:
    """x in float32; what that does not hold ends in a 1, so that rounding it again gives what rounding x once would:
    ml_dtypes rounds float64 twice on the way to bfloat16."""
    near = np.atleast_1d(np.asarray(x.astype(np.float32)))
    held, exact = wide(near), wide(np.atleast_1d(x))
    bits = near.view(np.uint32) - (np.abs(held) > np.abs(exact)).astype(np.uint32)
    bits |= ((held != exact) & ~np.isnan(exact)).astype(np.uint32)
    return bits.view(np.float32).reshape(x.shape)


def random_values(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of moderate size; now and then with what is special among them."""
    special = rng.random() < 0.15
    if name == "bool":
        return rng.random(shape) < 0.5
    if name in INTEGERS:
        bounds = np.iinfo(name)
        small = rng.random() < 0.8
        low, high = (max(bounds.min, -9), 10) if small else (bounds.min, bounds.max)
        x = rng.integers(low, high, shape, dtype=name, endpoint=not small)
        return _sprinkle(rng, x, [0, 1, bounds.min, bounds.max]) if special else x
    if name in COMPLEX:
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(name)
    x = rng.normal(size=shape) * 2.0 ** rng.integers(-3, 4)
    if rng.random() < 0.3:
        x = np.abs(x)
    x = rounded(name, x)
    if not special:
        return x
    tiny = float(ulp(name, np.zeros(())))
    with np.errstate(all="ignore"):
        return _sprinkle(rng, x, [0.0, -0.0, np.inf, -np.inf, np.nan, tiny, -3 * tiny, _LARGEST.get(name, 1e308), 1.0])


def _sprinkle(rng: np.random.Generator, x: np.ndarray, specials: list[float]) -> np.ndarray:
    where = rng.random(x.shape) < 0.3
    if x.dtype.kind in "iu":
        specials = [s if s == s else 0 for s in specials]
    chosen = np.array(specials, dtype=x.dtype)[rng.integers(len(specials), size=x.shape)]
    return np.where(where, chosen, x)
