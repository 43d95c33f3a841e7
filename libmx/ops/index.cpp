// Slices, gathers and scatters: builders and inference rules (the layout of a slice is in view.cpp).
#include "ops/index.hpp"

#include <limits>

#include "ops/create.hpp"
#include "ops/rules.hpp"
#include "ops/shape.hpp"
#include "ops/traced.hpp"
#include "ops/unary.hpp"

namespace mx::ops {
namespace {

// Casts indices to one integer type. Throws DTYPE for others.
ValueList one_index_dtype(Values indices, const char *op, const StreamRef &s) {
  ValueList out;
  DType d = DType::bool_;
  for (const Value &index : indices) {
    if (!is_integer(dtype_of(index))) bad_dtype(op, dtype_of(index), "integers as indices");
    d = promote(d, dtype_of(index));
  }
  if (is_floating(d)) d = DType::int64;  // uint64 beside signed indices
  for (const Value &index : indices) out.push_back(astype(index, d, s));
  return out;
}

Value one_index(const Value &index, const char *op, const StreamRef &s) {
  return one_index_dtype(Values(&index, 1), op, s)[0];
}

bool covers_all(const Value &a, List start, List stop, List step) {
  const Dims &shape = shape_of(a);
  for (size_t i = 0; i < shape.size(); i++) {
    const bool to_end = stop[i] == std::numeric_limits<int64_t>::max();
    if (start[i] != 0 || step[i] != 1 || !(to_end || (!follows_shapes(a) && stop[i] >= shape[i]))) return false;
  }
  return true;
}

// Copies of `x` along axes where it has size 1 and `other` more; `axis` is left alone.
Value widened(const Value &x, const Value &other, size_t axis, const StreamRef &s) {
  Dims shape(rank_of(x), -1);
  for (size_t i = 0; i < shape.size(); i++)
    if (i != axis && shape_of(x)[i] == 1 && shape_of(other)[i] != 1) shape[i] = shape_of(other)[i];
  return broadcast_to(x, shape, s);
}

void need_same_rank(const Value &a, const Value &indices, const char *op) {
  if (rank_of(a) != rank_of(indices))
    fail(MX_ERROR_SHAPE, "%s: indices of shape %s for an array of shape %s", op, to_string(shape_of(indices)).c_str(),
         to_string(shape_of(a)).c_str());
}

}  // namespace

Value slice(const Value &a, List start, List stop, List step, const StreamRef &s) {
  const size_t rank = rank_of(a);
  if (start.size() == rank && stop.size() == rank && step.size() == rank && covers_all(a, start, stop, step)) return a;
  return make(OpCode::slice, Attrs().put(start).put(stop).put(step), {a}, s);
}

Value slice_axis(const Value &a, size_t axis, int64_t start, int64_t stop, int64_t step, const StreamRef &s) {
  Dims starts(rank_of(a), 0), stops(rank_of(a), std::numeric_limits<int64_t>::max()), steps(rank_of(a), 1);
  starts[axis] = start, stops[axis] = stop, steps[axis] = step;
  return slice(a, starts, stops, steps, s);
}

Value slice_update(const Value &a, const Value &update, List start, List stop, List step, ScatterMode mode,
                   const StreamRef &s) {
  Attrs attrs;
  attrs.put(start).put(stop).put(step).put(static_cast<int64_t>(mode));
  return make(OpCode::slice_update, std::move(attrs), {a, astype(update, dtype_of(a), s)}, s);
}

Value dynamic_slice(const Value &a, const Value &start, List axes, List sizes, const StreamRef &s) {
  const Dims places = distinct_axes(axes, rank_of(a), "dynamic_slice");
  return make(OpCode::dynamic_slice, Attrs().put(List(places)).put(sizes), {a, one_index(start, "dynamic_slice", s)},
              s);
}

Value dynamic_slice_update(const Value &a, const Value &update, const Value &start, List axes, const StreamRef &s) {
  const Dims places = distinct_axes(axes, rank_of(a), "dynamic_slice_update");
  return make(OpCode::dynamic_slice_update, Attrs().put(List(places)),
              {a, astype(update, dtype_of(a), s), one_index(start, "dynamic_slice_update", s)}, s);
}

Value gather(const Value &a, Values indices, List axes, List sizes, const StreamRef &s) {
  const Dims places = distinct_axes(axes, rank_of(a), "gather");
  SmallVector<Value, 2> inputs{a};
  for (const Value &index : one_index_dtype(indices, "gather", s)) inputs.push_back(index);
  return make(OpCode::gather, Attrs().put(List(places)).put(sizes), std::move(inputs), s);
}

Value scatter(const Value &a, Values indices, const Value &updates, List axes, ScatterMode mode, const StreamRef &s) {
  const Dims places = distinct_axes(axes, rank_of(a), "scatter");
  SmallVector<Value, 2> inputs{a, astype(updates, dtype_of(a), s)};
  for (const Value &index : one_index_dtype(indices, "scatter", s)) inputs.push_back(index);
  return make(OpCode::scatter, Attrs().put(List(places)).put(static_cast<int64_t>(mode)), std::move(inputs), s);
}

Value take(const Value &a, const Value &indices, int64_t axis, const StreamRef &s) {
  const Value x = axis == MX_NO_AXIS ? flatten(a, 0, -1, s) : a;
  const int64_t at = normalize_axis(axis == MX_NO_AXIS ? 0 : axis, rank_of(x), "take");
  if (shape_of(x)[static_cast<size_t>(at)] == 0 && element_count(shape_of(indices)) != 0)
    fail(MX_ERROR_SHAPE, "take: axis %lld of shape %s has no elements, but there are indices",
         static_cast<long long>(at), to_string(shape_of(x)).c_str());
  Dims sizes(rank_of(x), -1);
  sizes[static_cast<size_t>(at)] = 1;
  const int64_t n = static_cast<int64_t>(rank_of(indices));
  const Value found = squeeze(gather(x, Values(&indices, 1), Dims{at}, sizes, s), List(Dims{n + at}), s);
  Dims order;  // the axes of the indices move to where the axis was
  for (int64_t i = 0; i < at; i++) order.push_back(n + i);
  for (int64_t i = 0; i < n; i++) order.push_back(i);
  for (int64_t i = n + at; i < static_cast<int64_t>(rank_of(found)); i++) order.push_back(i);
  return transpose(found, List(order), s);
}

Value take_along_axis(const Value &a, const Value &indices, int64_t axis, const StreamRef &s) {
  const Value x = axis == MX_NO_AXIS ? flatten(a, 0, -1, s) : a;
  need_same_rank(x, indices, "take_along_axis");
  const size_t at = axis_at(axis == MX_NO_AXIS ? 0 : axis, rank_of(x), "take_along_axis");
  const Value index = one_index(indices, "take_along_axis", s);
  return make(OpCode::gather_axis, Attrs().put(static_cast<int64_t>(at)), {widened(x, index, at, s), index}, s);
}

Value scatter_along_axis(const Value &a, const Value &indices, const Value &values, int64_t axis, ScatterMode mode,
                         const StreamRef &s) {
  if (axis == MX_NO_AXIS) {
    const Value flat = scatter_along_axis(flatten(a, 0, -1, s), indices, values, 0, mode, s);
    return rank_of(a) == 1 ? flat : reshape(flat, shape_of(a), s);
  }
  need_same_rank(a, indices, "put_along_axis");
  const size_t at = axis_at(axis, rank_of(a), "put_along_axis");
  const Value index = widened(one_index(indices, "put_along_axis", s), a, at, s);
  rules::need_broadcastable(shape_of(values), shape_of(index), "put_along_axis");
  const Value update = broadcast_like(astype(values, dtype_of(a), s), index, s);
  Attrs attrs;
  attrs.put(static_cast<int64_t>(at)).put(static_cast<int64_t>(mode));
  return make(OpCode::scatter_axis, std::move(attrs), {a, index, update}, s);
}

Value masked_scatter(const Value &a, const Value &mask, const Value &values, const StreamRef &s) {
  const Value list = flatten(astype(values, dtype_of(a), s), 0, -1, s);
  return make(OpCode::masked_scatter, {}, {a, astype(mask, DType::bool_, s), list}, s);
}

}  // namespace mx::ops

namespace mx::rules {
namespace {

void need_mode(int64_t mode, const char *op) {
  if (mode < 0 || mode > static_cast<int64_t>(ScatterMode::minimum))
    fail(MX_ERROR_INVALID_ARGUMENT, "%s: no mode %lld", op, static_cast<long long>(mode));
}

void need_index_dtype(const Spec &index, const char *op) {
  need_dtype(is_integer(index.dtype), index.dtype, op, "integers as indices");
}

void need_distinct_axes(std::span<const int64_t> axes, const Spec &a, const char *op) {
  uint64_t seen = 0;
  for (int64_t axis : axes) {
    const uint64_t bit = uint64_t{1} << axis_of(axis, a, op);
    if (seen & bit) fail(MX_ERROR_AXIS, "%s: axis %lld is repeated", op, static_cast<long long>(axis));
    seen |= bit;
  }
}

// -1 becomes the whole axis. Throws SHAPE unless the slice fits; `anything` is false when no slice is taken.
Dims slice_sizes(std::span<const int64_t> sizes, const Spec &a, bool anything, const char *op) {
  if (sizes.size() != a.shape.size())
    fail(MX_ERROR_SHAPE, "%s: slice sizes %s for shape %s", op, to_string(sizes).c_str(), to_string(a.shape).c_str());
  Dims out(sizes.begin(), sizes.end());
  for (size_t i = 0; i < out.size(); i++) {
    if (out[i] == -1) out[i] = a.shape[i];
    if (out[i] < 0 || (anything && out[i] > a.shape[i]))
      fail(MX_ERROR_SHAPE, "%s: a slice of sizes %s does not fit into shape %s", op, to_string(sizes).c_str(),
           to_string(a.shape).c_str());
  }
  return out;
}

// The joint shape of the indices from input `first` on.
Dims index_shape(Specs in, size_t first, const char *op) {
  need_same_dtype(in, first, op);
  Dims shape;
  for (const Spec *index : in.subspan(first)) {
    need_index_dtype(*index, op);
    shape = broadcast_shapes(shape, index->shape, op);
  }
  return shape;
}

void need_start(const Spec &start, size_t n_axes, const char *op) {
  need_index_dtype(start, op);
  if (start.shape.size() != 1 || start.shape[0] != static_cast<int64_t>(n_axes))
    fail(MX_ERROR_SHAPE, "%s: start has shape %s for %zu axes", op, to_string(start.shape).c_str(), n_axes);
}

}  // namespace

void infer_slice_update(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 2, 2, "slice_update");
  need_same_dtype(in, 0, "slice_update");
  AttrReader reader(attrs);
  for (int skipped = 0; skipped < 3; skipped++) reader.list();  // start, stop and step: infer_slice looks at them
  need_mode(reader.integer(), "slice_update");
  Outs window;
  infer_slice(attrs, in.first(1), window);
  need_broadcastable(in[1]->shape, window[0].shape, "slice_update");
  out.push_back(*in[0]);
}

void infer_dynamic_slice(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 2, 2, "dynamic_slice");
  AttrReader reader(attrs);
  const std::span<const int64_t> axes = reader.list(), sizes = reader.list();
  need_distinct_axes(axes, *in[0], "dynamic_slice");
  need_start(*in[1], axes.size(), "dynamic_slice");
  put_spec(out, in[0]->dtype, slice_sizes(sizes, *in[0], true, "dynamic_slice"), "dynamic_slice");
}

void infer_dynamic_slice_update(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 3, 3, "dynamic_slice_update");
  need_same_dtype(in.first(2), 0, "dynamic_slice_update");
  const std::span<const int64_t> axes = AttrReader(attrs).list();
  need_distinct_axes(axes, *in[0], "dynamic_slice_update");
  need_start(*in[2], axes.size(), "dynamic_slice_update");
  slice_sizes(in[1]->shape, *in[0], true, "dynamic_slice_update");
  out.push_back(*in[0]);
}

void infer_gather(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 1, size_t{MX_MAX_DIMS} + 1, "gather");
  AttrReader reader(attrs);
  const std::span<const int64_t> axes = reader.list(), sizes = reader.list();
  if (axes.size() + 1 != in.size())
    fail(MX_ERROR_INVALID_ARGUMENT, "gather: %zu axes for %zu indices", axes.size(), in.size() - 1);
  need_distinct_axes(axes, *in[0], "gather");
  Dims shape = index_shape(in, 1, "gather");
  for (int64_t size : slice_sizes(sizes, *in[0], element_count(shape) != 0, "gather")) shape.push_back(size);
  put_spec(out, in[0]->dtype, std::move(shape), "gather");
}

void infer_scatter(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 2, size_t{MX_MAX_DIMS} + 2, "scatter");
  AttrReader reader(attrs);
  const std::span<const int64_t> axes = reader.list();
  need_mode(reader.integer(), "scatter");
  if (axes.size() + 2 != in.size())
    fail(MX_ERROR_INVALID_ARGUMENT, "scatter: %zu axes for %zu indices", axes.size(), in.size() - 2);
  need_distinct_axes(axes, *in[0], "scatter");
  need_same_dtype(in.first(2), 0, "scatter");
  const Dims places = index_shape(in, 2, "scatter"), &updates = in[1]->shape;
  const size_t n = places.size();
  if (updates.size() != n + in[0]->shape.size() || !std::equal(places.begin(), places.end(), updates.begin()))
    fail(MX_ERROR_SHAPE, "scatter: updates of shape %s for indices of shape %s and an array of shape %s",
         to_string(updates).c_str(), to_string(places).c_str(), to_string(in[0]->shape).c_str());
  slice_sizes({updates.begin() + n, updates.end()}, *in[0], element_count(places) != 0, "scatter");
  out.push_back(*in[0]);
}

void infer_gather_axis(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 2, 2, "take_along_axis");
  const size_t axis = axis_of(AttrReader(attrs).integer(), *in[0], "take_along_axis");
  need_index_dtype(*in[1], "take_along_axis");
  Dims a = in[0]->shape, shape = in[1]->shape;
  if (a.size() != shape.size())
    fail(MX_ERROR_SHAPE, "take_along_axis: indices of shape %s for an array of shape %s", to_string(shape).c_str(),
         to_string(a).c_str());
  const int64_t n = shape[axis];
  if (a[axis] == 0 && element_count(shape) != 0)
    fail(MX_ERROR_INDEX, "take_along_axis: axis %zu of shape %s has no elements", axis, to_string(a).c_str());
  a[axis] = shape[axis] = 1;
  shape = broadcast_shapes(a, shape, "take_along_axis");
  shape[axis] = n;
  put_spec(out, in[0]->dtype, std::move(shape), "take_along_axis");
}

void infer_scatter_axis(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 3, 3, "put_along_axis");
  AttrReader reader(attrs);
  const size_t axis = axis_of(reader.integer(), *in[0], "put_along_axis");
  need_mode(reader.integer(), "put_along_axis");
  need_index_dtype(*in[1], "put_along_axis");
  const Spec *const values[] = {in[0], in[2]};
  need_same_dtype(values, 0, "put_along_axis");
  const Dims &a = in[0]->shape, &shape = in[1]->shape;
  bool fits = a.size() == shape.size() && in[2]->shape == shape;
  for (size_t i = 0; fits && i < a.size(); i++) fits = i == axis || shape[i] == a[i];
  if (!fits)
    fail(MX_ERROR_SHAPE, "put_along_axis: indices of shape %s and values of shape %s for an array of shape %s",
         to_string(shape).c_str(), to_string(in[2]->shape).c_str(), to_string(a).c_str());
  if (a[axis] == 0 && element_count(shape) != 0)
    fail(MX_ERROR_INDEX, "put_along_axis: axis %zu of shape %s has no elements", axis, to_string(a).c_str());
  out.push_back(*in[0]);
}

void infer_masked_scatter(const Attrs &, Specs in, Outs &out) {
  need_inputs(in, 3, 3, "masked_scatter");
  const Dims &a = in[0]->shape, &mask = in[1]->shape;
  need_dtype(in[1]->dtype == DType::bool_, in[1]->dtype, "masked_scatter", "bool as a mask");
  const Spec *const values[] = {in[0], in[2]};
  need_same_dtype(values, 0, "masked_scatter");
  if (mask.size() > a.size() || !std::equal(mask.begin(), mask.end(), a.begin()) || in[2]->shape.size() != 1)
    fail(MX_ERROR_SHAPE, "masked_scatter: a mask of shape %s for an array of shape %s", to_string(mask).c_str(),
         to_string(a).c_str());
  out.push_back(*in[0]);
}

}  // namespace mx::rules
