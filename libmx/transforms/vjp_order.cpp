// Derivatives of scans and of what puts elements in order.
#include "ops/index.hpp"
#include "ops/reduce.hpp"
#include "ops/shape.hpp"
#include "ops/sort.hpp"
#include "transforms/rule.hpp"

namespace mx::transforms {
namespace {

using ops::List;

struct Scan {
  ScanKind kind;
  size_t axis;
  bool reverse, inclusive;
};

Scan scan_of(const Step &t) {
  AttrReader reader(t.attrs);
  const auto kind = static_cast<ScanKind>(reader.integer());
  const auto axis = static_cast<size_t>(reader.integer());
  const bool reverse = reader.boolean();
  return {kind, axis, reverse, reader.boolean()};
}

Term part(const Term &x, size_t axis, int64_t from, int64_t to) {
  return x.with(ops::slice_axis(x, axis, from, to, 1, *x.stream));
}

Term joined(const Term &a, const Term &b, size_t axis) {
  const Value both[] = {a, b};
  return a.with(ops::concatenate(both, static_cast<int64_t>(axis), *a.stream));
}

Term zeros_like(const Term &x) { return x.with(ops::zeros_like(x, x.dtype(), *x.stream)); }

// In the direction of the scan, and back.
Term turned(const Term &x, const Scan &s) {
  return s.reverse ? x.with(ops::flip(x, List(Dims{static_cast<int64_t>(s.axis)}), *x.stream)) : x;
}

Term scanned(const Term &x, ScanKind kind, size_t axis, bool inclusive) {
  return x.with(ops::scan(kind, x, static_cast<int64_t>(axis), false, inclusive, *x.stream));
}

// Cotangents of an exclusive scan, as if the scan were inclusive: output i + 1 is what output i would be then.
Term inclusive_cotangents(const Term &g, const Scan &s) {
  if (s.inclusive) return g;
  const Term later = part(g, s.axis, 1, INT64_MAX), none = zeros_like(part(g, s.axis, 0, 1));
  return joined(later, none, s.axis);
}

// The solution of s_i = g_i + a_i s_(i + 1): as linear in g as the scan that it belongs to, without a division and
// without a logarithm of g. By doubling: after the step of width d, s_i holds d terms and a_i the product of d factors.
Term suffix_sums(Term g, Term a, size_t axis) {
  const int64_t n = g.shape()[axis];
  for (int64_t d = 1; d < n; d *= 2) {
    const Term factors = part(a, axis, 0, n - d);
    const Term head = part(g, axis, 0, n - d) + factors * part(g, axis, d, n);
    g = joined(head, part(g, axis, n - d, n), axis);
    if (2 * d < n) a = joined(factors * part(a, axis, d, n), part(a, axis, n - d, n), axis);
  }
  return g;
}

// Output j is the product of x_0 ... x_j: input i gets the product before it times the sum over j of g_j times the
// product between i and j.
void product(Step &t, const Scan &s) {
  const Term x = turned(t.x(), s), g = inclusive_cotangents(turned(t.g(), s), s);
  const Term next = conjugate(joined(part(x, s.axis, 1, INT64_MAX), zeros_like(part(x, s.axis, 0, 1)), s.axis));
  const Term before = conjugate(scanned(x, ScanKind::prod, s.axis, false));
  t.give(0, turned(before * suffix_sums(g, next, s.axis), s));
}

// exp(a - b), 1 where both are the same infinity.
Term ratio(const Term &a, const Term &b) { return exp(where(a == b, 0, a - b)); }

// Output j is y_j = log(e^x_0 + ... + e^x_j): input i gets the sum over j of g_j e^(x_i - y_j), whose exponents are not
// positive.
void log_sum(Step &t, const Scan &s) {
  const Term x = turned(t.x(), s), g = inclusive_cotangents(turned(t.g(), s), s);
  const Term y = s.inclusive ? turned(t.y(), s) : scanned(x, ScanKind::logaddexp, s.axis, true);
  const Term next = joined(part(y, s.axis, 1, INT64_MAX), part(y, s.axis, -1, INT64_MAX), s.axis);
  t.give(0, turned(conjugate(ratio(x, y)) * suffix_sums(g, conjugate(ratio(y, next)), s.axis), s));
}

// Each output goes to the element that it is: the latest that equals it, by a running maximum of such places.
void extremum(Step &t, const Scan &s) {
  const Term x = turned(t.x(), s), g = inclusive_cotangents(turned(t.g(), s), s);
  const Term best = s.inclusive ? turned(t.y(), s) : scanned(x, s.kind, s.axis, true);
  Dims shape(x.shape().size() - s.axis, 1);
  shape[0] = x.shape()[s.axis];
  const Term line = t.term(ops::reshape(ops::axis_iota(x, s.axis, t.stream), shape, t.stream));
  const Term hits = is_inexact(x.dtype()) ? t.term(ops::equal_nan(x, best, t.stream)) : x == best;
  const Term places = t.term(ops::broadcast_like(where(hits, line, 0), x, t.stream));
  const Term owner = stop_gradient(scanned(places, ScanKind::max, s.axis, true));
  const Value sums =
      ops::scatter_along_axis(zeros_like(x), owner, g, static_cast<int64_t>(s.axis), ScatterMode::add, t.stream);
  t.give(0, turned(t.term(sums), s));
}

// Cotangents go back to where the elements came from.
void permuted(Step &t, const Value &order, int64_t axis) {
  const Term places = t.term(ops::stop_gradient(order, t.stream));
  t.give(0, t.term(ops::scatter_along_axis(zeros_like(t.x()), places, t.g(), axis, ScatterMode::assign, t.stream)));
}

}  // namespace

MX_VJP(scan) {
  const Scan s = scan_of(t);
  if (t.x().shape()[s.axis] == 0) return;
  switch (s.kind) {
    case ScanKind::sum:
      return t.give(0,
                    t.term(ops::scan(s.kind, t.g(), static_cast<int64_t>(s.axis), !s.reverse, s.inclusive, t.stream)));
    case ScanKind::prod:
      return product(t, s);
    case ScanKind::logaddexp:
      return log_sum(t, s);
    case ScanKind::max:
    case ScanKind::min:
      return extremum(t, s);
  }
}

MX_VJP(sort) {
  const int64_t axis = AttrReader(t.attrs).integer();
  permuted(t, ops::argsort(t.x(), axis, false, t.stream), axis);
}

MX_VJP(partition) {
  AttrReader reader(t.attrs);
  const int64_t kth = reader.integer(), axis = reader.integer();
  permuted(t, ops::argpartition(t.x(), kth, axis, t.stream), axis);
}

}  // namespace mx::transforms
