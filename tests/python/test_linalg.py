"""linalg against NumPy, with batches."""

import numpy as np
import pytest

import pymx as mx

la = mx.linalg


def matrices(*shape, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * rng.standard_normal(shape)
    x = x.astype(dtype)
    return x, mx.array(x, {np.float64: mx.float64, np.complex128: mx.complex128}.get(dtype))


def close(got, expected, tolerated=1e-4):
    np.testing.assert_allclose(np.array(got), expected, rtol=tolerated, atol=tolerated)


def adjoint(a):
    return mx.swapaxes(a, -1, -2).conj()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 5, 5), (1, 1)])
def test_square(shape, dtype):
    x, a = matrices(*shape, dtype=dtype)
    x, a = x + 3 * np.eye(shape[-1], dtype=dtype), a + 3 * mx.eye(shape[-1], dtype=a.dtype)
    close(la.inv(a), np.linalg.inv(x))
    wide = np.complex128 if np.iscomplexobj(x) else np.float64
    close(la.det(a), np.linalg.det(x.astype(wide)), 1e-12 if dtype in (np.float64, np.complex128) else 1e-5)
    for got, expected in zip(la.slogdet(a), np.linalg.slogdet(x), strict=True):
        close(got, expected)
    b, rhs = matrices(*shape[:-1], 2, dtype=dtype, seed=1)
    close(la.solve(a, rhs), np.linalg.solve(x, b))
    close(la.solve_triangular(a, rhs, upper=True), np.linalg.solve(np.triu(x), b))
    close(la.tri_inv(mx.tril(a)), np.linalg.inv(np.tril(x)))
    p, lower, upper = la.lu(a)
    close(mx.take_along_axis(lower @ upper, mx.expand_dims(p, -1).astype(mx.int32), axis=-2), x)
    symmetric = a @ adjoint(a)
    s = np.array(symmetric)
    close(la.cholesky(symmetric), np.linalg.cholesky(s), 1e-3)
    close(la.cholesky(symmetric, upper=True), np.swapaxes(np.linalg.cholesky(s), -1, -2).conj(), 1e-3)
    close(la.cholesky_inv(la.cholesky(symmetric)), np.linalg.inv(s), 1e-2)
    w, v = la.eigh(symmetric)
    close(w, np.linalg.eigvalsh(s), 1e-3)
    close(v @ (mx.expand_dims(w, -1) * adjoint(v)), s, 1e-3)
    close(la.eigvalsh(symmetric, UPLO="U"), np.linalg.eigvalsh(s), 1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 3)])
def test_factors(shape, dtype):
    x, a = matrices(*shape, dtype=dtype)
    q, r = la.qr(a)
    close(q @ r, x)
    close(adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*shape[:-2], q.shape[-1], q.shape[-1])))
    u, s, vt = la.svd(a)
    k = s.shape[-1]
    close((u[..., :, :k] * mx.expand_dims(s, -2)) @ vt[..., :k, :], x)
    close(s, np.linalg.svd(x, compute_uv=False))
    close(la.svd(a, compute_uv=False), np.linalg.svd(x, compute_uv=False))
    close(la.pinv(a), np.linalg.pinv(x), 1e-3)


def test_complex128_has_all_its_digits():
    x, a = matrices(6, 6, dtype=np.complex128)
    x[:, 5] = x[:, :5] @ np.arange(1, 6) * (1 + 1e-9j)  # nearly deficient
    a = mx.array(x, mx.complex128)
    u, s, vt = la.svd(a)
    assert {v.dtype for v in (u, vt)} == {mx.complex128} and s.dtype is mx.float64
    close((u * s) @ vt, x, 1e-13)
    close(s, np.linalg.svd(x, compute_uv=False), 1e-13)
    for q in (u, vt, la.qr(a)[0]):
        close(adjoint(q) @ q, np.eye(6), 1e-13)
    w, v = la.eig(a)
    assert w.dtype is v.dtype is mx.complex128
    close(a @ v, np.array(v) * np.array(w), 1e-12)
    h = a @ adjoint(a)
    w, v = la.eigh(h)
    assert w.dtype is mx.float64
    close(v @ (mx.expand_dims(w, -1) * adjoint(v)), np.array(h), 1e-12)
    good = a + 9 * mx.eye(6, dtype=mx.complex128)
    close(la.inv(good) @ good, np.eye(6), 1e-13)
    assert la.slogdet(good)[1].dtype is la.norm(a).dtype is mx.float64


def test_eigenvalues():
    x, a = matrices(5, 5)
    w, v = la.eig(a)
    close(mx.matmul(a.astype(mx.complex64), v), np.array(v) * np.array(w), 1e-3)
    assert np.allclose(np.sort_complex(np.array(la.eigvals(a))), np.sort_complex(np.linalg.eigvals(x)), atol=1e-4)


@pytest.mark.parametrize("keepdims", [False, True])
def test_norms(keepdims):
    x, a = matrices(3, 4)
    close(la.norm(a, keepdims=keepdims), np.linalg.norm(x, keepdims=keepdims))
    for axis in (0, 1):
        for order in (None, 0, 1, 2, 3.5, np.inf, -np.inf, -1):
            got = la.norm(a, ord=order, axis=axis, keepdims=keepdims)
            close(got, np.linalg.norm(x, ord=order, axis=axis, keepdims=keepdims))
    for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        got = la.norm(a, ord=order, axis=[0, 1], keepdims=keepdims)
        close(got, np.linalg.norm(x, ord=order, axis=(0, 1), keepdims=keepdims))
    with pytest.raises(ValueError):
        la.norm(a, ord="max")


def test_cross():
    x, a = matrices(4, 3)
    y, b = matrices(4, 3, seed=1)
    close(la.cross(a, b), np.cross(x, y))


@pytest.mark.parametrize("name", ["inv", "cholesky", "det", "eigh", "lu"])
def test_shape_and_dtype_errors(name):
    with pytest.raises(ValueError):
        getattr(la, name)(mx.zeros((3,)))
    if name != "det":  # converts integers
        with pytest.raises(ValueError):
            getattr(la, name)(mx.zeros((3, 3), mx.int32))
    if name != "lu":
        with pytest.raises(ValueError):
            getattr(la, name)(mx.zeros((2, 3)))
