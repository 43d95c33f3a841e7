// Eigenvalues, by Eigen, and the table of linalg_level.hpp that they and singular values share.
// clang-format off
#include "backends/cpu/linalg_eigen.hpp"  // before Eigen: it says how Eigen fails

#include <Eigen/Eigenvalues>
// clang-format on

extern "C" __attribute__((visibility("hidden"))) bool mx_linalg_svd(const double *data, int64_t m, int64_t n, double *u,
                                                                    double *s, double *v);

namespace {

bool eigh(const double *data, int64_t n, double *w, double *v) {
  const auto a = map(data, n, n);
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(a, v ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
  if (solver.info() != Eigen::Success) return false;
  map(w, n, 1) = solver.eigenvalues();
  if (v) map(v, n, n) = solver.eigenvectors();
  return true;
}

template <class Solver, class Map>
bool decompose(const Map &a, int64_t n, double *w, double *v) {
  if (!a.allFinite()) return false;
  const Solver solver(a, v != nullptr);
  if (solver.info() != Eigen::Success) return false;
  map_complex(w, n, 1) = solver.eigenvalues();
  if (v) map_complex(v, n, n) = solver.eigenvectors();
  return true;
}

bool eig(const double *a, int64_t n, double *w, double *v) {
  return decompose<Eigen::EigenSolver<Matrix>>(map(a, n, n), n, w, v);
}

bool eig_complex(const double *a, int64_t n, double *w, double *v) {
  return decompose<Eigen::ComplexEigenSolver<ComplexMatrix>>(map_complex(a, n, n), n, w, v);
}

bool schur(const double *data, int64_t n, double *t, double *u) {
  const auto a = map_complex(data, n, n);
  if (!a.allFinite()) return false;
  const Eigen::ComplexSchur<ComplexMatrix> solver(a, true);
  if (solver.info() != Eigen::Success) return false;
  map_complex(t, n, n) = solver.matrixT();
  map_complex(u, n, n) = solver.matrixU();
  return true;
}

}  // namespace

extern "C" const mx::cpu::LinalgSpectra MX_JOIN(linalg_spectrum_, MX_LEVEL);
extern "C" const mx::cpu::LinalgSpectra MX_JOIN(linalg_spectrum_, MX_LEVEL) = {prepare, mx_linalg_svd, eigh,
                                                                               eig,     schur,         eig_complex};
