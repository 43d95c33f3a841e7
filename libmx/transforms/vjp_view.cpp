// Derivatives of ops that only move elements: the cotangents move back, and add up where elements were repeated.
#include "ops/index.hpp"
#include "ops/shape.hpp"
#include "transforms/rule.hpp"

namespace mx::transforms {
namespace {

using ops::List;

Dims list_of(const Step &t) {
  const auto list = AttrReader(t.attrs).list();
  return {list.begin(), list.end()};
}

void reshaped(Step &t) { t.give(0, t.term(ops::reshape(t.g(), t.x().shape(), t.stream))); }

// Any view that repeats or leaves out elements: the same view of the elements' numbers tells where cotangents go.
void by_number(Step &t) {
  const Term x = t.x();
  const int64_t n = element_count(x.shape());
  const Value numbers = ops::reshape(ops::arange(n, DType::int64, t.stream), x.shape(), t.stream);
  const Value places = ops::flatten(make(t.op, t.attrs, {numbers}, t.stream), 0, -1, t.stream);
  const Value zeros = ops::zeros(Dims{n}, x.dtype(), t.stream);
  const Value sums =
      ops::scatter_along_axis(zeros, places, ops::flatten(t.g(), 0, -1, t.stream), 0, ScatterMode::add, t.stream);
  t.give(0, t.term(ops::reshape(sums, x.shape(), t.stream)));
}

}  // namespace

MX_VJP(reshape) { reshaped(t); }
MX_VJP(flatten) { reshaped(t); }
MX_VJP(unflatten) {
  const int64_t axis = AttrReader(t.attrs).integer();
  const int64_t last = axis + static_cast<int64_t>(t.y().shape().size() - t.x().shape().size());
  if (last < axis) return reshaped(t);
  t.give(0, t.term(ops::flatten(t.g(), axis, last, t.stream)));
}
MX_VJP(squeeze) { t.give(0, t.term(ops::expand_dims(t.g(), list_of(t), t.stream))); }
MX_VJP(expand_dims) { t.give(0, t.term(ops::squeeze(t.g(), List(list_of(t)), t.stream))); }
MX_VJP(transpose) {
  const Dims order = list_of(t);
  Dims back(order.size());
  for (size_t i = 0; i < order.size(); i++) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  t.give(0, t.term(ops::transpose(t.g(), List(back), t.stream)));
}
MX_VJP(broadcast_to) { t.give(0, t.g()); }
MX_VJP(broadcast_like) { t.give(0, t.g()); }
MX_VJP(contiguous) { t.give(0, t.g()); }
MX_VJP(depends) { t.give(0, t.g()); }
MX_VJP(diagonal) { by_number(t); }
MX_VJP(as_strided) { by_number(t); }

MX_VJP(slice) {
  AttrReader reader(t.attrs);
  const List start = reader.list(), stop = reader.list(), step = reader.list();
  const Value zeros = ops::zeros_like(t.x(), t.x().dtype(), t.stream);
  t.give(0, t.term(ops::slice_update(zeros, t.g(), start, stop, step, ScatterMode::assign, t.stream)));
}

MX_VJP(concatenate) {
  const size_t axis = static_cast<size_t>(AttrReader(t.attrs).integer());
  int64_t from = 0;
  for (size_t i = 0; i < t.n_inputs(); i++) {
    const int64_t to = from + t.x(i).shape()[axis];
    if (t.wants(i)) t.give(i, t.term(ops::slice_axis(t.g(), axis, from, to, 1, t.stream)));
    from = to;
  }
}

MX_VJP(roll) {
  AttrReader reader(t.attrs);
  const int64_t shift = reader.integer(), axis = reader.integer();
  t.give(0, t.term(make(OpCode::roll, Attrs().put(-shift).put(axis), {t.g()}, t.stream)));
}

}  // namespace mx::transforms
