// Rules of views. The axis of the lanes stays where it is if that costs no more than moving it.
#include <algorithm>
#include <limits>

#include "ops/traced.hpp"
#include "transforms/vmap_rules.hpp"

namespace mx::vmap {
namespace {

// A view of one input.
MappedList view_of(const LaneOp &call, Attrs attrs, int64_t axis) {
  return {{make(call.op, std::move(attrs), {call.in[0].value}, call.s), axis}};
}

int64_t length(List list) noexcept { return static_cast<int64_t>(list.size()); }

}  // namespace

// Inside a trace through one axis, so that a -1 stays one.
MappedList map_reshape(const LaneOp &call) {
  const Value x = lanes_first(call.in[0], call.s);
  const List shape = AttrReader(call.attrs).list();
  if (!ops::follows_shapes(x))
    return {{ops::reshape(x, inserted(lane_outputs(call)[0].shape, 0, call.lanes.count()), call.s), 0}};
  const Value flat = ops::rank_of(x) == 1 ? ops::expand_dims(x, Dims{1}, call.s) : ops::flatten(x, 1, -1, call.s);
  return {{shape.empty() ? ops::squeeze(flat, List(Dims{1}), call.s) : ops::unflatten(flat, 1, shape, call.s), 0}};
}

MappedList map_flatten(const LaneOp &call) {
  const Mapped &x = call.in[0];
  if (lane_rank(x) == 0) return {{ops::expand_dims(x.value, Dims{1}, call.s), 0}};
  AttrReader reader(call.attrs);
  const int64_t start = reader.integer(), end = reader.integer();
  const bool between = x.axis > start && x.axis <= end;
  const Mapped from = between ? Mapped{lanes_first(x, call.s), 0} : x;
  const int64_t axis = from.axis > end ? from.axis - (end - start) : from.axis;
  return {{ops::flatten(from.value, shifted(start, from.axis), shifted(end, from.axis), call.s), axis}};
}

MappedList map_unflatten(const LaneOp &call) {
  AttrReader reader(call.attrs);
  const int64_t at = reader.integer(), lanes = call.in[0].axis;
  const List sizes = reader.list();
  return view_of(call, Attrs().put(shifted(at, lanes)).put(sizes), lanes > at ? lanes + length(sizes) - 1 : lanes);
}

MappedList map_squeeze(const LaneOp &call) {
  const int64_t lanes = call.in[0].axis;
  const Dims axes = shifted(AttrReader(call.attrs).list(), lanes);
  return view_of(call, Attrs().put(List(axes)), lanes - count_below(axes, lanes));
}

// The lanes stay before the axis that they are before now, at the end if there is none.
MappedList map_expand_dims(const LaneOp &call) {
  const List axes = AttrReader(call.attrs).list();
  const int64_t lanes = call.in[0].axis, rank = static_cast<int64_t>(lane_rank(call.in[0])) + length(axes);
  int64_t place = 0;
  for (int64_t old = 0; place < rank; place++) {
    if (std::find(axes.begin(), axes.end(), place) != axes.end()) continue;
    if (old++ == lanes) break;
  }
  return view_of(call, Attrs().put(List(shifted(axes, place))), place);
}

MappedList map_transpose(const LaneOp &call) {
  const int64_t lanes = call.in[0].axis;
  const Dims order = shifted(AttrReader(call.attrs).list(), lanes);
  return view_of(call, Attrs().put(List(inserted(order, lanes, lanes))), lanes);
}

MappedList map_broadcast_to(const LaneOp &call) {
  const List shape = AttrReader(call.attrs).list();
  const int64_t axis = length(shape) - static_cast<int64_t>(axes_after(call.in[0]));
  return view_of(call, Attrs().put(List(inserted(shape, axis, -1))), axis);
}

MappedList map_broadcast_like(const LaneOp &call) {
  const Mapped &x = call.in[0];
  const bool follows = std::ranges::any_of(call.in, [](const Mapped &y) { return ops::follows_shapes(y.value); });
  if (!x.differs() && !follows) return {{ops::broadcast_to(x.value, lane_outputs(call)[0].shape, call.s), -1}};
  return map_elementwise(call);
}

MappedList map_slice(const LaneOp &call) {
  AttrReader reader(call.attrs);
  const int64_t lanes = call.in[0].axis;
  const Dims start = inserted(reader.list(), lanes, 0);
  const Dims stop = inserted(reader.list(), lanes, std::numeric_limits<int64_t>::max());
  const Dims step = inserted(reader.list(), lanes, 1);
  return view_of(call, Attrs().put(List(start)).put(List(stop)).put(List(step)), lanes);
}

MappedList map_diagonal(const LaneOp &call) {
  AttrReader reader(call.attrs);
  const int64_t offset = reader.integer(), row = reader.integer(), column = reader.integer(), lanes = call.in[0].axis;
  Attrs attrs;
  attrs.put(offset).put(shifted(row, lanes)).put(shifted(column, lanes));
  return view_of(call, std::move(attrs), lanes - count_below(Dims{row, column}, lanes));
}

MappedList map_as_strided(const LaneOp &call) {
  AttrReader reader(call.attrs);
  const Dims shape = inserted(reader.list(), 0, call.lanes.count());
  const Dims strides = inserted(reader.list(), 0, element_count(lane_spec(call.in[0]).shape));
  return {{ops::as_strided(lanes_first(call.in[0], call.s), shape, strides, reader.integer(), call.s), 0}};
}

MappedList map_contiguous(const LaneOp &call) { return view_of(call, call.attrs, call.in[0].axis); }

MappedList map_depends(const LaneOp &call) {
  ValueVector in;
  for (const Mapped &x : call.in) in.push_back(x.value);
  return {{same_op(call, std::move(in)), call.in[0].axis}};
}

// The last axis scales, so it must not be that of the lanes.
MappedList map_view_dtype(const LaneOp &call) {
  const Mapped &x = call.in[0];
  if (lane_rank(x) > 0 && axes_after(x) == 0) return {{same_op(call, {lanes_first(x, call.s)}), 0}};
  return view_of(call, call.attrs, x.axis);
}

}  // namespace mx::vmap
