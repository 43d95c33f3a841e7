/* mx/linalg.h: norms, factorisations and solvers over the last two axes; the axes before them are batches. The
 * conventions are at the top of mx/ops.h. Factorisations take float32, float64 and complex numbers (else DTYPE); of
 * complex matrices, what is called transposed here is conjugated too. Matrices must have two axes, square where noted
 * (else SHAPE). What cannot be factorised or inverted, such as a singular matrix, fails with NUMERIC when it is
 * evaluated. */
#ifndef MX_LINALG_H
#define MX_LINALG_H
#include "mx/ops.h"

MX_EXTERN_C_BEGIN

/* The norms of mx_linalg_norm. */
typedef enum mx_norm_kind {
  MX_NORM_DEFAULT = 0, /* the square root of the sum of |x|^2 over all given axes */
  MX_NORM_ORD = 1,     /* over one axis (sum |x|^ord)^(1/ord), inf: largest, -inf: smallest, 0: number of nonzero; over
                          two axes 1, -1: column sums, inf, -inf: row sums, 2, -2: singular values */
  MX_NORM_FRO = 2,     /* two axes: Frobenius */
  MX_NORM_NUC = 3      /* two axes: the sum of the singular values */
} mx_norm_kind;

/* A norm, inexact: see mx_norm_kind. NULL axes: over all elements, but MX_NORM_ORD, MX_NORM_FRO and MX_NORM_NUC then
 * need 1 or 2 axes of a. INVALID_ARGUMENT for a kind that does not fit the number of axes. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_linalg_norm(mx_array *out, mx_array a, mx_norm_kind kind, double ord,
                                                   const int64_t *MX_OPTIONAL axes, size_t n_axes, bool keepdims,
                                                   mx_stream MX_OPTIONAL stream);

/* Singular values, downwards, and full orthonormal factors: a (m, n) = u (m, m) diag(s) vt (n, n). */
MX_API MX_NOWAIT MX_CHECK mx_status mx_linalg_svd(mx_array *u_out, mx_array *s_out, mx_array *vt_out, mx_array a,
                                                  mx_stream MX_OPTIONAL stream);

/* The singular values only, (..., min(m, n)). */
MX_API MX_NOWAIT MX_CHECK mx_status mx_linalg_svdvals(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* a (m, n) = q (m, k) r (k, n), q orthonormal, r upper triangular, k = min(m, n). */
MX_API MX_NOWAIT MX_CHECK mx_status mx_linalg_qr(mx_array *q_out, mx_array *r_out, mx_array a,
                                                 mx_stream MX_OPTIONAL stream);

/* With partial pivoting: rows p (uint32) of l u are a: a = (l u)[p], l unit lower, u upper triangular. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_linalg_lu(mx_array *p_out, mx_array *l_out, mx_array *u_out, mx_array a,
                                                 mx_stream MX_OPTIONAL stream);

/* Packed l (below the diagonal) and u; row i was swapped with row pivots[i] (uint32), in order. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_linalg_lu_factor(mx_array *lu_out, mx_array *pivots_out, mx_array a,
                                                        mx_stream MX_OPTIONAL stream);

/* The lower l with a = l l^T, or upper u with a = u^T u, of a square positive definite a, of which only that
 * triangle is read. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_linalg_cholesky(mx_array *out, mx_array a, bool upper,
                                                       mx_stream MX_OPTIONAL stream);

/* The inverse of the matrix whose mx_linalg_cholesky factor is a. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_linalg_cholesky_inv(mx_array *out, mx_array a, bool upper,
                                                           mx_stream MX_OPTIONAL stream);

/* The inverse of a square a. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_linalg_inv(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The inverse of a square triangular a; the other triangle is not read. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_linalg_tri_inv(mx_array *out, mx_array a, bool upper,
                                                      mx_stream MX_OPTIONAL stream);

/* The Moore-Penrose inverse by svd; singular values below eps max(m, n) max(s) count as 0. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_linalg_pinv(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* x with a x = b for a square a; b is (..., n, k), or (n) if it is 1-d; batches broadcast. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_linalg_solve(mx_array *out, mx_array a, mx_array b,
                                                    mx_stream MX_OPTIONAL stream);

/* As mx_linalg_solve for a triangular a; the other triangle is not read. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_linalg_solve_triangular(mx_array *out, mx_array a, mx_array b, bool upper,
                                                               mx_stream MX_OPTIONAL stream);

/* Eigenvalues w, upwards, and orthonormal eigenvectors, the columns of v, of a symmetric or Hermitian a; reads one
 * triangle. Of a complex a, w has the dtype of its parts. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_linalg_eigh(mx_array *w_out, mx_array *v_out, mx_array a, bool upper,
                                                   mx_stream MX_OPTIONAL stream);

/* The eigenvalues of mx_linalg_eigh only. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_linalg_eigvalsh(mx_array *out, mx_array a, bool upper,
                                                       mx_stream MX_OPTIONAL stream);

/* complex64 (of a complex128 a complex128) eigenvalues and the eigenvectors, columns of unit length, of a square a. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_linalg_eig(mx_array *w_out, mx_array *v_out, mx_array a,
                                                  mx_stream MX_OPTIONAL stream);

/* The eigenvalues of mx_linalg_eig only. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_linalg_eigvals(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The cross product of vectors of 3 (or 2: the third component is then 0) along an axis of the broadcast operands, 3
 * components. SHAPE for other sizes. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_linalg_cross(mx_array *out, mx_array a, mx_array b, int64_t axis,
                                                    mx_stream MX_OPTIONAL stream);

/* The determinant of a square a, by LU. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_linalg_det(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The sign and the logarithm of the absolute value of the determinant of a square a. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_linalg_slogdet(mx_array *sign_out, mx_array *logabs_out, mx_array a,
                                                      mx_stream MX_OPTIONAL stream);

MX_EXTERN_C_END
#endif
