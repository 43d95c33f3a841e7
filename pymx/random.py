"""Random numbers: mx/random.h with MLX's names and signatures.

Numbers come from keys, by Threefry-2x32 (Salmon et al., SC 2011): the same key always gives the same numbers. Without a
key the next one of the calling thread is taken; every thread has its own, and `state` stands for the calling thread's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ._ffi import fast
from ._rules import dtype_code, only_array, sizes, to_array
from .device import StreamOrDevice
from .dtype import Dtype, float32, int32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .array import array

__all__ = [
    "bernoulli",
    "bits",
    "categorical",
    "gumbel",
    "key",
    "laplace",
    "multivariate_normal",
    "normal",
    "permutation",
    "randint",
    "seed",
    "split",
    "state",
    "truncated_normal",
    "uniform",
]


class _RandomState:
    """Stands for the calling thread's key wherever it is read or captured; like a list of that one array."""

    __slots__ = ()

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: Any) -> Any:
        return [fast.random_get_state()][index]

    def __setitem__(self, index: int, key: array) -> None:
        if index not in (0, -1):
            raise IndexError("random.state holds one key")
        fast.random_set_state(key)

    def __iter__(self) -> Iterator[array]:
        return iter([fast.random_get_state()])

    def __repr__(self) -> str:
        return f"random.state([{fast.random_get_state()!r}])"

    def __reduce__(self) -> str:
        return "state"


state = _RandomState()


def seed(seed: int) -> None:
    """Makes key(seed) the calling thread's key."""
    fast.random_seed(seed & 0xFFFFFFFFFFFFFFFF)


def key(seed: int) -> array:
    """The key of a seed: a uint32 array (2)."""
    return fast.random_key(seed & 0xFFFFFFFFFFFFFFFF)


def split(key: array, num: int = 2, stream: StreamOrDevice = None) -> array:
    """(num, 2): new keys from one that should not be used again."""
    return fast.random_split(only_array(key, "split"), num, stream)


def bits(shape: Sequence[int] = (), width: int = 4, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """Uniform random bytes: uint8, uint16 or uint32 for width 1, 2 or 4."""
    return fast.random_bits(sizes(shape), width, key, stream)


def _bounds(low: Any, high: Any, name: str) -> tuple[array, array]:
    return to_array(low, name), to_array(high, name)


def uniform(
    low: Any = 0,
    high: Any = 1,
    shape: Sequence[int] = (),
    dtype: Dtype | None = float32,
    key: array | None = None,
    stream: StreamOrDevice = None,
) -> array:
    """Uniform in [low, high); the bounds broadcast to `shape`."""
    bounds = _bounds(low, high, "uniform")
    return fast.random_uniform(*bounds, sizes(shape), dtype_code(dtype, "uniform", float32), key, stream)


def normal(
    shape: Sequence[int] = (),
    dtype: Dtype | None = float32,
    loc: Any = None,
    scale: Any = None,
    key: array | None = None,
    stream: StreamOrDevice = None,
) -> array:
    """Normal with mean `loc` (0) and standard deviation `scale` (1)."""
    loc = None if loc is None else to_array(loc, "normal")
    scale = None if scale is None else to_array(scale, "normal")
    return fast.random_normal(sizes(shape), dtype_code(dtype, "normal", float32), loc, scale, key, stream)


def multivariate_normal(
    mean: array,
    cov: array,
    shape: Sequence[int] = (),
    dtype: Dtype | None = float32,
    key: array | None = None,
    stream: StreamOrDevice = None,
) -> array:
    """Normal vectors (shape..., n) with mean (..., n) and covariance (..., n, n)."""
    return fast.random_multivariate_normal(
        mean, cov, sizes(shape), dtype_code(dtype, "multivariate_normal", float32), key, stream
    )


def randint(
    low: Any,
    high: Any,
    shape: Sequence[int] = (),
    dtype: Dtype | None = int32,
    key: array | None = None,
    stream: StreamOrDevice = None,
) -> array:
    """Uniform integers in [low, high); the bounds broadcast to `shape`."""
    bounds = _bounds(low, high, "randint")
    return fast.random_randint(*bounds, sizes(shape), dtype_code(dtype, "randint", int32), key, stream)


def bernoulli(
    p: Any = 0.5, shape: Sequence[int] | None = None, key: array | None = None, stream: StreamOrDevice = None
) -> array:
    """bool: true with probability p, which must be floating; in the shape of p unless one is given."""
    return fast.random_bernoulli(to_array(p, "bernoulli"), None if shape is None else sizes(shape), key, stream)


def truncated_normal(
    lower: Any,
    upper: Any,
    shape: Sequence[int] | None = None,
    dtype: Dtype | None = float32,
    key: array | None = None,
    stream: StreamOrDevice = None,
) -> array:
    """Standard normal within [lower, upper], or lower if that is empty; in the bounds' shape unless one is given."""
    shape = None if shape is None else sizes(shape)
    code = dtype_code(dtype, "truncated_normal", float32)
    return fast.random_truncated_normal(*_bounds(lower, upper, "truncated_normal"), shape, code, key, stream)


def gumbel(
    shape: Sequence[int] = (),
    dtype: Dtype | None = float32,
    key: array | None = None,
    stream: StreamOrDevice = None,
) -> array:
    """The standard Gumbel distribution."""
    return fast.random_gumbel(sizes(shape), dtype_code(dtype, "gumbel", float32), key, stream)


def laplace(
    shape: Sequence[int] = (),
    dtype: Dtype | None = float32,
    loc: float = 0.0,
    scale: float = 1.0,
    key: array | None = None,
    stream: StreamOrDevice = None,
) -> array:
    """The Laplace distribution."""
    return fast.random_laplace(sizes(shape), dtype_code(dtype, "laplace", float32), loc, scale, key, stream)


def categorical(
    logits: array,
    axis: int = -1,
    shape: Sequence[int] | None = None,
    num_samples: int | None = None,
    key: array | None = None,
    stream: StreamOrDevice = None,
) -> array:
    """uint32: indices along an axis drawn with probabilities softmax(logits): one per distribution, in a shape that
    broadcasts with them, or num_samples of each as the last axis."""
    if shape is not None and num_samples is not None:
        raise ValueError("categorical: give shape or num_samples, not both")
    logits = only_array(logits, "categorical")
    if num_samples is not None:
        return fast.random_categorical_n(logits, axis, num_samples, key, stream)
    return fast.random_categorical(logits, axis, None if shape is None else sizes(shape), key, stream)


def permutation(x: Any, axis: int = 0, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """The slices of an array along an axis in random order, or 0 to x - 1 for a number."""
    if hasattr(x, "__index__") and not hasattr(x, "shape"):
        return fast.random_permutation_n(x, key, stream)
    return fast.random_permutation(only_array(x, "permutation"), axis, key, stream)
