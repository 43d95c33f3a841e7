// Derivatives of reductions and of what normalises along an axis.
#include "ops/index.hpp"
#include "ops/reduce.hpp"
#include "ops/shape.hpp"
#include "transforms/rule.hpp"

namespace mx::transforms {
namespace {

using ops::List;

struct Reduction {
  Dims axes;
  bool keepdims;
};

Reduction reduction(const Step &t) {
  AttrReader reader(t.attrs);
  const auto axes = reader.list();
  return {{axes.begin(), axes.end()}, reader.boolean()};
}

// A value of the output's shape, so that it broadcasts against the input.
Term kept(const Term &v, const Reduction &r) { return r.keepdims ? v : v.with(ops::expand_dims(v, r.axes, *v.stream)); }

Term spread(const Term &v, const Reduction &r, const Term &x) {
  return v.with(ops::broadcast_like(kept(v, r), x, *v.stream));
}

// The reduced axes as one at the end, and back.
struct Joined {
  Dims order, back, sizes;
};

Joined join(const Term &x, const Reduction &r) {
  Joined j;
  const size_t rank = x.shape().size();
  for (int64_t i = 0; i < static_cast<int64_t>(rank); i++)
    if (std::find(r.axes.begin(), r.axes.end(), i) == r.axes.end()) j.order.push_back(i);
  for (int64_t axis : r.axes) {
    j.order.push_back(axis);
    j.sizes.push_back(x.shape()[static_cast<size_t>(axis)]);
  }
  j.back = Dims(rank);
  for (size_t i = 0; i < rank; i++) j.back[static_cast<size_t>(j.order[i])] = static_cast<int64_t>(i);
  return j;
}

// For every element the product of all others along the reduced axes: those before it times those after it, so zeros
// need no care.
Term product_of_others(const Term &x, const Reduction &r) {
  const Ref<Stream> &s = *x.stream;
  const Joined j = join(x, r);
  const int64_t first = static_cast<int64_t>(x.shape().size() - r.axes.size());
  Value line = ops::flatten(ops::transpose(x, List(j.order), s), first, -1, s);
  const Value before = ops::scan(ScanKind::prod, line, -1, false, false, s);
  const Value after = ops::scan(ScanKind::prod, line, -1, true, false, s);
  line = ops::multiply(before, after, s);
  if (r.axes.size() > 1) line = ops::unflatten(line, -1, j.sizes, s);
  return x.with(ops::transpose(line, List(j.back), s));
}

// Equal extrema share the cotangent.
void extremum(Step &t) {
  const Reduction r = reduction(t);
  const Term x = t.x(), best = spread(t.y(), r, x);
  const Term hits = x == best;
  const Term count = t.term(ops::sum(cast(hits, DType::int32), List(r.axes), true, t.stream));
  const DType d = x.dtype();
  const Term share = is_inexact(d) ? kept(t.g(), r) / cast(count, d) : kept(t.g(), r);
  t.give(0, where(hits, t.term(ops::broadcast_like(share, x, t.stream)), 0));
}

}  // namespace

MX_VJP(sum) { t.give(0, spread(t.g(), reduction(t), t.x())); }
MX_VJP(prod) {
  const Reduction r = reduction(t);
  t.give(0, kept(t.g(), r) * conjugate(product_of_others(t.x(), r)));
}
MX_VJP(min) { extremum(t); }
MX_VJP(max) { extremum(t); }

MX_VJP(softmax) {
  const Term weighted = t.g() * t.y();
  const Dims last{static_cast<int64_t>(t.y().shape().size()) - 1};
  t.give(0, weighted - t.y() * t.term(ops::sum(weighted, List(last), true, t.stream)));
}

MX_VJP(logsumexp) {
  const Dims last{static_cast<int64_t>(t.x().shape().size()) - 1};
  t.give(0, t.g() * t.term(ops::softmax(t.x(), List(last), false, t.stream)));
}

}  // namespace mx::transforms
