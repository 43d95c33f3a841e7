// Cholesky, LU, QR and the solvers on them, by Eigen, for real and complex matrices.
#pragma once
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

template <class T>
using MatrixOf = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

template <class T>
Eigen::Map<MatrixOf<T>> view(double *data, int64_t rows, int64_t columns) {
  return {reinterpret_cast<T *>(data), rows, columns};
}

template <class T>
Eigen::Map<const MatrixOf<T>> view(const double *data, int64_t rows, int64_t columns) {
  return {reinterpret_cast<const T *>(data), rows, columns};
}

template <class T>
bool cholesky(double *data, int64_t n) {
  auto a = view<T>(data, n, n);
  const Eigen::LLT<Eigen::Ref<MatrixOf<T>>, Lower> factor(a);
  a.template triangularView<Eigen::StrictlyUpper>().setZero();
  return factor.info() == Eigen::Success && !a.diagonal().hasNaN();  // Eigen lets NaN pivots pass
}

// As LAPACK's getrf: P a = L U in place. A matrix wider than high is factorised square, and its rest solved for.
template <class T>
void lu(double *data, int64_t m, int64_t n, uint32_t *pivots) {
  auto a = view<T>(data, m, n);
  const int64_t size = m < n ? m : n;
  Eigen::Matrix<Eigen::Index, Eigen::Dynamic, 1> swaps(size);
  Eigen::Index count = 0;
  auto left = view<T>(data, m, size);
  Eigen::internal::partial_lu_inplace(left, swaps, count);
  for (int64_t i = 0; i < size; i++) pivots[i] = static_cast<uint32_t>(swaps[i]);
  if (n == size) return;
  auto right = a.rightCols(n - size);
  for (int64_t i = 0; i < size; i++)
    if (swaps[i] != i) right.row(i).swap(right.row(swaps[i]));
  left.template triangularView<UnitLower>().solveInPlace(right);
}

template <class Map>
bool is_singular(const Map &a) {
  for (int64_t i = 0; i < a.rows(); i++)
    if (a(i, i) == typename Map::Scalar(0)) return true;
  return false;
}

template <class T>
bool solve(double *data, int64_t n, double *rhs, int64_t k) {
  auto a = view<T>(data, n, n), b = view<T>(rhs, n, k);
  Eigen::Matrix<uint32_t, Eigen::Dynamic, 1> pivots(n);
  lu<T>(data, n, n, pivots.data());
  if (is_singular(a)) return false;
  for (int64_t i = 0; i < n; i++)
    if (pivots[i] != i) b.row(i).swap(b.row(pivots[i]));
  a.template triangularView<UnitLower>().solveInPlace(b);
  a.template triangularView<Upper>().solveInPlace(b);
  return true;
}

template <class T>
bool solve_triangular(const double *data, int64_t n, bool upper, double *rhs, int64_t k) {
  auto a = view<T>(data, n, n);
  auto b = view<T>(rhs, n, k);
  if (is_singular(a)) return false;
  if (upper)
    a.template triangularView<Upper>().solveInPlace(b);
  else
    a.template triangularView<Lower>().solveInPlace(b);
  return true;
}

template <class T>
void qr(double *data, int64_t m, int64_t n, double *out) {
  auto a = view<T>(data, m, n);
  const Eigen::HouseholderQR<Eigen::Ref<MatrixOf<T>>> factor(a);
  auto q = view<T>(out, m, m < n ? m : n);
  q.setIdentity();
  q.applyOnTheLeft(factor.householderQ());
  a.template triangularView<Eigen::StrictlyLower>().setZero();
}

}  // namespace

#define MX_SOLVERS(T) {prepare, cholesky<T>, solve<T>, solve_triangular<T>, lu<T>, qr<T>}
