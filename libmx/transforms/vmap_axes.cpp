// Rules of elementwise ops, reductions, and what works along one axis.
#include <algorithm>

#include "ops/create.hpp"
#include "ops/unary.hpp"
#include "transforms/vmap_rules.hpp"

namespace mx::vmap {
namespace {

// The attributes with another axis as their word `place`.
Attrs with_axis(const Attrs &attrs, size_t place, int64_t axis) {
  Attrs out;
  for (size_t i = 0; i < attrs.words().size(); i++) out.put(i == place ? axis : attrs.words()[i]);
  return out;
}

// An op of one input that keeps the rank and has its axis as word `place` of the attributes.
MappedList along_axis(const LaneOp &call, size_t place) {
  const Mapped &x = call.in[0];
  Attrs attrs = with_axis(call.attrs, place, shifted(call.attrs.words()[place], x.axis));
  return {{make(call.op, std::move(attrs), {x.value}, call.s), x.axis}};
}

}  // namespace

MappedList map_elementwise(const LaneOp &call) {
  const Alignment to = alignment_of(call.in);
  ValueVector in;
  for (const Mapped &x : call.in) in.push_back(aligned(x, to.after, call.s));
  return {{same_op(call, std::move(in)), to.axis()}};
}

MappedList map_full(const LaneOp &call) {
  const List shape = AttrReader(call.attrs).list();
  const Value x = aligned(call.in[0], shape.size(), call.s);
  return {{ops::copy(ops::broadcast_to(x, inserted(shape, 0, -1), call.s), call.s), 0}};
}

MappedList map_reduce(const LaneOp &call) {
  const Mapped &x = call.in[0];
  AttrReader reader(call.attrs);
  const Dims axes = shifted(reader.list(), x.axis);
  const bool keepdims = reader.boolean();
  const int64_t axis = keepdims ? x.axis : x.axis - count_below(axes, x.axis);
  return {{make(call.op, Attrs().put(List(axes)).put(keepdims), {x.value}, call.s), axis}};
}

MappedList map_number_of_elements(const LaneOp &call) {
  AttrReader reader(call.attrs);
  const Dims axes = shifted(reader.list(), call.in[0].axis);
  const bool is_inverted = reader.boolean();
  return {{ops::number_of_elements(call.in[0].value, List(axes), is_inverted, reader.dtype(), call.s), -1}};
}

// Ops on the last axis, which the lanes must not be.
MappedList map_last_axis(const LaneOp &call) {
  const Mapped &x = call.in[0];
  if (axes_after(x) > 0) return {{same_op(call, {x.value}), x.axis}};
  return {{same_op(call, {lanes_first(x, call.s)}), 0}};
}

MappedList map_scan(const LaneOp &call) { return along_axis(call, 1); }
MappedList map_arg_reduce(const LaneOp &call) { return along_axis(call, 1); }
MappedList map_sort(const LaneOp &call) { return along_axis(call, 0); }
MappedList map_partition(const LaneOp &call) { return along_axis(call, 1); }

MappedList map_concatenate(const LaneOp &call) {
  const int64_t axis = common_axis(call.in);
  ValueVector in;
  for (const Mapped &x : call.in) in.push_back(lanes_at(x, axis, call.lanes, call.s));
  return {{make(call.op, Attrs().put(shifted(AttrReader(call.attrs).integer(), axis)), std::move(in), call.s), axis}};
}

MappedList map_roll(const LaneOp &call) {
  const Mapped &x = call.in[0];
  AttrReader reader(call.attrs);
  const int64_t shift = reader.integer(), axis = reader.integer();
  if (axis >= 0) return along_axis(call, 1);
  const size_t rank = lane_rank(x);
  if (rank == 0) return {x};
  const Value flat = ops::flatten(lanes_first(x, call.s), 1, -1, call.s);
  const Value rolled = make(OpCode::roll, Attrs().put(shift).put(1), {flat}, call.s);
  return {{ops::unflatten(rolled, 1, lane_spec(x).shape, call.s), 0}};
}

// Ops whose leading axes are those of a batch.
MappedList map_leading(const LaneOp &call) {
  ValueVector in;
  for (const Mapped &x : call.in) in.push_back(lanes_at(x, 0, call.lanes, call.s));
  MappedList out;
  for (Value &value : outputs_of(same_op(call, std::move(in)))) out.push_back({std::move(value), 0});
  return out;
}

MappedList map_random_bits(const LaneOp &call) { return {{same_op(call, {lanes_first(call.in[0], call.s)}), 0}}; }

}  // namespace mx::vmap
