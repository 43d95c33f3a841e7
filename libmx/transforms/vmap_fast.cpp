// Rules of norms, rotary embedding and attention.
#include <algorithm>

#include "ops/kinds.hpp"
#include "ops/unary.hpp"
#include "transforms/vmap_rules.hpp"

namespace mx::vmap {
namespace {

// An elementwise op of two values.
Mapped combined(OpCode op, const Mapped &a, const Mapped &b, const StreamRef &s) {
  if (!a.differs() && !b.differs()) return {make(op, {}, {a.value, b.value}, s), -1};
  const Mapped in[] = {a, b};
  const Alignment to = alignment_of(in);
  return {make(op, {}, {aligned(a, to.after, s), aligned(b, to.after, s)}, s), to.axis()};
}

// With a last axis that is not that of the lanes.
Mapped with_last_axis(const Mapped &x, const StreamRef &s) {
  if (!x.differs() || axes_after(x) > 0) return x;
  return {lanes_first(x, s), 0};
}

// A norm without weight and bias.
Attrs plain_norm(OpCode op, double eps) {
  Attrs attrs;
  attrs.put(eps).put(false);
  if (op == OpCode::layer_norm) attrs.put(false);
  return attrs;
}

// Lanes and axis `place` of a lane in one axis, lanes first.
Value folded(const Mapped &x, int64_t place, const LaneOp &call) {
  return ops::flatten(lanes_at(x, place, call.lanes, call.s), place, place + 1, call.s);
}

Mapped unfolded(const Value &x, int64_t place, int64_t size, const LaneOp &call) {
  return {ops::unflatten(x, place, Dims{call.lanes.count(), size}, call.s), place};
}

// A mask that broadcasts to lanes of four axes, folded as what it masks, which has `size` at `place`.
Value folded_mask(const Mapped &mask, int64_t place, int64_t size, const LaneOp &call) {
  Mapped wide{mask.value, -1};
  if (mask.differs()) {
    wide = {aligned(mask, 4, call.s), 0};
  } else {
    wide.value = ops::expand_dims(mask.value, ops::iota(4 - lane_rank(mask)), call.s);
    if (ops::shape_of(wide.value)[static_cast<size_t>(place)] == 1) return mask.value;
  }
  Dims shape(5, -1);
  shape[static_cast<size_t>(place) + 1] = size;
  const Value lanes = ops::broadcast_to(lanes_at(wide, place, call.lanes, call.s), shape, call.s);
  return ops::flatten(lanes, place, place + 1, call.s);
}

}  // namespace

// A weight that differs between the lanes is no operand of the norm: it scales the result before that is rounded.
MappedList map_norm(const LaneOp &call) {
  const std::span<const Mapped> scales = call.in.subspan(1);
  Mapped x = with_last_axis(call.in[0], call.s);
  if (std::none_of(scales.begin(), scales.end(), [](const Mapped &y) { return y.differs(); })) {
    ValueVector in{x.value};
    for (const Mapped &scale : scales) in.push_back(scale.value);
    return {{same_op(call, std::move(in)), x.axis}};
  }
  const DType d = ops::dtype_of(x.value), work = d == DType::float64 ? d : DType::float32;
  AttrReader reader(call.attrs);
  x.value = make(call.op, plain_norm(call.op, reader.real()), {ops::astype(x.value, work, call.s)}, call.s);
  OpCode op = reader.boolean() ? OpCode::multiply : OpCode::add;  // a weight comes before a bias
  for (const Mapped &scale : scales) {
    x = combined(op, x, {ops::astype(scale.value, work, call.s), scale.axis}, call.s);
    op = OpCode::add;
  }
  return {{ops::astype(x.value, d, call.s), x.axis}};
}

MappedList map_rope(const LaneOp &call) {
  const Mapped &x = call.in[0], &offset = call.in[1];
  if (call.in.size() > 2 && call.in[2].differs()) return map_unrolled(call);
  ValueVector in{lanes_at(x, 0, call.lanes, call.s), offset.value};
  if (call.in.size() > 2) in.push_back(call.in[2].value);
  if (lane_rank(offset) == 0) return {{same_op(call, std::move(in)), 0}};
  const int64_t batch = lane_spec(x).shape[0];
  in[0] = ops::flatten(in[0], 0, 1, call.s);
  const Value offsets = ops::broadcast_to(lanes_at(offset, 0, call.lanes, call.s), Dims{-1, batch}, call.s);
  in[1] = ops::flatten(offsets, 0, 1, call.s);
  return {unfolded(same_op(call, std::move(in)), 0, batch, call)};
}

// Lanes are more of a batch, or more heads where heads differ by their sinks.
MappedList map_attention(const LaneOp &call) {
  AttrReader reader(call.attrs);
  reader.real();
  const bool has_mask = reader.integer() == static_cast<int64_t>(MaskKind::array), has_sinks = reader.boolean();
  const Mapped *sinks = has_sinks ? &call.in.back() : nullptr;
  const int64_t place = sinks && sinks->differs() ? 1 : 0;
  const int64_t size = lane_spec(call.in[0]).shape[static_cast<size_t>(place)];
  ValueVector in;
  for (const Mapped &x : call.in.first(3)) in.push_back(folded(x, place, call));
  if (has_mask) in.push_back(folded_mask(call.in[3], place, size, call));
  if (sinks) in.push_back(place ? folded(*sinks, 0, call) : sinks->value);
  return {unfolded(same_op(call, std::move(in)), place, size, call)};
}

}  // namespace mx::vmap
