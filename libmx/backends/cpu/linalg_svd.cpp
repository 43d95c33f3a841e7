// Singular values, by Eigen: its own file because it takes as long to compile as all others.
// clang-format off
#include "backends/cpu/linalg_eigen.hpp"  // before Eigen: it says how Eigen fails

#include <Eigen/SVD>
// clang-format on

// Divide and conquer on the bidiagonal form; small ones by Jacobi rotations inside it.
extern "C" __attribute__((visibility("hidden"))) bool mx_linalg_svd(const double *data, int64_t m, int64_t n, double *u,
                                                                    double *s, double *v) {
  const auto a = map(data, m, n);
  if (!a.allFinite()) return false;
  const Eigen::BDCSVD<Matrix> factor(a, u ? Eigen::ComputeFullU | Eigen::ComputeFullV : 0);
  if (factor.info() != Eigen::Success) return false;
  map(s, m < n ? m : n, 1) = factor.singularValues();
  if (u) {
    map(u, m, m) = factor.matrixU();
    map(v, n, n) = factor.matrixV();
  }
  return true;
}
