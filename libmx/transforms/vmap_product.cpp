// Rules of matrix products and systems of equations.
#include <algorithm>

#include "ops/binary.hpp"
#include "ops/create.hpp"
#include "ops/matmul.hpp"
#include "ops/traced.hpp"
#include "transforms/vmap_rules.hpp"

namespace mx::vmap {
namespace {

// A matrix that all lanes share, times a vector of each: one product of two matrices, not many with a vector.
bool is_shared_matrix_times_vector(const Mapped &a, const Mapped &b) {
  if (a.differs() || ops::follows_shapes(b.value) || lane_rank(a) != 2 || lane_rank(b) != 2) return false;
  return lane_spec(b).shape[1] == 1;
}

Value times(const Value &x, double factor, const StreamRef &s) {
  return factor == 1 ? x : ops::multiply(x, ops::scalar(factor, ops::dtype_of(x)), s);
}

}  // namespace

MappedList map_matmul(const LaneOp &call) {
  const Mapped &a = call.in[0], &b = call.in[1];
  const StreamRef &s = call.s;
  if (is_shared_matrix_times_vector(a, b)) {
    const Value rows = ops::squeeze(lanes_first(b, s), List(Dims{2}), s);
    const Value out = same_op(call, {rows, ops::swapaxes(a.value, 0, 1, s)});
    return {{ops::expand_dims(out, Dims{2}, s), 0}};
  }
  const size_t after = std::max(lane_rank(a), lane_rank(b));
  return {{same_op(call, {aligned(a, after, s), aligned(b, after, s)}), 0}};
}

MappedList map_addmm(const LaneOp &call) {
  const Mapped &c = call.in[0], &a = call.in[1], &b = call.in[2];
  const StreamRef &s = call.s;
  AttrReader reader(call.attrs);
  const double alpha = reader.real(), beta = reader.real();
  if (!a.differs() && !b.differs()) {  // the product is the same in all lanes
    const Value product = times(make(OpCode::matmul, {}, {a.value, b.value}, s), alpha, s);
    if (beta == 0) return {{product, -1}};
    const size_t after = axes_after(c);
    const Value sum = ops::add(aligned({product}, after, s), times(aligned(c, after, s), beta, s), s);
    return {{sum, static_cast<int64_t>(ops::rank_of(product) - after)}};
  }
  const size_t after = std::max(lane_rank(a), lane_rank(b));
  return {{same_op(call, {aligned(c, after, s), aligned(a, after, s), aligned(b, after, s)}), 0}};
}

// A packed matrix of each lane is one of a batch, all of whose operands have that batch; one for all stays as it is.
MappedList map_quantized_matmul(const LaneOp &call) {
  AttrReader reader(call.attrs);
  reader.integer(), reader.integer(), reader.integer();
  if (reader.boolean()) return map_unrolled(call);  // by a global scale, of which there is one
  const std::span<const Mapped> packed = call.in.subspan(1);
  const bool differs = std::any_of(packed.begin(), packed.end(), [](const Mapped &x) { return x.differs(); });
  const size_t after = std::max(lane_rank(call.in[0]), lane_rank(packed[0]));
  ValueVector in{aligned(call.in[0], after, call.s)};
  for (const Mapped &x : packed)
    in.push_back(differs ? aligned({lanes_at(x, 0, call.lanes, call.s), 0}, after, call.s) : x.value);
  return {{same_op(call, std::move(in)), 0}};
}

// quantize and dequantize work on the last axes.
MappedList map_packed(const LaneOp &call) {
  AttrReader reader(call.attrs);
  reader.integer(), reader.integer(), reader.integer();
  return reader.boolean() ? map_unrolled(call) : map_leading(call);
}

// One matrix for all lanes is factored once: the lanes are more right-hand sides.
MappedList map_solve(const LaneOp &call) {
  const Mapped &a = call.in[0], &b = call.in[1];
  if (a.differs() || lane_rank(a) != 2) return map_leading(call);
  const Value sides = ops::flatten(ops::moveaxis(b.value, b.axis, 1, call.s), 1, 2, call.s);
  const Dims split{call.lanes.count(), lane_spec(b).shape[1]};
  return {{ops::unflatten(same_op(call, {a.value, sides}), 1, split, call.s), 1}};
}

}  // namespace mx::vmap
