// Derivatives of matrix products.
#include "ops/matmul.hpp"
#include "ops/shape.hpp"
#include "transforms/rule.hpp"

namespace mx::transforms {
namespace {

// The conjugate of the transposed matrices.
Term adjoint(const Term &x) { return conjugate(x.with(ops::swapaxes(x, -1, -2, *x.stream))); }

Term product(const Term &a, const Term &b) { return a.with(ops::matmul(a, b, *a.stream)); }

bool is_one_matrix(const Term &x) noexcept {
  for (size_t i = 0; i + 2 < x.shape().size(); i++)
    if (x.shape()[i] != 1) return false;
  return true;
}

// All leading axes joined with the rows.
Term rows(const Term &x) {
  const size_t rank = x.shape().size();
  return rank == 2 ? x : x.with(ops::flatten(x, 0, static_cast<int64_t>(rank) - 2, *x.stream));
}

// Of the left factor, given the cotangent of the product.
Term left(const Term &g, const Term &b) { return product(g, adjoint(b)); }

// Of the right factor. One matrix for a batch of left ones: one product over all rows instead of a sum of products.
Term right(const Term &g, const Term &a, const Term &b) {
  if (!is_one_matrix(b) || is_one_matrix(a)) return product(adjoint(a), g);
  const Term sum = product(adjoint(rows(a)), rows(g));
  return b.shape().size() == 2 ? sum : sum.with(ops::reshape(sum, b.shape(), *sum.stream));
}

}  // namespace

MX_VJP(matmul) {
  if (t.wants(0)) t.give(0, left(t.g(), t.x(1)));
  if (t.wants(1)) t.give(1, right(t.g(), t.x(0), t.x(1)));
}

MX_VJP(addmm) {
  AttrReader reader(t.attrs);
  const double alpha = reader.real(), beta = reader.real();
  if (t.wants(0)) t.give(0, beta == 1 ? t.g() : t.g() * beta);
  if (!t.wants(1) && !t.wants(2)) return;
  const Term g = alpha == 1 ? t.g() : t.g() * alpha;
  if (t.wants(1)) t.give(1, left(g, t.x(2)));
  if (t.wants(2)) t.give(2, right(g, t.x(1), t.x(2)));
}

}  // namespace mx::transforms
