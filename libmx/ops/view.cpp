// View ops: inference, and the layout of the result on the input's buffer. A layout function returns false where
// strides cannot say it; it never does for a row-major input, so that a row-major copy always helps.
#include <algorithm>
#include <limits>

#include "ops/rules.hpp"

namespace mx::rules {
namespace {

bool has_elements(const Spec &spec) noexcept {
  return std::find(spec.shape.begin(), spec.shape.end(), 0) == spec.shape.end();
}

// Replaces the one -1 in `shape` by what is left of `count` elements.
Dims resolved(std::span<const int64_t> shape, int64_t count, const char *op) {
  Dims out(shape.begin(), shape.end());
  int64_t known = 1, unknown = -1;
  for (size_t i = 0; i < out.size(); i++) {
    if (out[i] == -1 && unknown < 0) {
      unknown = static_cast<int64_t>(i);
    } else if (out[i] < 0) {
      fail(MX_ERROR_SHAPE, "%s: shape %s has a negative size", op, to_string(shape).c_str());
    } else if (__builtin_mul_overflow(known, out[i], &known)) {
      fail(MX_ERROR_OVERFLOW, "%s: shape %s has too many elements", op, to_string(shape).c_str());
    }
  }
  if (unknown >= 0 && known == 0)
    fail(MX_ERROR_SHAPE, "%s: the -1 in %s can be any size", op, to_string(shape).c_str());
  if (unknown >= 0) {
    out[static_cast<size_t>(unknown)] = count / known;
    known *= count / known;
  }
  if (known != count)
    fail(MX_ERROR_SHAPE, "%s: %lld elements do not fit shape %s", op, static_cast<long long>(count),
         to_string(shape).c_str());
  return out;
}

// Lays `out.shape` over the input's memory: runs of input axes that are evenly spaced are matched with runs of output
// axes of the same number of elements. False if an output axis would cross a break.
bool reshape_layout(const Spec &in, const Layout &layout, const Spec &out, Layout &view) {
  view.offset = layout.offset;
  view.strides = row_major(out.shape, itemsize(out.dtype));
  if (!has_elements(in)) return true;
  size_t i = 0, o = 0;
  const size_t n_in = in.shape.size(), n_out = out.shape.size();
  while (i < n_in || o < n_out) {
    size_t i_end = i, o_end = o;
    int64_t n_i = 1, n_o = 1;
    if (i < n_in) n_i = in.shape[i_end++];
    if (o < n_out) n_o = out.shape[o_end++];
    while (n_i != n_o) {
      if (n_i < n_o)
        n_i *= in.shape[i_end++];
      else
        n_o *= out.shape[o_end++];
    }
    // the stride of the whole run is that of its last axis that is longer than 1
    int64_t stride = itemsize(in.dtype), expected = -1;
    for (size_t k = i_end; k-- > i;) {
      if (in.shape[k] == 1) continue;
      if (expected < 0)
        stride = layout.strides[k], expected = 1;
      else if (layout.strides[k] != stride * expected)
        return false;
      expected *= in.shape[k];
    }
    for (size_t k = o_end; k-- > o;) {
      view.strides[k] = stride;
      stride *= out.shape[k];
    }
    i = i_end, o = o_end;
  }
  return true;
}

// The place of every output axis in the input, or -1 for a new axis.
void pick(const Layout &layout, const Spec &out, std::span<const int64_t> places, Layout &view) {
  view.offset = layout.offset;
  view.strides = Dims(out.shape.size(), 0);
  for (size_t i = 0; i < places.size(); i++)
    if (places[i] >= 0) view.strides[i] = layout.strides[static_cast<size_t>(places[i])];
}

// Strides for a broadcast from `from` to `to`: 0 where the size is 1 or the axis new.
void spread(const Spec &from, const Layout &layout, const Spec &to, Layout &view) {
  view.offset = layout.offset;
  view.strides = Dims(to.shape.size(), 0);
  const size_t lead = to.shape.size() - from.shape.size();
  for (size_t i = 0; i < from.shape.size(); i++)
    if (from.shape[i] != 1 || to.shape[lead + i] == 1) view.strides[lead + i] = layout.strides[i];
}

const Spec &only(Specs in, const char *op) {
  need_inputs(in, 1, 1, op);
  return *in[0];
}

}  // namespace

void infer_reshape(const Attrs &attrs, Specs in, Outs &out) {
  const Spec &a = only(in, "reshape");
  put_spec(out, a.dtype, resolved(AttrReader(attrs).list(), element_count(a.shape), "reshape"), "reshape");
}

bool view_reshape(const Attrs &, const Spec &in, const Layout &layout, const Spec &out, Layout &view) {
  return reshape_layout(in, layout, out, view);
}

void infer_flatten(const Attrs &attrs, Specs in, Outs &out) {
  const Spec &a = only(in, "flatten");
  AttrReader reader(attrs);
  if (a.shape.empty()) return put_spec(out, a.dtype, Dims{1}, "flatten");
  const size_t start = axis_of(reader.integer(), a, "flatten"), end = axis_of(reader.integer(), a, "flatten");
  if (start > end) fail(MX_ERROR_AXIS, "flatten: start axis %zu is after end axis %zu", start, end);
  Dims shape(a.shape.begin(), a.shape.begin() + start);
  shape.push_back(element_count({a.shape.begin() + start, a.shape.begin() + end + 1}));
  for (size_t i = end + 1; i < a.shape.size(); i++) shape.push_back(a.shape[i]);
  put_spec(out, a.dtype, std::move(shape), "flatten");
}

bool view_flatten(const Attrs &, const Spec &in, const Layout &layout, const Spec &out, Layout &view) {
  return reshape_layout(in, layout, out, view);
}

void infer_unflatten(const Attrs &attrs, Specs in, Outs &out) {
  const Spec &a = only(in, "unflatten");
  AttrReader reader(attrs);
  const size_t axis = axis_of(reader.integer(), a, "unflatten");
  const std::span<const int64_t> sizes = reader.list();
  if (sizes.empty()) fail(MX_ERROR_SHAPE, "unflatten: the shape is empty");
  Dims shape(a.shape.begin(), a.shape.begin() + axis);
  for (int64_t size : resolved(sizes, a.shape[axis], "unflatten")) shape.push_back(size);
  for (size_t i = axis + 1; i < a.shape.size(); i++) shape.push_back(a.shape[i]);
  put_spec(out, a.dtype, std::move(shape), "unflatten");
}

bool view_unflatten(const Attrs &, const Spec &in, const Layout &layout, const Spec &out, Layout &view) {
  return reshape_layout(in, layout, out, view);
}

void infer_squeeze(const Attrs &attrs, Specs in, Outs &out) {
  const Spec &a = only(in, "squeeze");
  const std::span<const int64_t> axes = AttrReader(attrs).list();
  need_axes(axes, a.shape.size(), "squeeze");
  Dims shape;
  for (size_t i = 0, next = 0; i < a.shape.size(); i++) {
    if (next == axes.size() || axes[next] != static_cast<int64_t>(i)) {
      shape.push_back(a.shape[i]);
      continue;
    }
    next++;
    if (a.shape[i] != 1)
      fail(MX_ERROR_SHAPE, "squeeze: axis %zu of shape %s is not of size 1", i, to_string(a.shape).c_str());
  }
  put_spec(out, a.dtype, std::move(shape), "squeeze");
}

bool view_squeeze(const Attrs &attrs, const Spec &in, const Layout &layout, const Spec &out, Layout &view) {
  const std::span<const int64_t> axes = AttrReader(attrs).list();
  Dims places;
  for (size_t i = 0, next = 0; i < in.shape.size(); i++) {
    if (next < axes.size() && axes[next] == static_cast<int64_t>(i))
      next++;
    else
      places.push_back(static_cast<int64_t>(i));
  }
  pick(layout, out, places, view);
  return true;
}

void infer_expand_dims(const Attrs &attrs, Specs in, Outs &out) {
  const Spec &a = only(in, "expand_dims");
  const std::span<const int64_t> axes = AttrReader(attrs).list();
  const size_t rank = a.shape.size() + axes.size();
  need_axes(axes, rank, "expand_dims");
  Dims shape;
  for (size_t i = 0, next = 0, from = 0; i < rank; i++) {
    const bool fresh = next < axes.size() && axes[next] == static_cast<int64_t>(i);
    shape.push_back(fresh ? 1 : a.shape[from++]);
    next += fresh;
  }
  put_spec(out, a.dtype, std::move(shape), "expand_dims");
}

bool view_expand_dims(const Attrs &attrs, const Spec &in, const Layout &layout, const Spec &out, Layout &view) {
  const std::span<const int64_t> axes = AttrReader(attrs).list();
  Dims places;
  for (size_t i = 0, next = 0, from = 0; i < out.shape.size(); i++) {
    const bool fresh = next < axes.size() && axes[next] == static_cast<int64_t>(i);
    places.push_back(fresh ? -1 : static_cast<int64_t>(from++));
    next += fresh;
  }
  (void)in;
  pick(layout, out, places, view);
  return true;
}

void infer_transpose(const Attrs &attrs, Specs in, Outs &out) {
  const Spec &a = only(in, "transpose");
  const std::span<const int64_t> axes = AttrReader(attrs).list();
  if (axes.size() != a.shape.size())
    fail(MX_ERROR_SHAPE, "transpose: %zu axes for shape %s", axes.size(), to_string(a.shape).c_str());
  Dims shape, sorted(axes.begin(), axes.end());
  std::sort(sorted.begin(), sorted.end());
  need_axes(sorted, a.shape.size(), "transpose");
  for (int64_t axis : axes) shape.push_back(a.shape[static_cast<size_t>(axis)]);
  put_spec(out, a.dtype, std::move(shape), "transpose");
}

bool view_transpose(const Attrs &attrs, const Spec &, const Layout &layout, const Spec &out, Layout &view) {
  pick(layout, out, AttrReader(attrs).list(), view);
  return true;
}

void infer_broadcast_to(const Attrs &attrs, Specs in, Outs &out) {
  const Spec &a = only(in, "broadcast_to");
  const std::span<const int64_t> target = AttrReader(attrs).list();
  Dims shape(target.begin(), target.end());
  if (target.size() < a.shape.size())
    fail(MX_ERROR_SHAPE, "broadcast_to: shape %s cannot be broadcast to %s", to_string(a.shape).c_str(),
         to_string(target).c_str());
  const size_t lead = target.size() - a.shape.size();
  for (size_t i = lead; i < shape.size(); i++)
    if (shape[i] == -1) shape[i] = a.shape[i - lead];
  need_broadcastable(a.shape, shape, "broadcast_to");
  put_spec(out, a.dtype, std::move(shape), "broadcast_to");
}

bool view_broadcast_to(const Attrs &, const Spec &in, const Layout &layout, const Spec &out, Layout &view) {
  spread(in, layout, out, view);
  return true;
}

void infer_broadcast_like(const Attrs &, Specs in, Outs &out) {
  need_inputs(in, 1, std::numeric_limits<size_t>::max(), "broadcast_like");
  Dims shape = in[0]->shape;
  for (const Spec *other : in.subspan(1)) shape = broadcast_shapes(shape, other->shape, "broadcast_like");
  put_spec(out, in[0]->dtype, std::move(shape), "broadcast_like");
}

bool view_broadcast_like(const Attrs &, const Spec &in, const Layout &layout, const Spec &out, Layout &view) {
  spread(in, layout, out, view);
  return true;
}

void infer_slice(const Attrs &attrs, Specs in, Outs &out) {
  const Spec &a = only(in, "slice");
  AttrReader reader(attrs);
  const std::span<const int64_t> start = reader.list(), stop = reader.list(), step = reader.list();
  const size_t rank = a.shape.size();
  if (start.size() != rank || stop.size() != rank || step.size() != rank)
    fail(MX_ERROR_SHAPE, "slice: %zu, %zu, %zu numbers for shape %s", start.size(), stop.size(), step.size(),
         to_string(a.shape).c_str());
  Dims shape;
  for (size_t i = 0; i < rank; i++) {
    if (step[i] == 0) fail(MX_ERROR_INVALID_ARGUMENT, "slice: step of axis %zu is 0", i);
    shape.push_back(slice_range(start[i], stop[i], step[i], a.shape[i]).count);
  }
  put_spec(out, a.dtype, std::move(shape), "slice");
}

bool view_slice(const Attrs &attrs, const Spec &in, const Layout &layout, const Spec &, Layout &view) {
  AttrReader reader(attrs);
  const std::span<const int64_t> start = reader.list(), stop = reader.list(), step = reader.list();
  view = layout;
  for (size_t i = 0; i < in.shape.size(); i++) {
    const Range r = slice_range(start[i], stop[i], step[i], in.shape[i]);
    view.offset += r.first * layout.strides[i];
    // with one element at most the step is not used, and may be huge
    if (r.count > 1) view.strides[i] = layout.strides[i] * r.step;
  }
  return true;
}

void infer_diagonal(const Attrs &attrs, Specs in, Outs &out) {
  const Spec &a = only(in, "diagonal");
  AttrReader reader(attrs);
  const int64_t offset = reader.integer();
  const size_t row = axis_of(reader.integer(), a, "diagonal"), column = axis_of(reader.integer(), a, "diagonal");
  if (row == column) fail(MX_ERROR_AXIS, "diagonal: axis %zu is repeated", row);
  Dims shape;
  for (size_t i = 0; i < a.shape.size(); i++)
    if (i != row && i != column) shape.push_back(a.shape[i]);
  const int64_t n = offset < 0 ? std::min(std::max(a.shape[row] + offset, int64_t{0}), a.shape[column])
                               : std::min(a.shape[row], std::max(a.shape[column] - offset, int64_t{0}));
  shape.push_back(n);
  put_spec(out, a.dtype, std::move(shape), "diagonal");
}

bool view_diagonal(const Attrs &attrs, const Spec &in, const Layout &layout, const Spec &out, Layout &view) {
  AttrReader reader(attrs);
  const int64_t offset = reader.integer();
  const size_t row = static_cast<size_t>(reader.integer()), column = static_cast<size_t>(reader.integer());
  view.offset = layout.offset;
  if (has_elements(out)) view.offset += offset < 0 ? -offset * layout.strides[row] : offset * layout.strides[column];
  view.strides.clear();
  for (size_t i = 0; i < in.shape.size(); i++)
    if (i != row && i != column) view.strides.push_back(layout.strides[i]);
  view.strides.push_back(layout.strides[row] + layout.strides[column]);
  return true;
}

void infer_as_strided(const Attrs &attrs, Specs in, Outs &out) {
  const Spec &a = only(in, "as_strided");
  AttrReader reader(attrs);
  const std::span<const int64_t> shape = reader.list(), strides = reader.list();
  const int64_t offset = reader.integer();
  if (shape.size() != strides.size())
    fail(MX_ERROR_SHAPE, "as_strided: %zu strides for shape %s", strides.size(), to_string(shape).c_str());
  put_spec(out, a.dtype, Dims(shape.begin(), shape.end()), "as_strided");
  if (!has_elements(out[0])) return;
  __int128 low = offset, high = offset;
  for (size_t i = 0; i < shape.size(); i++) {
    const __int128 reach = static_cast<__int128>(shape[i] - 1) * strides[i];
    (reach < 0 ? low : high) += reach;
  }
  if (low < 0 || high >= element_count(a.shape))
    fail(MX_ERROR_SHAPE, "as_strided: shape %s with strides %s and offset %lld leaves an array of shape %s",
         to_string(shape).c_str(), to_string(strides).c_str(), static_cast<long long>(offset),
         to_string(a.shape).c_str());
}

bool view_as_strided(const Attrs &attrs, const Spec &in, const Layout &layout, const Spec &out, Layout &view) {
  const int64_t bytes = itemsize(in.dtype);
  if (!is_row_major(in.shape, layout.strides, bytes)) return false;
  AttrReader reader(attrs);
  reader.list();
  const std::span<const int64_t> strides = reader.list();
  view.offset = layout.offset;
  view.strides = row_major(out.shape, bytes);
  if (!has_elements(out)) return true;
  view.offset += reader.integer() * bytes;
  for (size_t i = 0; i < strides.size(); i++)
    if (out.shape[i] > 1) view.strides[i] = strides[i] * bytes;
  return true;
}

void infer_contiguous(const Attrs &, Specs in, Outs &out) { out.push_back(only(in, "contiguous")); }

bool view_contiguous(const Attrs &attrs, const Spec &in, const Layout &layout, const Spec &, Layout &view) {
  view = layout;
  if (is_row_major(in.shape, layout.strides, itemsize(in.dtype))) return true;
  if (!AttrReader(attrs).boolean()) return false;
  Dims shape(in.shape), strides(layout.strides);
  std::reverse(shape.begin(), shape.end());
  std::reverse(strides.begin(), strides.end());
  return is_row_major(shape, strides, itemsize(in.dtype));
}

void infer_depends(const Attrs &, Specs in, Outs &out) {
  need_inputs(in, 1, std::numeric_limits<size_t>::max(), "depends");
  out.push_back(*in[0]);
}

bool view_depends(const Attrs &, const Spec &, const Layout &layout, const Spec &, Layout &view) {
  view = layout;
  return true;
}

void infer_view_dtype(const Attrs &attrs, Specs in, Outs &out) {
  const Spec &a = only(in, "view_dtype");
  const DType d = AttrReader(attrs).dtype();
  const int64_t from = itemsize(a.dtype), to = itemsize(d);
  Dims shape = a.shape;
  if (from != to) {
    if (shape.empty()) fail(MX_ERROR_SHAPE, "view_dtype: a 0-d array of %s cannot become %s", name(a.dtype), name(d));
    int64_t bytes;
    if (__builtin_mul_overflow(shape.back(), from, &bytes)) fail(MX_ERROR_OVERFLOW, "view_dtype: too many bytes");
    if (bytes % to != 0)
      fail(MX_ERROR_SHAPE, "view_dtype: the last axis of shape %s does not divide into %s", to_string(shape).c_str(),
           name(d));
    shape.back() = bytes / to;
  }
  put_spec(out, d, std::move(shape), "view_dtype");
}

bool view_view_dtype(const Attrs &, const Spec &in, const Layout &layout, const Spec &out, Layout &view) {
  const int64_t from = itemsize(in.dtype), to = itemsize(out.dtype);
  view = layout;
  if (from == to || !has_elements(in)) {
    if (from != to) view.strides = row_major(out.shape, to);
    return true;
  }
  if (in.shape.back() != 1 && layout.strides.back() != from) return false;
  view.strides.back() = to;
  if (layout.offset % to != 0) return false;
  for (size_t i = 0; i + 1 < in.shape.size(); i++)
    if (in.shape[i] > 1 && layout.strides[i] % to != 0) return false;
  return true;
}

}  // namespace mx::rules
