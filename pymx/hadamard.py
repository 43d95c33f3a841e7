"""The Walsh-Hadamard transform of sizes m 2^k, m one of 1, 12, 20, 28: the last axis times H_m (x) H_2^k.

H_2^k is Sylvester's (1867), H_12 Paley's second construction over the field of 5 elements (R. Paley, On orthogonal
matrices, 1933), H_20 and H_28 are Williamson's (Hadamard's determinant theorem and the sum of four squares, 1944).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from ._ffi import fast
from ._rules import to_array
from .device import StreamOrDevice
from .dtype import bfloat16, float32, float64, int8, int64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .array import array

__all__ = ["hadamard_transform"]

_CHUNK = 6  # powers of two that one matrix product handles
# First rows of the circulant blocks A, B, C, D of Williamson's array.
_WILLIAMSON = {20: ("+----", "+----", "++--+", "+-++-"), 28: ("+------", "++----+", "+-+--+-", "+--++--")}


def _matrix_bytes(n: int, positive: Callable[[int, int], bool]) -> bytes:
    return bytes(1 if positive(i, j) else 255 for i in range(n) for j in range(n))


def _sylvester(i: int, j: int) -> bool:
    return (i & j).bit_count() % 2 == 0


def _paley(i: int, j: int) -> bool:
    """A symmetric conference matrix C of order 6 by 2 x 2 blocks: [+ +; + -] C + [+ -; - -] I."""
    row, column, low = i // 2, j // 2, (i % 2, j % 2)
    if row == column:
        return low == (0, 0)
    square = 0 in (row, column) or (row - column) % 5 in (1, 4)
    return square == (low != (1, 1))


def _williamson(order: int, i: int, j: int) -> bool:
    """[A B C D; -B A -D C; -C D A -B; -D -C B A]."""
    n = order // 4
    row, column = i // n, j // n
    negative = (row, column) in ((1, 0), (1, 2), (2, 0), (2, 3), (3, 0), (3, 1))
    return (_WILLIAMSON[order][row ^ column][(j - i) % n] == "+") != negative


@functools.cache
def _matrix(n: int) -> bytes:
    """H_n as int8."""
    if n in _WILLIAMSON:
        return _matrix_bytes(n, functools.partial(_williamson, n))
    return _matrix_bytes(n, _paley if n == 12 else _sylvester)


def hadamard_transform(a: array, scale: float | None = None, stream: StreamOrDevice = None) -> array:
    """H_n times the last axis, of size n = m 2^k with m 1, 12, 20 or 28, times `scale` (1 / sqrt(n) if None). A 0-d
    array counts as n = 1. Integers become float32, float16 and bfloat16 are computed in float32. ValueError for
    other n."""
    a = to_array(a, "hadamard_transform")
    n = a.shape[-1] if a.shape else 1
    power = (n & -n).bit_length() - 1 if n else 0
    m = n >> power
    if m != 1:  # 12, 20 and 28 have two factors of 2 themselves
        m, power = m * 4, power - 2
    if n == 0 or m not in (1, 12, 20, 28) or power < 0:
        raise ValueError(f"hadamard_transform: size {n} is not m * 2^k with m 1, 12, 20 or 28")
    if a._dtype_code > bfloat16._code:
        raise ValueError(f"hadamard_transform: {a.dtype} is not supported")
    result = float32 if a._dtype_code <= int64._code else a.dtype
    work = float64 if result is float64 else float32
    x = fast.astype(a, work._code, stream)
    sizes = [m] if m > 1 else []
    while power > 0:
        sizes.append(1 << min(power, _CHUNK))
        power -= _CHUNK
    after = n
    for size in sizes:  # one factor of the Kronecker product after the other
        after //= size
        h = fast.astype(fast.array_new(_matrix(size), (size, size), int8._code), work._code, stream)
        x = fast.matmul(h, fast.reshape(x, (a.size // (size * after), size, after), stream), stream)
    factor = fast.array_scalar(1 / math.sqrt(n) if scale is None else scale, work._code)
    return fast.astype(fast.reshape(fast.multiply(x, factor, stream), a.shape, stream), result._code, stream)
