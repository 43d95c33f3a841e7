"""One table drives every op: NumPy's function, dtypes, domain of the operands and tolerance; each row runs over layouts
(row-major, transposed, stepped, reversed, broadcast, empty, 0-d), eagerly, compiled and compiled for any shape, whose
results must agree to the last bit."""

import functools
import math
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import op_names
from numpy.lib.stride_tricks import as_strided

import pymx as mx

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = [*UNSIGNED, *SIGNED]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
BITS = ["bool", *INTEGERS]
COMPLEX = ["complex64", "complex128"]
INEXACT = [*FLOATS, *COMPLEX]
NUMBERS = [*INTEGERS, *INEXACT]
REAL = [*BITS, *FLOATS]
ALL = [*REAL, *COMPLEX]
SOME = ["bool", "uint8", "int32", "int64", "float16", "float32", *COMPLEX]  # for ops that only move elements
LAYOUTS = {
    "row": lambda x: x,
    "transposed": lambda x: x.T,
    "stepped": lambda x: x[::2, 1::3],
    "reversed": lambda x: x[::-1, ::-1],
    "broadcast": lambda x: (mx if isinstance(x, mx.array) else np).broadcast_to(x[1:2], (4, 9)),
    "empty": lambda x: x[:, :0],
    "scalar": lambda x: x[1, 2],
}
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float64": 1e-13, "complex128": 1e-13}
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.5]


@dataclass
class Row:
    reference: Any  # takes NumPy's arrays
    dtypes: list
    domains: list = field(default_factory=lambda: [(-9, 9)])  # per operand: the range of its elements
    call: Any = None  # of our arrays; the op of the row's name if None
    wide: bool = False  # the reference computes in double precision: results are close, not equal
    factor: float = 1  # of the tolerance
    least: int = 0  # the fewest dimensions that the op takes
    empty: bool = True  # it takes arrays without elements
    shapeless: bool = True  # it can be replayed on other shapes
    special: bool = False  # NaN, infinities and -0 among the floats


def wide(reference, dtypes, *domains, **more):
    return Row(reference, dtypes, list(domains) or [(-9, 9)], wide=True, **more)


def two(reference, dtypes, a=(0, 5), b=(1, 9), **more):
    return Row(reference, dtypes, [a, b], **more)


def fixed(reference, call, dtypes=SOME, **more):
    """Arguments of the op that only fit some shapes: not replayed."""
    return Row(reference, dtypes, call=call, shapeless=False, least=2, **more)


def words(text):
    return text.split()


def rows_of(names, dtypes, *domains, **more):
    return {name: wide(getattr(np, name), dtypes, *domains, **more) for name in names.split()}


def reduction(name, dtypes=("int32", *FLOATS), domain=(-9, 9), **more):
    reference = getattr(np, name)
    return wide(
        lambda x: [reference(x), reference(x, axis=0), reference(x, axis=-1, keepdims=True)],
        dtypes,
        domain,
        call=lambda x: [f := getattr(mx, name), f(x), f(x, axis=0), f(x, axis=-1, keepdims=True)][1:],
        least=1,
        factor=20,
        **more,
    )


def scan(name, ufunc, **more):
    return wide(
        lambda x: [ufunc.accumulate(x, axis=0), np.flip(ufunc.accumulate(np.flip(x, -1), axis=-1), -1)],
        ["int32", *FLOATS],
        (-2, 2),
        call=lambda x: [getattr(mx, name)(x, axis=0), getattr(mx, name)(x, axis=-1, reverse=True)],
        least=2,
        factor=20,
        **more,
    )


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def complex_square(x):
    """Each product and sum rounded, where NumPy's own may use fused operations."""
    if x.dtype.kind != "c":
        return np.square(x)
    out = np.empty_like(x)
    out.real, out.imag = x.real * x.real - x.imag * x.imag, x.real * x.imag + x.imag * x.real
    return out


def numpys(x):
    """NumPy sorts NaN of another package's dtype to the front."""
    return x.astype(np.float32) if x.dtype == ml_dtypes.bfloat16 else x


def places(x):
    return np.arange(x.size).reshape(x.shape) % max(x.shape[-1], 1)


erf = np.vectorize(math.erf, otypes=[np.float64])
fp8 = ml_dtypes.float8_e4m3fn

TABLE = {
    # ---- one operand, exact
    "abs": Row(np.abs, [*INTEGERS, *FLOATS]),
    "sign": Row(np.sign, [*INTEGERS, *FLOATS], special=True),
    "positive": Row(lambda x: x, ALL),
    "negative": Row(np.negative, NUMBERS, special=True),
    "square": Row(complex_square, NUMBERS),
    "floor": Row(np.floor, [*INTEGERS, *FLOATS], special=True),
    "ceil": Row(np.ceil, [*INTEGERS, *FLOATS], special=True),
    "trunc": Row(np.trunc, [*INTEGERS, *FLOATS], special=True),
    "round": Row(np.round, [*INTEGERS, *FLOATS], special=True),
    "logical_not": Row(np.logical_not, ALL, [(0, 2)]),
    "bitwise_invert": Row(np.invert, BITS),
    "conjugate": Row(np.conjugate, NUMBERS),
    "real": Row(np.real, NUMBERS),
    "imag": Row(np.imag, NUMBERS),
    "isnan": Row(np.isnan, [*FLOATS, "int32", *COMPLEX], special=True),
    "isinf": Row(np.isinf, [*FLOATS, "int32", *COMPLEX], special=True),
    "isfinite": Row(np.isfinite, [*FLOATS, "int32", *COMPLEX], special=True),
    "isposinf": Row(np.isposinf, FLOATS, special=True),
    "isneginf": Row(np.isneginf, FLOATS, special=True),
    "signbit": Row(np.signbit, FLOATS, special=True),
    "signbit of integers": Row(lambda x: x < 0, INTEGERS, call=mx.signbit),
    "nan_to_num": Row(np.nan_to_num, ["int32", "float16", "float32", "float64"], special=True),
    "stop_gradient": Row(lambda x: x, ALL),
    "to_fp8": Row(lambda x: x.astype(fp8).view(np.uint8), ["float32"], [(-99, 99)]),
    "from_fp8": Row(
        lambda x: (x % 127).view(fp8).astype(np.float32),
        ["uint8"],
        [(0, 99)],
        call=lambda x: mx.from_fp8(x % 127, mx.float32),
    ),
    "astype": Row(lambda x: x.astype(np.float32), ["bool", *INTEGERS, "float16"], call=lambda x: x.astype(mx.float32)),
    # ---- one operand, close
    **rows_of("sqrt", [*REAL, *COMPLEX], (0, 9)),
    "rsqrt": wide(lambda x: 1 / np.sqrt(x), [*INTEGERS, *FLOATS], (1, 9)),
    "reciprocal": wide(lambda x: 1 / x, NUMBERS, (1, 9)),
    **rows_of("exp sin cos", [*REAL, *COMPLEX], (-3, 3), factor=3),
    **rows_of("expm1 sinh cosh tanh arcsinh degrees radians", REAL, (-3, 3), factor=2),
    **rows_of("log log10 log2", NUMBERS, (1, 9), factor=2),
    **rows_of("log1p", REAL, (0, 9)),
    **rows_of("tan arcsin arccos", REAL, (-1, 1), factor=2),
    **rows_of("arctan", REAL),
    **rows_of("arccosh", [*INTEGERS, *FLOATS], (1, 9), factor=2),
    **rows_of("arctanh", FLOATS, (-0.9, 0.9), factor=3),
    "erf": wide(erf, REAL, (-2, 2)),
    "erfinv": wide(lambda x: x, ["float32", "float64"], (-0.9, 0.9), call=lambda x: mx.erf(mx.erfinv(x)), factor=1e5),
    "sigmoid": wide(lambda x: 1 / (1 + np.exp(-x)), REAL, (-3, 3)),
    "abs of complex": wide(np.abs, COMPLEX, call=mx.abs),
    "sign of complex": wide(lambda x: x / np.abs(x), COMPLEX, call=mx.sign),
    "round to decimals": wide(lambda x: np.round(x, 1), ["float32", "float64"], call=lambda x: mx.round(x, 1)),
    # ---- two operands, exact
    "add": two(np.add, ALL),
    "subtract": two(np.subtract, NUMBERS),
    "multiply": two(np.multiply, [*BITS, *FLOATS]),
    "maximum": two(np.maximum, ALL, special=True),
    "minimum": two(np.minimum, ALL, special=True),
    "floor_divide": two(np.floor_divide, [*INTEGERS, "float32", "float64"]),
    "power of integers": two(np.power, INTEGERS, (0, 5), (0, 4), call=mx.power),
    "copysign": two(np.copysign, FLOATS, (-9, 9), (-9, 9), special=True),
    "nextafter": two(np.nextafter, ["float16", "float32", "float64"], (-9, 9), (-9, 9)),
    **{
        name: two(getattr(np, name), ALL, special=True)
        for name in words("equal not_equal less less_equal greater greater_equal")
    },
    **{name: two(getattr(np, name), ALL, b=(0, 2)) for name in words("logical_and logical_or logical_xor")},
    **{name: two(getattr(np, name), BITS) for name in words("bitwise_and bitwise_or bitwise_xor")},
    "left_shift": two(np.left_shift, INTEGERS, (0, 5), (0, 3)),
    "right_shift": two(np.right_shift, INTEGERS, (0, 99), (0, 3)),
    "array_equal": two(np.array_equal, ALL),
    "isclose": two(np.isclose, [*INTEGERS, "float32", "float64"], special=True),
    "allclose": two(np.allclose, [*INTEGERS, "float32", "float64"]),
    "where": Row(lambda c, x, y: np.where(c != 0, x, y), ALL, [(0, 1), (-9, 9), (-9, 9)]),
    "clip": two(lambda x, y: np.clip(x, 1, y), [*INTEGERS, *FLOATS], call=lambda x, y: mx.clip(x, 1, y)),
    # ---- two operands, close
    **rows_of("divide", NUMBERS, (0, 5), (1, 9), factor=2),
    **rows_of("arctan2 logaddexp hypot", [*INTEGERS, *FLOATS], (0, 5), (1, 9), factor=2),
    "remainder": wide(np.remainder, [*INTEGERS, *FLOATS], (0, 5), (1, 9), factor=9),
    "power": wide(np.power, INEXACT, (1, 5), (0, 3), factor=30),
    "multiply of complex": wide(np.multiply, COMPLEX, (-9, 9), (-9, 9), call=mx.multiply, factor=9),
    "divmod": wide(np.divmod, INTEGERS, (0, 9), (1, 5)),
    # ---- reductions and scans
    **{name: reduction(name) for name in words("sum mean var std")},
    "prod": reduction("prod", ["int32", "float32", "float64"], domain=(1, 1.1)),
    **{name: reduction(name, [*INTEGERS, *FLOATS], empty=False) for name in words("min max median")},
    **{name: reduction(name, ALL, domain=(0, 1)) for name in words("all any count_nonzero")},
    "logsumexp": wide(lambda x: np.log(np.exp(x).sum(0)), FLOATS, (-3, 3), call=lambda x: mx.logsumexp(x, 0), least=1),
    "minmax": Row(lambda x: (x.min(-1), x.max(-1)), NUMBERS, call=lambda x: mx.minmax(x, -1), least=1, empty=False),
    "softmax": wide(softmax, FLOATS, call=lambda x: mx.softmax(x, -1), least=1, empty=False),
    "argmin": Row(lambda x: np.argmin(x, -1), REAL, call=lambda x: mx.argmin(x, -1), least=1, empty=False),
    "argmax": Row(lambda x: np.argmax(x), REAL, empty=False),
    "cumsum": scan("cumsum", np.add),
    "cumprod": scan("cumprod", np.multiply),
    "cummax": scan("cummax", np.maximum),
    "cummin": scan("cummin", np.minimum),
    "logcumsumexp": wide(
        lambda x: np.logaddexp.accumulate(x, 0), ["float32", "float64"], call=lambda x: mx.logcumsumexp(x, 0), least=2
    ),
    "diff": Row(lambda x: np.diff(x, 2), [*INTEGERS, "float32"], call=lambda x: mx.diff(x, 2), least=1),
    # ---- sorting, searching
    "sort": Row(lambda x: np.sort(numpys(x), -1), ALL, call=lambda x: mx.sort(x, -1), least=1, special=True),
    "sort downwards": Row(
        lambda x: -np.sort(-x, 0), ["int32", *FLOATS], call=lambda x: mx.sort(x, 0, descending=True), least=1
    ),
    "argsort": Row(lambda x: np.argsort(x, -1, kind="stable"), REAL, call=lambda x: mx.argsort(x, -1), least=1),
    "argsort downwards": Row(
        lambda x: np.argsort(-x, 0, kind="stable"),
        ["int32", "float32"],
        call=lambda x: mx.argsort(x, 0, descending=True),
        least=1,
    ),
    "partition": fixed(
        lambda x: np.sort(x, 0)[:2],
        lambda x: [p := mx.partition(x, 1, 0), mx.concatenate([mx.sort(p[:1], 0), p[1:2]])][1],
        ["int32", "float32"],
    ),
    "argpartition": fixed(
        lambda x: np.sort(x, 0)[1],
        lambda x: mx.take_along_axis(x, mx.argpartition(x, 1, 0), 0)[1],
        ["int32", "float32"],
    ),
    "topk": fixed(lambda x: np.sort(x, 0)[-2:], lambda x: mx.sort(mx.topk(x, 2, 0), 0), REAL),
    "searchsorted": Row(
        lambda x: np.searchsorted(np.arange(9).astype(x.dtype), x, "right"),
        ["int8", "int32", "float32"],
        call=lambda x: mx.searchsorted(mx.arange(9).astype(x.dtype), x, side="right"),
    ),
    "argwhere": Row(
        lambda x: np.argwhere(x)[:1], ALL, [(1, 2)], call=lambda x: mx.argwhere(x, size=1), least=1, empty=False
    ),
    # ---- shape and layout
    "reshape": Row(lambda x: x.reshape(-1), SOME, call=lambda x: mx.reshape(x, (-1,))),
    "flatten": Row(np.ravel, SOME),
    "unflatten": fixed(lambda x: x.reshape(-1, *x.shape[1:], 1), lambda x: mx.unflatten(x, -1, (-1, 1)), empty=False),
    "squeeze": Row(lambda x: np.squeeze(x[None]), SOME, call=lambda x: mx.squeeze(x[None]), shapeless=False),
    "expand_dims": Row(lambda x: np.expand_dims(x, (0, -1)), SOME, call=lambda x: mx.expand_dims(x, (0, -1))),
    "transpose": Row(np.transpose, SOME),
    "permute_dims": fixed(lambda x: x.transpose(1, 0), lambda x: mx.permute_dims(x, (1, 0))),
    "matrix_transpose": fixed(lambda x: x.T, mx.matrix_transpose),
    "moveaxis": fixed(lambda x: np.moveaxis(x, 0, -1), lambda x: mx.moveaxis(x, 0, -1)),
    "swapaxes": fixed(lambda x: np.swapaxes(x, 0, 1), lambda x: mx.swapaxes(x, 0, 1)),
    "flip": Row(np.flip, SOME),
    "broadcast_to": fixed(lambda x: np.broadcast_to(x, (2, *x.shape)), lambda x: mx.broadcast_to(x, (2, *x.shape))),
    "broadcast_arrays": two(
        lambda x, y: np.broadcast_arrays(x[None], y[:, None]),
        SOME,
        call=lambda x, y: mx.broadcast_arrays(x[None], y[:, None]),
        least=1,
    ),
    "split": fixed(lambda x: np.split(x, [1, 3]), lambda x: mx.split(x, [1, 3])),
    "split equally": fixed(lambda x: np.split(x, 1, -1), lambda x: mx.split(x, 1, -1)),
    "unstack": fixed(list, mx.unstack),
    "concatenate": two(
        lambda x, y: np.concatenate([x, y], -1), SOME, call=lambda x, y: mx.concatenate([x, y], -1), least=1
    ),
    "stack": two(lambda x, y: np.stack([x, y], 1), SOME, call=lambda x, y: mx.stack([x, y], 1), least=1),
    "repeat": Row(lambda x: np.repeat(x, 3, -1), SOME, call=lambda x: mx.repeat(x, 3, -1), least=1, shapeless=False),
    "tile": Row(lambda x: np.tile(x, (2, 3)), SOME, call=lambda x: mx.tile(x, (2, 3)), shapeless=False),
    "pad": Row(lambda x: np.pad(x, (1, 2)), SOME, call=lambda x: mx.pad(x, (1, 2)), least=1),
    **{
        f"pad {mode}": fixed(
            lambda x, mode=mode: np.pad(x, 1, mode), lambda x, mode=mode: mx.pad(x, 1, mode), empty=False
        )
        for mode in ("edge", "reflect", "symmetric")
    },
    "roll": Row(lambda x: np.roll(x, 2, 0), SOME, call=lambda x: mx.roll(x, 2, 0), least=1, shapeless=False),
    "atleast_1d": Row(np.atleast_1d, SOME),
    "atleast_2d": Row(np.atleast_2d, SOME),
    "atleast_3d": Row(np.atleast_3d, SOME),
    "diagonal": fixed(lambda x: np.diagonal(x, 1), lambda x: mx.diagonal(x, 1)),
    "diag": fixed(np.diag, mx.diag),
    "diag of a vector": fixed(lambda x: np.diag(x[0], -1), lambda x: mx.diag(x[0], -1)),
    "tril": fixed(lambda x: np.tril(x, -1), lambda x: mx.tril(x, -1), ALL),
    "triu": fixed(lambda x: np.triu(x, 1), lambda x: mx.triu(x, 1), ALL),
    "view": fixed(lambda x: np.ascontiguousarray(x).view(np.uint8), lambda x: mx.view(x, mx.uint8), ["int32"]),
    "contiguous": Row(lambda x: x, SOME),
    "as_strided": fixed(
        lambda x: as_strided(np.ascontiguousarray(x)[0], (2, 2), (x.itemsize, x.itemsize)),
        lambda x: mx.as_strided(x, (2, 2), (1, 1)),
        empty=False,
    ),
    "depends": two(lambda x, y: x, SOME, call=lambda x, y: mx.depends(x, y)),
    "full_like": Row(lambda x: np.full_like(x, 1), ALL, call=lambda x: mx.full_like(x, 1)),
    "zeros_like": Row(np.zeros_like, ALL),
    "ones_like": Row(np.ones_like, ALL),
    "meshgrid": fixed(lambda x: np.meshgrid(x[0], x[1]), lambda x: mx.meshgrid(x[0], x[1])),
    # ---- by index
    "take": fixed(lambda x: np.take(x, [[1, -1]], 0), lambda x: mx.take(x, mx.array([[1, -1]]), 0)),
    "take_along_axis": Row(
        lambda x: np.take_along_axis(x, places(x)[:, ::-1], -1),
        SOME,
        call=lambda x: mx.take_along_axis(x, mx.array(places(x)[:, ::-1]), -1),
        least=2,
        shapeless=False,
    ),
    "put_along_axis": fixed(
        lambda x: [y := x.copy(), np.put_along_axis(y, np.zeros((x.shape[0], 1), int), 1, -1)][0],
        lambda x: mx.put_along_axis(x, mx.zeros((x.shape[0], 1), mx.int32), mx.array(1, x.dtype), -1),
        empty=False,
    ),
    "slice": fixed(lambda x: x[1:3, :1], lambda x: mx.slice(x, mx.array([1]), (0,), (2, 1)), empty=False),
    "slice_update": fixed(
        lambda x: np.concatenate([x[:1], x[:1], x[2:]]), lambda x: mx.slice_update(x, x[:1], mx.array([1]), (0,))
    ),
    # ---- products
    "matmul": two(lambda x, y: x @ y.T, INEXACT, call=lambda x, y: x @ y.T, least=2, wide=True, factor=9),
    "addmm": two(
        lambda x, y: 2 * x @ y.T + 3,
        INEXACT,
        call=lambda x, y: mx.addmm(mx.array(3, x.dtype), x, y.T, alpha=2),
        least=2,
        wide=True,
        factor=9,
    ),
    "inner": two(np.inner, INEXACT, wide=True, factor=9, least=1),
    "outer": two(np.outer, NUMBERS, wide=True, factor=9),
    "vecdot": two(lambda x, y: (x.conj() * y).sum(-1), INEXACT, call=mx.vecdot, wide=True, factor=9, least=1),
    "tensordot": two(np.tensordot, FLOATS, wide=True, least=2, factor=99),
    "kron": fixed(lambda x: np.kron(x, x[:1]), lambda x: mx.kron(x, x[:1]), NUMBERS, wide=True, factor=9, empty=False),
    "trace": fixed(lambda x: np.trace(x, 1), lambda x: mx.trace(x, 1), ["int32", "float32", "float64"], wide=True),
    "einsum": two(
        lambda x, y: np.einsum("ij,kj->ki", x, y),
        [*FLOATS, "int32"],
        call=lambda x, y: mx.einsum("ij,kj->ki", x, y),
        wide=True,
        least=2,
        factor=9,
    ),
    "convolve": fixed(
        lambda x: np.convolve(x[0], x[1][:2], "same"),
        lambda x: mx.convolve(x[0], x[1][:2], "same"),
        ["int32", "float32", "float64"],
        wide=True,
        factor=9,
        empty=False,
    ),
}

# Functions without an array among their operands, and their reference.
CREATION = {
    "arange": (lambda m: m.arange(3, 20, 4, dtype=m.int64), 0),
    "linspace": (lambda m: m.linspace(-1, 2, 7, dtype=m.float64), 1e-15),
    "full": (lambda m: m.full((2, 3), 7, dtype=m.int8), 0),
    "zeros": (lambda m: m.zeros((2, 0, 3), m.float32), 0),
    "ones": (lambda m: m.ones(3, m.complex64), 0),
    "eye": (lambda m: m.eye(3, 5, 1, m.float64), 0),
    "identity": (lambda m: m.identity(4, m.int32), 0),
    "tri": (lambda m: m.tri(4, 6, -1, m.float32), 0),
    "bartlett": (lambda m: m.bartlett(9), 1e-6),
    "hanning": (lambda m: m.hanning(9), 1e-6),
    "hamming": (lambda m: m.hamming(1), 1e-6),
    "blackman": (lambda m: m.blackman(10), 1e-6),
}

# Where the others are tested: the file must name the function.
ELSEWHERE = {
    "test_surface.py": "unique nonzero einsum_path",
    "test_products.py": "block_masked_mm segmented_mm hadamard_transform",
    "test_ops.py": "broadcast_shapes gather_mm",
    "test_quantize.py": "dequantize quantize",
    "test_quantized_products.py": "gather_qmm gather_qqmm qqmm quantized_matmul",
}


def test_every_op_is_here():
    aliases = {name: getattr(mx, name) for name in op_names()}
    table = {getattr(mx, row.split()[0]) for row in (*TABLE, *CREATION)}
    missing = {name for name, f in aliases.items() if f not in table}
    for file, names in ELSEWHERE.items():
        text = (Path(__file__).parent / file).read_text()
        assert all(f"mx.{name}" in text for name in names.split()), file
        missing -= set(names.split())
    assert not missing


# ---- operands


@functools.lru_cache
def operand(dtype, low, high, special, seed):
    """Random numbers in a range, (6, 9)."""
    rng = np.random.default_rng(seed)
    if dtype in UNSIGNED or dtype == "bool":
        low, high = max(low, 0), max(high, 1)
    x = rng.uniform(low, high, (6, 9))
    if dtype in COMPLEX:
        x = x + 1j * rng.uniform(low, high, (6, 9))
    elif dtype in INTEGERS:
        x = np.round(x)
    elif dtype == "bool":
        x = np.round(x) > (low + high) / 2
    if special and dtype in (*FLOATS, *COMPLEX):
        x.flat[: len(SPECIAL) * (seed + 1) : seed + 1] = SPECIAL
    if dtype == "bfloat16":
        return x.astype(ml_dtypes.bfloat16)
    return x.astype(dtype)


def widened(x):
    return x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)


def ours(x):
    return mx.array(x, {"float64": mx.float64, "complex128": mx.complex128}.get(x.dtype.name))


def as_list(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


def host(x):
    return np.array(x.astype(mx.float32)) if x.dtype is mx.bfloat16 else np.array(x)


def check(row, dtype, got, expected):
    assert len(got) == len(expected)
    for x, want in zip(got, map(np.asarray, expected), strict=True):
        values = host(x)
        assert values.shape == want.shape
        if row.wide:
            tolerance = row.factor * TOLERANCE.get(dtype, 2e-6)
            np.testing.assert_allclose(values, want, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(values, want.astype(values.dtype))


def bits(xs):
    return [(x.dtype, x.shape, bytes(x)) for x in xs]


CASES = [pytest.param(name, dtype, id=f"{name}-{dtype}") for name, row in TABLE.items() for dtype in row.dtypes]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_op(name, dtype):
    row = TABLE[name]
    f = row.call or getattr(mx, name)
    run = lambda *args: as_list(f(*args))  # noqa: E731
    any_shape = mx.compile(run, shapeless=True)
    base = [operand(dtype, *domain, row.special, seed) for seed, domain in enumerate(row.domains)]
    for layout, turned in LAYOUTS.items():
        x = [turned(b) for b in base]
        if np.ndim(x[0]) < row.least or (layout == "empty" and not row.empty):
            continue
        args = [turned(ours(b)) for b in base]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = as_list(row.reference(*(map(widened, x) if row.wide else x)))
        got = run(*args)
        check(row, dtype, got, expected)
        assert bits(mx.compile(run)(*args)) == bits(got), layout
        if row.shapeless:
            assert bits(any_shape(*args)) == bits(got), layout


@pytest.mark.parametrize("name", CREATION)
def test_creation(name):
    make, tolerance = CREATION[name]
    got, expected = make(mx), np.asarray(make(np))
    assert got.shape == expected.shape
    np.testing.assert_allclose(np.array(got), expected, rtol=tolerance, atol=tolerance)
    assert bits([mx.compile(lambda: make(mx))()]) == bits([got])
