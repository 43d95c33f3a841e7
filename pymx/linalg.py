"""Norms, factorisations and solvers: mx/linalg.h with MLX's names and signatures. Everything works on the last two
axes; those before are batches. Factorisations take float32 and float64. A singular matrix gives inf or NaN."""

from __future__ import annotations

from collections.abc import Sequence

from ._ffi import fast
from ._rules import axes, only_array, to_pair
from .device import StreamOrDevice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .array import array

__all__ = [
    "cholesky",
    "cholesky_inv",
    "cross",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lu",
    "lu_factor",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "tri_inv",
]

_DEFAULT, _ORD, _FRO, _NUC = range(4)  # mx_norm_kind


def norm(
    a: array,
    /,
    ord: float | str | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    *,
    stream: StreamOrDevice = None,
) -> array:
    """The 2-norm of all elements if neither ord nor axis is given; over one axis the vector norm `ord` (any number,
    inf, -inf), over two the matrix norm `ord`: 1, -1, 2, -2, inf, -inf, "fro" or "nuc"."""
    kinds = {"f": _FRO, "fro": _FRO, "nuc": _NUC}
    if ord is None:
        kind, number = _DEFAULT, 2.0
    elif isinstance(ord, str):
        if ord not in kinds:
            raise ValueError(f"norm: ord must be a number, 'fro' or 'nuc', not {ord!r}")
        kind, number = kinds[ord], 2.0
    else:
        kind, number = _ORD, float(ord)
    return fast.linalg_norm(only_array(a, "norm"), kind, number, axes(axis), keepdims, stream)


def qr(a: array, *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """(q, r): a (m, n) = q (m, k) r (k, n), q orthonormal, r upper triangular, k = min(m, n)."""
    return fast.linalg_qr(only_array(a, "qr"), stream)


def svd(a: array, compute_uv: bool = True, *, stream: StreamOrDevice = None) -> Any:
    """(u, s, vt): a (m, n) = u (m, m) diag(s) vt (n, n), singular values downwards; s alone unless compute_uv."""
    a = only_array(a, "svd")
    return fast.linalg_svd(a, stream) if compute_uv else fast.linalg_svdvals(a, stream)


def inv(a: array, *, stream: StreamOrDevice = None) -> array:
    """The inverse of a square matrix."""
    return fast.linalg_inv(only_array(a, "inv"), stream)


def tri_inv(a: array, upper: bool = False, *, stream: StreamOrDevice = None) -> array:
    """The inverse of a square triangular matrix; the other triangle is not read."""
    return fast.linalg_tri_inv(only_array(a, "tri_inv"), upper, stream)


def cholesky(a: array, upper: bool = False, *, stream: StreamOrDevice = None) -> array:
    """The lower l with a = l l^T, or the upper u with a = u^T u, of a positive definite matrix."""
    return fast.linalg_cholesky(only_array(a, "cholesky"), upper, stream)


def cholesky_inv(a: array, upper: bool = False, *, stream: StreamOrDevice = None) -> array:
    """The inverse of the matrix whose cholesky factor is a."""
    return fast.linalg_cholesky_inv(only_array(a, "cholesky_inv"), upper, stream)


def pinv(a: array, *, stream: StreamOrDevice = None) -> array:
    """The Moore-Penrose inverse."""
    return fast.linalg_pinv(only_array(a, "pinv"), stream)


def cross(a: array, b: array, axis: int = -1, *, stream: StreamOrDevice = None) -> array:
    """The cross product of vectors of 2 or 3 along an axis."""
    return fast.linalg_cross(*to_pair(a, b, "cross"), axis, stream)


def eigvals(a: array, *, stream: StreamOrDevice = None) -> array:
    """The eigenvalues of a square matrix, complex64, of a complex128 matrix complex128."""
    return fast.linalg_eigvals(only_array(a, "eigvals"), stream)


def eig(a: array, *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """(w, v): eigenvalues, and eigenvectors of unit length as columns, of a square matrix; dtypes as
    of eigvals."""
    return fast.linalg_eig(only_array(a, "eig"), stream)


def _is_upper(UPLO: str, name: str) -> bool:
    if UPLO not in ("L", "U", "l", "u"):
        raise ValueError(f"{name}: UPLO must be 'L' or 'U', not {UPLO!r}")
    return UPLO in "Uu"


def eigvalsh(a: array, UPLO: str = "L", *, stream: StreamOrDevice = None) -> array:
    """The eigenvalues of a symmetric or Hermitian matrix, upwards; reads the lower or the upper triangle."""
    return fast.linalg_eigvalsh(only_array(a, "eigvalsh"), _is_upper(UPLO, "eigvalsh"), stream)


def eigh(a: array, UPLO: str = "L", *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """(w, v): eigenvalues, upwards, and orthonormal eigenvectors as columns, of a symmetric or Hermitian matrix."""
    return fast.linalg_eigh(only_array(a, "eigh"), _is_upper(UPLO, "eigh"), stream)


def lu(a: array, *, stream: StreamOrDevice = None) -> tuple[array, array, array]:
    """(p, l, u): a = (l u)[p], with partial pivoting."""
    return fast.linalg_lu(only_array(a, "lu"), stream)


def lu_factor(a: array, *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """(lu, pivots): l (below the diagonal) and u packed, and the row that each row was swapped with."""
    return fast.linalg_lu_factor(only_array(a, "lu_factor"), stream)


def solve(a: array, b: array, *, stream: StreamOrDevice = None) -> array:
    """x with a x = b for a square a; b is (..., n, k) or (n)."""
    return fast.linalg_solve(*to_pair(a, b, "solve"), stream)


def solve_triangular(a: array, b: array, *, upper: bool = False, stream: StreamOrDevice = None) -> array:
    """As solve for a triangular a; the other triangle is not read."""
    return fast.linalg_solve_triangular(*to_pair(a, b, "solve_triangular"), upper, stream)


def det(a: array, *, stream: StreamOrDevice = None) -> array:
    """The determinant of a square matrix."""
    return fast.linalg_det(only_array(a, "det"), stream)


def slogdet(a: array, *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """(sign, logabs): the sign and the logarithm of the absolute value of the determinant."""
    return fast.linalg_slogdet(only_array(a, "slogdet"), stream)
