// Cholesky, LU, QR and the solvers on them, by Eigen; one level of the table in linalg_level.hpp.
// clang-format off
#include "backends/cpu/linalg_eigen.hpp"  // before Eigen: it says how Eigen fails

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>
// clang-format on

namespace {

using Eigen::Lower;
using Eigen::UnitLower;
using Eigen::Upper;

bool cholesky(double *data, int64_t n) {
  auto a = map(data, n, n);
  const Eigen::LLT<Eigen::Ref<Matrix>, Lower> factor(a);
  a.triangularView<Eigen::StrictlyUpper>().setZero();
  return factor.info() == Eigen::Success && !a.diagonal().hasNaN();  // Eigen lets NaN pivots pass
}

// As LAPACK's getrf: P a = L U in place. A matrix wider than high is factorised square, and its rest solved for.
void lu(double *data, int64_t m, int64_t n, uint32_t *pivots) {
  auto a = map(data, m, n);
  const int64_t size = m < n ? m : n;
  Eigen::Matrix<Eigen::Index, Eigen::Dynamic, 1> swaps(size);
  Eigen::Index count = 0;
  auto left = map(data, m, size);
  Eigen::internal::partial_lu_inplace(left, swaps, count);
  for (int64_t i = 0; i < size; i++) pivots[i] = static_cast<uint32_t>(swaps[i]);
  if (n == size) return;
  auto right = a.rightCols(n - size);
  for (int64_t i = 0; i < size; i++)
    if (swaps[i] != i) right.row(i).swap(right.row(swaps[i]));
  left.triangularView<UnitLower>().solveInPlace(right);
}

bool is_singular(const double *a, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    if (a[i * (n + 1)] == 0) return true;
  return false;
}

bool solve(double *data, int64_t n, double *rhs, int64_t k) {
  auto a = map(data, n, n), b = map(rhs, n, k);
  Eigen::Matrix<uint32_t, Eigen::Dynamic, 1> pivots(n);
  lu(data, n, n, pivots.data());
  if (is_singular(data, n)) return false;
  for (int64_t i = 0; i < n; i++)
    if (pivots[i] != i) b.row(i).swap(b.row(pivots[i]));
  a.triangularView<UnitLower>().solveInPlace(b);
  a.triangularView<Upper>().solveInPlace(b);
  return true;
}

bool solve_triangular(const double *data, int64_t n, bool upper, double *rhs, int64_t k) {
  auto a = map(data, n, n);
  auto b = map(rhs, n, k);
  if (is_singular(data, n)) return false;
  if (upper)
    a.triangularView<Upper>().solveInPlace(b);
  else
    a.triangularView<Lower>().solveInPlace(b);
  return true;
}

void qr(double *data, int64_t m, int64_t n, double *out) {
  auto a = map(data, m, n);
  const Eigen::HouseholderQR<Eigen::Ref<Matrix>> factor(a);
  auto q = map(out, m, m < n ? m : n);
  q.setIdentity();
  q.applyOnTheLeft(factor.householderQ());
  a.triangularView<Eigen::StrictlyLower>().setZero();
}

}  // namespace

extern "C" const mx::cpu::LinalgSolvers MX_JOIN(linalg_solve_, MX_LEVEL);
extern "C" const mx::cpu::LinalgSolvers MX_JOIN(linalg_solve_, MX_LEVEL) = {cholesky, solve, solve_triangular, lu, qr};
