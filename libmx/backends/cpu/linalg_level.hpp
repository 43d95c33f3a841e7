// Factorisations as tables of plain functions. Plain C types only, for the reason that matmul_level.hpp gives.
//
// Everything computes in double, whatever the arrays hold: results of float32 and complex64 arrays are then rounded
// once, and Eigen's templates, which take long to compile, are instantiated for one real and one complex type.
#pragma once
#include <stdint.h>

namespace mx::cpu {

// Matrices are column-major without gaps; complex ones are pairs of doubles. Functions that return bool return false
// when the matrix does not allow it: singular, not positive definite, or no convergence.
struct LinalgSolvers {
  // Comes before all others: see linalg_dispatch.cpp.
  void (*prepare)();
  // a becomes its lower factor, zeros above. Reads the lower triangle.
  bool (*cholesky)(double *a, int64_t n);
  // b (n, k) becomes the solution of a x = b, a its factors.
  bool (*solve)(double *a, int64_t n, double *b, int64_t k);
  bool (*solve_triangular)(const double *a, int64_t n, bool upper, double *b, int64_t k);
  // a (m, n) becomes L below the diagonal (of ones) and U; row i was swapped with row pivots[i], in order.
  void (*lu)(double *a, int64_t m, int64_t n, uint32_t *pivots);
  // With r = min(m, n): q (m, r), and a becomes R in its first r rows.
  void (*qr)(double *a, int64_t m, int64_t n, double *q);
};

struct LinalgSpectra {
  void (*prepare)();
  // u (m, m), s (min(m, n)) descending, v (n, n) with a = u s v^T; u and v are nullptr for the values only.
  bool (*svd)(const double *a, int64_t m, int64_t n, double *u, double *s, double *v);
  // Reads the lower triangle. w ascending; v (n, n) or nullptr.
  bool (*eigh)(const double *a, int64_t n, double *w, double *v);
  // w (n) and v (n, n) are complex; v may be nullptr.
  bool (*eig)(const double *a, int64_t n, double *w, double *v);
  // a = u t u^H for a complex a: t upper triangular, u unitary.
  bool (*schur)(const double *a, int64_t n, double *t, double *u);
  // As eig, for a complex a.
  bool (*eig_complex)(const double *a, int64_t n, double *w, double *v);
};

// The tables for this CPU; of the solvers there is one for real and one for complex matrices.
const LinalgSolvers &linalg_solvers(bool complex) noexcept;
const LinalgSpectra &linalg_spectra() noexcept;

}  // namespace mx::cpu
