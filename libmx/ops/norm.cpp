// Norms of vectors and matrices, composed of reductions and singular values.
#include <cmath>

#include "ops/binary.hpp"
#include "ops/create.hpp"
#include "ops/linalg.hpp"
#include "ops/reduce.hpp"
#include "ops/unary.hpp"

namespace mx::ops {
namespace {

Value power_sum(const Value &magnitude, double ord, List axes, bool keepdims, const StreamRef &s) {
  const DType d = dtype_of(magnitude);
  if (ord == 1) return sum(magnitude, axes, keepdims, s);
  if (ord == 2) return sqrt(sum(square(magnitude, s), axes, keepdims, s), s);
  const Value total = sum(power(magnitude, scalar(ord, d), s), axes, keepdims, s);
  return power(total, scalar(1 / ord, d), s);
}

Value vector_norm(const Value &a, double ord, List axes, bool keepdims, const StreamRef &s) {
  const Value magnitude = absolute(a, s);
  if (ord == INFINITY) return max(magnitude, axes, keepdims, s);
  if (ord == -INFINITY) return min(magnitude, axes, keepdims, s);
  if (ord == 0) return astype(count_nonzero(a, axes, keepdims, s), dtype_of(magnitude), s);
  return power_sum(magnitude, ord, axes, keepdims, s);
}

// The singular values over two axes, as the last axis.
Value singular_values(const Value &a, List axes, const StreamRef &s) {
  const Value moved = moveaxis(moveaxis(a, axes[0], -1, s), axes[0] < axes[1] ? axes[1] - 1 : axes[1], -1, s);
  return svd(moved, false, s)[0];
}

Value matrix_norm(const Value &a, mx_norm_kind kind, double ord, List axes, bool keepdims, const StreamRef &s) {
  Dims sorted{std::min(axes[0], axes[1]), std::max(axes[0], axes[1])};
  const auto kept = [&](const Value &x) { return keepdims ? expand_dims(x, sorted, s) : x; };
  if (kind == MX_NORM_NUC) return kept(sum(singular_values(a, axes, s), List(Dims{-1}), false, s));
  if (std::abs(ord) == 2) {
    const Value values = singular_values(a, axes, s);
    return kept(ord > 0 ? max(values, List(Dims{-1}), false, s) : min(values, List(Dims{-1}), false, s));
  }
  const bool columns = std::abs(ord) == 1;
  if (!columns && !std::isinf(ord)) fail(MX_ERROR_INVALID_ARGUMENT, "norm: no matrix norm of order %g", ord);
  const Value sums = sum(absolute(a, s), List(Dims{axes[columns ? 0 : 1]}), true, s);
  const Value out = ord > 0 ? max(sums, List(sorted), true, s) : min(sums, List(sorted), true, s);
  return keepdims ? out : squeeze(out, List(sorted), s);
}

}  // namespace

Value norm(const Value &a, mx_norm_kind kind, double ord, const Axes &axes, bool keepdims, const StreamRef &s) {
  const Dims list = axes ? distinct_axes(*axes, rank_of(a), "norm") : iota(rank_of(a));
  const Value x = astype(a, inexact(dtype_of(a)), s);
  switch (kind) {
    case MX_NORM_DEFAULT:
      return power_sum(absolute(x, s), 2, list, keepdims, s);
    case MX_NORM_ORD:
      if (list.size() == 1) return vector_norm(x, ord, list, keepdims, s);
      if (list.size() == 2) return matrix_norm(x, kind, ord, list, keepdims, s);
      fail(MX_ERROR_INVALID_ARGUMENT, "norm: order %g over %zu axes, but it needs 1 or 2", ord, list.size());
    case MX_NORM_FRO:
    case MX_NORM_NUC:
      if (list.size() != 2)
        fail(MX_ERROR_INVALID_ARGUMENT, "norm: a matrix norm over %zu axes, but it needs 2", list.size());
      if (kind == MX_NORM_FRO) return power_sum(absolute(x, s), 2, list, keepdims, s);
      return matrix_norm(x, kind, ord, list, keepdims, s);
  }
  fail(MX_ERROR_INVALID_ARGUMENT, "norm: no kind %d", static_cast<int>(kind));
}

}  // namespace mx::ops
