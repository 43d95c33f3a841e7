// Rules of gathers, scatters and slices whose place is an array. Where the places differ between the lanes and so does
// the array, the number of the lane becomes one more index.
#include <algorithm>
#include <limits>

#include "ops/binary.hpp"
#include "ops/create.hpp"
#include "ops/index.hpp"
#include "ops/reduce.hpp"
#include "ops/unary.hpp"
#include "transforms/vmap_rules.hpp"

namespace mx::vmap {
namespace {

bool any_differs(std::span<const Mapped> xs) noexcept {
  return std::any_of(xs.begin(), xs.end(), [](const Mapped &x) { return x.differs(); });
}

// A dtype for the given indices that also holds the number of every lane.
DType with_lane_numbers(DType d) noexcept { return itemsize(d) < 4 ? DType::int32 : d; }

// The numbers of the lanes, then the indices: with lanes first, `rank` axes behind them.
ValueVector with_lanes(std::span<const Mapped> indices, size_t rank, const LaneOp &call) {
  const DType d = with_lane_numbers(ops::dtype_of(indices[0].value));
  Dims rest = ops::iota(rank + 1);
  rest.erase(0);
  ValueVector out{ops::expand_dims(call.lanes.numbers(d, call.s), rest, call.s)};
  for (const Mapped &index : indices) out.push_back(ops::astype(aligned(index, rank, call.s), d, call.s));
  return out;
}

// The axes that such indices are for, in an array that has the lanes first.
Dims with_lanes(List axes) { return inserted(shifted(axes, 0), 0, 0); }

ValueVector joined(Value x, std::span<const Value> more) {
  ValueVector out{std::move(x)};
  for (const Value &y : more) out.push_back(y);
  return out;
}

// Slices of one array at places that differ.
Mapped gather_at(const Value &x, std::span<const Mapped> indices, List axes, List sizes, size_t rank,
                 const LaneOp &call) {
  const Alignment to = alignment_of(indices);
  ValueVector in{x};
  for (const Mapped &index : indices) in.push_back(aligned(index, to.after, call.s));
  const Value out = make(OpCode::gather, Attrs().put(axes).put(sizes), std::move(in), call.s);
  return {out, static_cast<int64_t>(rank - to.after)};
}

// Slices at places that differ, each from its lane's array.
Mapped gather_from_lanes(const Value &lanes_first, std::span<const Mapped> indices, List axes, List sizes, size_t rank,
                         const LaneOp &call) {
  Attrs attrs;
  attrs.put(List(with_lanes(axes))).put(List(inserted(sizes, 0, 1)));
  const Value out =
      make(OpCode::gather, std::move(attrs), joined(lanes_first, with_lanes(indices, rank, call)), call.s);
  return {ops::squeeze(out, List(Dims{static_cast<int64_t>(rank) + 1}), call.s), 0};
}

// Slices of the updates' shape put at places that differ.
Mapped scatter_to_lanes(const Mapped &x, const Mapped &updates, std::span<const Mapped> indices, List axes,
                        int64_t mode, const LaneOp &call) {
  const size_t rank = lane_rank(updates) - lane_rank(x);
  const Value slices =
      ops::expand_dims(lanes_at(updates, 0, call.lanes, call.s), Dims{static_cast<int64_t>(rank) + 1}, call.s);
  ValueVector in{lanes_at(x, 0, call.lanes, call.s), slices};
  for (Value &index : with_lanes(indices, rank, call)) in.push_back(std::move(index));
  return {make(OpCode::scatter, Attrs().put(List(with_lanes(axes))).put(mode), std::move(in), call.s), 0};
}

// Where each slice begins along each axis: the elements of a 1-d start, clipped so that slices of these sizes fit.
MappedList clipped_starts(const Mapped &start, const Mapped &x, List axes, List sizes, const LaneOp &call) {
  const Value all = ops::astype(lanes_first(start, call.s), DType::int64, call.s);
  const Dims shape = lane_spec(x).shape;
  MappedList out;
  for (size_t i = 0; i < axes.size(); i++) {
    const size_t axis = static_cast<size_t>(axes[i]);
    const int64_t at = static_cast<int64_t>(i), size = sizes[axis] == -1 ? shape[axis] : sizes[axis];
    const Value one = ops::squeeze(ops::slice_axis(all, 1, at, at + 1, 1, call.s), List(Dims{1}), call.s);
    const Value low = ops::constant({MX_SCALAR_INT, 0, 0, 0}, DType::int64);
    const Value high = ops::constant({MX_SCALAR_INT, shape[axis] - size, 0, 0}, DType::int64);
    out.push_back({ops::astype(ops::clip(one, &low, &high, call.s), DType::int32, call.s), 0});
  }
  return out;
}

// A start of no axes says nothing, whichever lane it is from.
Value no_start(const StreamRef &s) { return ops::zeros(Dims{0}, DType::int32, s); }

}  // namespace

MappedList map_gather(const LaneOp &call) {
  const Mapped &x = call.in[0];
  const std::span<const Mapped> indices = call.in.subspan(1);
  AttrReader reader(call.attrs);
  const List axes = reader.list(), sizes = reader.list();
  size_t rank = 0;
  for (const Mapped &index : indices) rank = std::max(rank, lane_rank(index));
  if (any_differs(indices))
    return {x.differs() ? gather_from_lanes(lanes_first(x, call.s), indices, axes, sizes, rank, call)
                        : gather_at(x.value, indices, axes, sizes, rank, call)};
  ValueVector in{x.value};
  for (const Mapped &index : indices) in.push_back(index.value);
  Attrs attrs;
  attrs.put(List(shifted(axes, x.axis))).put(List(inserted(sizes, x.axis, -1)));
  return {{make(call.op, std::move(attrs), std::move(in), call.s), static_cast<int64_t>(rank) + x.axis}};
}

MappedList map_scatter(const LaneOp &call) {
  const Mapped &x = call.in[0], &updates = call.in[1];
  const std::span<const Mapped> indices = call.in.subspan(2);
  AttrReader reader(call.attrs);
  const List axes = reader.list();
  const int64_t mode = reader.integer();
  if (any_differs(indices)) return {scatter_to_lanes(x, updates, indices, axes, mode, call)};
  const int64_t axis = x.differs() ? x.axis : 0;
  const int64_t rank = static_cast<int64_t>(lane_rank(updates) - lane_rank(x));
  ValueVector in{lanes_at(x, axis, call.lanes, call.s), lanes_at(updates, rank + axis, call.lanes, call.s)};
  for (const Mapped &index : indices) in.push_back(index.value);
  return {{make(call.op, Attrs().put(List(shifted(axes, axis))).put(mode), std::move(in), call.s), axis}};
}

// The other axes broadcast, so an array that all lanes share gets an axis of size 1.
MappedList map_gather_axis(const LaneOp &call) {
  const int64_t axis = common_axis(call.in), at = AttrReader(call.attrs).integer();
  ValueVector in;
  for (const Mapped &x : call.in)
    in.push_back(x.differs() ? ops::moveaxis(x.value, x.axis, axis, call.s)
                             : ops::expand_dims(x.value, Dims{axis}, call.s));
  return {{make(call.op, Attrs().put(shifted(at, axis)), std::move(in), call.s), axis}};
}

MappedList map_scatter_axis(const LaneOp &call) {
  AttrReader reader(call.attrs);
  const int64_t axis = common_axis(call.in), at = shifted(reader.integer(), axis);
  ValueVector in;
  for (const Mapped &x : call.in) in.push_back(lanes_at(x, axis, call.lanes, call.s));
  return {{make(call.op, Attrs().put(at).put(reader.integer()), std::move(in), call.s), axis}};
}

MappedList map_slice_update(const LaneOp &call) {
  const Mapped &x = call.in[0];
  const int64_t axis = x.differs() ? x.axis : 0;
  AttrReader reader(call.attrs);
  Attrs attrs;
  attrs.put(List(inserted(reader.list(), axis, 0)));
  attrs.put(List(inserted(reader.list(), axis, std::numeric_limits<int64_t>::max())));
  attrs.put(List(inserted(reader.list(), axis, 1))).put(reader.integer());
  const size_t after = lane_rank(x) - static_cast<size_t>(axis);
  ValueVector in{lanes_at(x, axis, call.lanes, call.s), aligned(call.in[1], after, call.s)};
  return {{make(call.op, std::move(attrs), std::move(in), call.s), axis}};
}

// Each lane begins with the first value again: which one an element takes is counted lane by lane and gathered.
MappedList map_masked_scatter(const LaneOp &call) {
  const StreamRef &s = call.s;
  const Mapped &x = call.in[0], &mask = call.in[1], &values = call.in[2];
  const Dims shape = lane_spec(x).shape;
  const size_t n_mask = lane_rank(mask);
  const int64_t places = element_count(List(shape).first(n_mask));
  const int64_t block = element_count(List(shape).subspan(n_mask));
  const int64_t available = block ? lane_spec(values).shape[0] / block : 0;
  if (available == 0 || places == 0) return {x};
  const int64_t lanes = call.lanes.count();
  const auto with_lanes = [&](const Mapped &y) {
    return y.differs() ? lanes_first(y, s) : ops::expand_dims(y.value, Dims{0}, s);
  };
  const Value set = ops::reshape(with_lanes(mask), Dims{mask.differs() ? lanes : 1, places, 1}, s);
  const DType d = places <= INT32_MAX / block ? DType::int32 : DType::int64;
  const auto number = [&](int64_t i) { return ops::constant({MX_SCALAR_INT, i, 0, 0}, d); };
  const Value before = ops::scan(ScanKind::sum, ops::astype(set, d, s), 1, false, false, s);
  const Value taken = ops::logical_and(set, ops::less(before, number(available), s), s);
  const Value first = ops::multiply(ops::minimum(before, number(available - 1), s), number(block), s);
  const Value index = ops::flatten(ops::add(first, ops::arange(block, d, s), s), 1, 2, s);
  const Value found = ops::take_along_axis(with_lanes(values), index, 1, s);
  const Value blocks = ops::unflatten(found, 1, Dims{places, block}, s);
  const Value old = ops::reshape(lanes_at(x, 0, call.lanes, s), Dims{lanes, places, block}, s);
  return {{ops::reshape(ops::where(taken, blocks, old, s), inserted(shape, 0, lanes), s), 0}};
}

MappedList map_dynamic_slice(const LaneOp &call) {
  const Mapped &x = call.in[0], &start = call.in[1];
  AttrReader reader(call.attrs);
  const List axes = reader.list(), sizes = reader.list();
  if (start.differs() && !axes.empty()) {
    const MappedList starts = clipped_starts(start, x, axes, sizes, call);
    return {x.differs() ? gather_from_lanes(lanes_first(x, call.s), starts, axes, sizes, 0, call)
                        : gather_at(x.value, starts, axes, sizes, 0, call)};
  }
  const Value place = start.differs() ? no_start(call.s) : start.value;
  if (!x.differs()) return {{same_op(call, {x.value, place}), -1}};
  Attrs attrs;
  attrs.put(List(shifted(axes, x.axis))).put(List(inserted(sizes, x.axis, -1)));
  return {{make(call.op, std::move(attrs), {x.value, place}, call.s), x.axis}};
}

MappedList map_dynamic_slice_update(const LaneOp &call) {
  const Mapped &x = call.in[0], &update = call.in[1], &start = call.in[2];
  const List axes = AttrReader(call.attrs).list();
  if (start.differs() && !axes.empty()) {
    const MappedList starts = clipped_starts(start, x, axes, lane_spec(update).shape, call);
    return {scatter_to_lanes(x, update, starts, axes, static_cast<int64_t>(ScatterMode::assign), call)};
  }
  const Value place = start.differs() ? no_start(call.s) : start.value;
  if (!x.differs() && !update.differs()) return {{same_op(call, {x.value, update.value, place}), -1}};
  const int64_t axis = x.differs() ? x.axis : 0;
  ValueVector in{lanes_at(x, axis, call.lanes, call.s), lanes_at(update, axis, call.lanes, call.s), place};
  return {{make(call.op, Attrs().put(List(shifted(axes, axis))), std::move(in), call.s), axis}};
}

MappedList map_searchsorted(const LaneOp &call) {
  if (!call.in[0].differs()) return {{same_op(call, {call.in[0].value, call.in[1].value}), call.in[1].axis}};
  return map_leading(call);
}

}  // namespace mx::vmap
