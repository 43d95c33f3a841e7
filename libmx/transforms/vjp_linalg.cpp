// Derivatives of linear algebra (M. Giles, "Collected matrix derivative results for forward and reverse mode
// algorithmic differentiation", 2008; of Cholesky factors: I. Murray, "Differentiation of the Cholesky decomposition",
// 2016).
#include "ops/linalg.hpp"
#include "ops/matmul.hpp"
#include "transforms/rule.hpp"

namespace mx::transforms {
namespace {

Term adjoint(const Term &x) { return conjugate(x.with(ops::swapaxes(x, -1, -2, *x.stream))); }
Term product(const Term &a, const Term &b) { return a.with(ops::matmul(a, b, *a.stream)); }
Term triangle(const Term &x, bool upper) {
  return x.with(upper ? ops::triu(x, 0, *x.stream) : ops::tril(x, 0, *x.stream));
}
Term solved(const Term &a, const Term &b, bool triangular, bool upper) {
  return a.with(triangular ? ops::solve_triangular(a, b, upper, *a.stream) : ops::solve(a, b, *a.stream));
}

struct Triangle {
  bool is, upper;
};

Triangle triangle_of(const Step &t) {
  AttrReader reader(t.attrs);
  const bool is = reader.boolean();
  return {is, reader.boolean()};
}

Term identity_like(const Term &a) {
  const int64_t n = a.shape().back();
  return a.with(ops::eye(n, n, 0, a.dtype(), *a.stream));
}

}  // namespace

MX_VJP(inverse) {
  const Triangle kind = triangle_of(t);
  const Term back = adjoint(t.y()), slope = -product(product(back, t.g()), back);
  t.give(0, kind.is ? triangle(slope, kind.upper) : slope);
}

MX_VJP(solve) {
  const Triangle kind = triangle_of(t);
  const Term b = solved(adjoint(t.x(0)), t.g(), kind.is, !kind.upper);
  t.give(1, b);
  if (!t.wants(0)) return;
  const Term slope = -product(b, adjoint(t.y()));
  t.give(0, kind.is ? triangle(slope, kind.upper) : slope);
}

// a = l l^H: l^-H (the lower triangle of l^H g, half its diagonal) l^-1, of which the part that keeps a Hermitian.
MX_VJP(cholesky) {
  const bool upper = AttrReader(t.attrs).boolean();
  const Term l = upper ? adjoint(t.y()) : t.y(), g = triangle(upper ? adjoint(t.g()) : t.g(), false);
  const Term inner = product(adjoint(l), g), half = triangle(inner, false) - inner * identity_like(inner) * 0.5;
  const Term left = solved(adjoint(l), half, true, true);
  const Term slope = adjoint(solved(adjoint(l), adjoint(left), true, true));
  t.give(0, (slope + adjoint(slope)) * 0.5);
}

// a v = v w: v (gw on the diagonal + the off-diagonal of v^H gv, each over the distance of its eigenvalues) v^H.
MX_VJP(eigh) {
  AttrReader reader(t.attrs);
  const bool upper = reader.boolean(), vectors = reader.boolean();
  const Term v = vectors ? t.y(1) : t.term(ops::eigh(t.x(), upper, true, t.stream)[1]);
  const Term one = identity_like(v);
  const auto column = [&](const Term &x) { return x.with(ops::expand_dims(x, Dims{-1}, t.stream)); };
  const auto row = [&](const Term &x) { return x.with(ops::expand_dims(x, Dims{-2}, t.stream)); };
  Term inner = one * row(t.g(0));
  if (vectors && t.arrived(1)) {
    const Term w = t.y(0), distance = row(w) - column(w);
    inner = inner + product(adjoint(v), t.g(1)) * where(distance == 0, 0, 1 / where(distance == 0, 1, distance));
  }
  const Term slope = product(product(v, inner), adjoint(v));
  t.give(0, (slope + adjoint(slope)) * 0.5);
}

}  // namespace mx::transforms
