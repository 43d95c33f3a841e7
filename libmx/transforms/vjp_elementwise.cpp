// Derivatives of elementwise ops.
#include <cmath>

#include "ops/reduce.hpp"
#include "transforms/rule.hpp"

namespace mx::transforms {
namespace {

// The number that an array is made of, if it is a constant.
bool is_number(const Value &v, double &x) {
  if (v.node->op != OpCode::constant || is_complex(spec_of(v).dtype)) return false;
  const int64_t bits = AttrReader(v.node->attrs).integer();
  const Scalar scalar = load_scalar(reinterpret_cast<const char *>(&bits), spec_of(v).dtype);
  x = scalar.kind == MX_SCALAR_FLOAT ? scalar.re : static_cast<double>(scalar.i);
  return true;
}

// d/dx of x^p: p x^(p - 1), which is 0 for p = 0 also where x is.
Term power_slope(const Term &x, const Term &p) {
  double n;
  if (is_number(p, n)) {
    if (n == 0) return x.with(ops::zeros_like(x, x.dtype(), *x.stream));
    if (n == 1) return x.with(ops::ones_like(x, x.dtype(), *x.stream));
    if (n == 2) return x * 2;
    return pow(x, p - 1) * n;
  }
  return where(p == 0, 0, p * pow(x, p - 1));
}

// 1 where the sign stays, -1 where it changes.
Term signs(const Term &a, const Term &b) {
  const Term one = a.number(1);
  return a.with(ops::copysign(one, a, *a.stream)) * a.with(ops::copysign(one, b, *a.stream));
}

}  // namespace

// Casts to whole numbers are constant almost everywhere.
MX_VJP(astype) {
  if (is_inexact(t.x().dtype()) && !is_inexact(t.y().dtype())) return;
  t.give(0, t.g());
}
MX_VJP(full) { t.give(0, t.g()); }
MX_VJP(copy) { t.give(0, t.g()); }
MX_VJP(negative) { t.give(0, -t.g()); }
MX_VJP(absolute) {
  const Term x = t.x();
  if (!is_complex(x.dtype())) return t.give(0, t.g() * sign(x));
  const Term r = t.y();
  t.give(0, t.g() * where(r == 0, 0, x / where(r == 0, 1, r)));
}
// Of complex numbers the direction: what is across it counts.
MX_VJP(sign) {
  if (!is_complex(t.x().dtype())) return;
  const Term y = t.y(), r = absolute(t.x()), across = t.g() - y * cast(real(conjugate(y) * t.g()), y.dtype());
  t.give(0, where(r == 0, 0, across / where(r == 0, 1, r)));
}
MX_VJP(square) { t.chain(t.x() * 2); }
MX_VJP(sqrt) { t.chain(0.5 / t.y()); }
MX_VJP(rsqrt) { t.chain(t.y() * -0.5 / t.x()); }
MX_VJP(reciprocal) { t.chain(-square(t.y())); }
MX_VJP(exp) { t.chain(t.y()); }
MX_VJP(expm1) { t.chain(exp(t.x())); }
MX_VJP(log) { t.chain(reciprocal(t.x())); }
MX_VJP(log2) { t.chain(1 / (t.x() * M_LN2)); }
MX_VJP(log10) { t.chain(1 / (t.x() * M_LN10)); }
MX_VJP(log1p) { t.chain(reciprocal(t.x() + 1)); }
MX_VJP(sin) { t.chain(cos(t.x())); }
MX_VJP(cos) { t.chain(-sin(t.x())); }
MX_VJP(tan) { t.chain(square(t.y()) + 1); }
MX_VJP(arcsin) { t.chain(rsqrt(1 - square(t.x()))); }
MX_VJP(arccos) { t.chain(-rsqrt(1 - square(t.x()))); }
MX_VJP(arctan) { t.chain(reciprocal(square(t.x()) + 1)); }
MX_VJP(sinh) { t.chain(cosh(t.x())); }
MX_VJP(cosh) { t.chain(sinh(t.x())); }
MX_VJP(tanh) { t.chain(1 - square(t.y())); }
MX_VJP(arcsinh) { t.chain(rsqrt(square(t.x()) + 1)); }
// Real: as NumPy's users write it. Two roots keep more digits beside 1, and the right branch of complex numbers.
MX_VJP(arccosh) { t.chain(is_complex(t.x().dtype()) ? rsqrt(t.x() - 1) * rsqrt(t.x() + 1) : rsqrt(square(t.x()) - 1)); }
MX_VJP(arctanh) { t.chain(reciprocal(1 - square(t.x()))); }
MX_VJP(erf) { t.chain(exp(-square(t.x())) * M_2_SQRTPI); }
MX_VJP(erfinv) { t.chain(exp(square(t.y())) / M_2_SQRTPI); }
MX_VJP(sigmoid) { t.chain(t.y() * (1 - t.y())); }
MX_VJP(conjugate) { t.give(0, conjugate(t.g())); }
MX_VJP(real) { t.give(0, t.g()); }
MX_VJP(imag) {
  const DType d = t.x().dtype();
  t.give(0, cast(t.g(), d) * t.term(ops::constant({MX_SCALAR_COMPLEX, 0, 0, 1}, d)));
}

MX_VJP(add) {
  t.give(0, t.g());
  t.give(1, t.g());
}
MX_VJP(subtract) {
  t.give(0, t.g());
  if (t.wants(1)) t.give(1, -t.g());
}
MX_VJP(multiply) {
  for (size_t i = 0; i < 2; i++)
    if (t.wants(i)) t.give(i, t.g() * conjugate(t.x(1 - i)));
}
MX_VJP(divide) {
  const Term share = t.g() / conjugate(t.x(1));
  t.give(0, share);
  if (t.wants(1)) t.give(1, -(share * conjugate(t.y())));
}
MX_VJP(remainder) {
  t.give(0, t.g());
  if (t.wants(1)) t.give(1, -(t.g() * t.term(ops::floor_divide(t.x(0), t.x(1), t.stream))));
}
MX_VJP(power) {
  const Term x = t.x(0), p = t.x(1);
  if (t.wants(0)) t.give(0, t.g() * conjugate(power_slope(x, p)));
  if (t.wants(1)) t.give(1, t.g() * conjugate(where(x == 0, 0, log(where(x == 0, 1, x)) * t.y())));
}
// Of equal operands the second one counts.
MX_VJP(maximum) {
  const Term first = t.x(0) > t.x(1);
  if (t.wants(0)) t.give(0, where(first, t.g(), 0));
  if (t.wants(1)) t.give(1, where(first, 0, t.g()));
}
MX_VJP(minimum) {
  const Term first = t.x(0) < t.x(1);
  if (t.wants(0)) t.give(0, where(first, t.g(), 0));
  if (t.wants(1)) t.give(1, where(first, 0, t.g()));
}
MX_VJP(arctan2) {
  const Term y = t.x(0), x = t.x(1), share = t.g() / (square(x) + square(y));
  if (t.wants(0)) t.give(0, share * x);
  if (t.wants(1)) t.give(1, -(share * y));
}
MX_VJP(logaddexp) {
  for (size_t i = 0; i < 2; i++) {
    if (!t.wants(i)) continue;
    const Term a = t.x(i), b = t.x(1 - i);
    t.give(i, t.g() * (is_complex(a.dtype()) ? conjugate(exp(a - t.y())) : sigmoid(a - b)));
  }
}
MX_VJP(hypot) {
  const Term r = t.y(), share = where(r == 0, 0, t.g() / where(r == 0, 1, r));
  for (size_t i = 0; i < 2; i++)
    if (t.wants(i)) t.give(i, share * t.x(i));
}
MX_VJP(copysign) {
  if (t.wants(0)) t.give(0, t.g() * signs(t.x(0), t.x(1)));
}
MX_VJP(nextafter) { t.give(0, t.g()); }
MX_VJP(select) {
  if (t.wants(1)) t.give(1, where(t.x(0), t.g(), 0));
  if (t.wants(2)) t.give(2, where(t.x(0), 0, t.g()));
}

}  // namespace mx::transforms
