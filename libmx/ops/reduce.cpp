// Reductions and scans: builders and inference rules.
#include "ops/reduce.hpp"

#include <algorithm>
#include <limits>

#include "ops/binary.hpp"
#include "ops/create.hpp"
#include "ops/index.hpp"
#include "ops/rules.hpp"
#include "ops/shape.hpp"
#include "ops/sort.hpp"
#include "ops/unary.hpp"

namespace mx::ops {
namespace {

Value reduce(OpCode op, const Value &a, List axes, bool keepdims, const StreamRef &s) {
  if (axes.empty()) return a;
  return make(op, Attrs().put(axes).put(keepdims), {a}, s);
}

// Sums and products of small integers need room.
DType summed(DType d) noexcept {
  if (d == DType::bool_) return DType::int32;
  if (!is_integer(d) || itemsize(d) >= 4) return d;
  return is_signed_integer(d) ? DType::int32 : DType::uint32;
}

// The dtype in which means and norms of `d` are computed.
DType working(DType d) noexcept { return d == DType::float64 || is_complex(d) ? d : DType::float32; }

// The number of reduced elements, as `d`.
Value count(const Value &a, List axes, DType d, const StreamRef &s) {
  return astype(number_of_elements(a, axes, false, part_dtype(d), s), d, s);
}

Value mean_over(const Value &x, List axes, bool keepdims, const StreamRef &s) {
  return divide(reduce(OpCode::sum, x, axes, keepdims, s), count(x, axes, dtype_of(x), s), s);
}

// 0 for bounds that are not finite: x - bound must not become NaN.
Value finite_or_zero(const Value &bound, const StreamRef &s) {
  return where(isfinite(bound, s), bound, scalar(0, dtype_of(bound)), s);
}

// The largest element, by real part for complex numbers; no gradient.
Value upper_bound(const Value &a, List axes, const StreamRef &s) {
  const Value bound = reduce(OpCode::max, real(a, s), axes, true, s);
  return astype(stop_gradient(bound, s), dtype_of(a), s);
}

bool reduces_nothing(const Value &a, List axes) noexcept {
  return std::any_of(axes.begin(), axes.end(),
                     [&](int64_t axis) { return shape_of(a)[static_cast<size_t>(axis)] == 0; });
}

// The given axes, which are sorted, as one at the end.
Value joined_at_end(const Value &x, List axes, const StreamRef &s) {
  Dims order;
  for (int64_t i = 0; i < static_cast<int64_t>(rank_of(x)); i++)
    if (!std::binary_search(axes.begin(), axes.end(), i)) order.push_back(i);
  const int64_t first = static_cast<int64_t>(order.size());
  for (int64_t axis : axes) order.push_back(axis);
  return flatten(transpose(x, List(order), s), first, -1, s);
}

bool is_last_axis(List axes, size_t rank) noexcept {
  return axes.size() == 1 && static_cast<size_t>(axes[0]) + 1 == rank;
}

}  // namespace

Value all(const Value &a, const Axes &axes, bool keepdims, const StreamRef &s) {
  const Dims list = sorted_axes(axes, rank_of(a), "all");
  return reduce(OpCode::all, astype(a, DType::bool_, s), list, keepdims, s);
}

Value any(const Value &a, const Axes &axes, bool keepdims, const StreamRef &s) {
  const Dims list = sorted_axes(axes, rank_of(a), "any");
  return reduce(OpCode::any, astype(a, DType::bool_, s), list, keepdims, s);
}

Value sum(const Value &a, const Axes &axes, bool keepdims, const StreamRef &s) {
  const Dims list = sorted_axes(axes, rank_of(a), "sum");
  return reduce(OpCode::sum, astype(a, summed(dtype_of(a)), s), list, keepdims, s);
}

Value prod(const Value &a, const Axes &axes, bool keepdims, const StreamRef &s) {
  const Dims list = sorted_axes(axes, rank_of(a), "prod");
  return reduce(OpCode::prod, astype(a, summed(dtype_of(a)), s), list, keepdims, s);
}

Value min(const Value &a, const Axes &axes, bool keepdims, const StreamRef &s) {
  return reduce(OpCode::min, a, sorted_axes(axes, rank_of(a), "min"), keepdims, s);
}

Value max(const Value &a, const Axes &axes, bool keepdims, const StreamRef &s) {
  return reduce(OpCode::max, a, sorted_axes(axes, rank_of(a), "max"), keepdims, s);
}

Value mean(const Value &a, const Axes &axes, bool keepdims, const StreamRef &s) {
  const Dims list = sorted_axes(axes, rank_of(a), "mean");
  const Value x = astype(a, working(dtype_of(a)), s);
  return astype(mean_over(x, list, keepdims, s), inexact(dtype_of(a)), s);
}

Value var(const Value &a, const Axes &axes, bool keepdims, int64_t ddof, const StreamRef &s) {
  const Dims list = sorted_axes(axes, rank_of(a), "var");
  const Value x = astype(a, working(dtype_of(a)), s);
  const Value away = subtract(x, mean_over(x, list, true, s), s);
  const Value squares =
      is_complex(dtype_of(x)) ? add(square(real(away, s), s), square(imag(away, s), s), s) : square(away, s);
  const DType d = dtype_of(squares);
  Value n = count(x, list, d, s);
  if (ddof != 0) n = maximum(subtract(n, scalar(static_cast<double>(ddof), d), s), scalar(0, d), s);
  const Value out = divide(reduce(OpCode::sum, squares, list, keepdims, s), n, s);
  return is_complex(dtype_of(a)) ? out : astype(out, inexact(dtype_of(a)), s);
}

Value stddev(const Value &a, const Axes &axes, bool keepdims, int64_t ddof, const StreamRef &s) {
  return sqrt(var(a, axes, keepdims, ddof, s), s);
}

Value count_nonzero(const Value &a, const Axes &axes, bool keepdims, const StreamRef &s) {
  const Dims list = sorted_axes(axes, rank_of(a), "count_nonzero");
  return reduce(OpCode::sum, astype(astype(a, DType::bool_, s), DType::int32, s), list, keepdims, s);
}

Value median(const Value &a, const Axes &axes, bool keepdims, const StreamRef &s) {
  const size_t rank = rank_of(a);
  const Dims list = sorted_axes(axes, rank, "median");
  const DType d = inexact(dtype_of(a));
  Value x = astype(a, d, s);
  if (list.empty()) return x;
  x = joined_at_end(x, list, s);
  if (shape_of(x).back() == 0)
    fail(MX_ERROR_SHAPE, "median: nothing to reduce in shape %s", to_string(shape_of(a)).c_str());
  x = sort(x, -1, false, s);
  // the middle elements by index arithmetic in the graph, which follows the shape; a NaN is sorted to the end
  const Value n = number_of_elements(x, List(Dims{-1}), false, DType::int32, s);
  const Value one = scalar(1, DType::int32), two = scalar(2, DType::int32);
  const Value low = take(x, floor_divide(subtract(n, one, s), two, s), -1, s);
  const Value high = take(x, floor_divide(n, two, s), -1, s);
  const Value last = take(x, subtract(n, one, s), -1, s);
  const Value half = scalar(0.5, d);
  const Value middle = add(multiply(low, half, s), multiply(high, half, s), s);
  const Value out = where(isnan(last, s), last, where(equal(low, high, s), low, middle, s), s);
  return keepdims ? expand_dims(out, list, s) : out;
}

Value logsumexp(const Value &a, const Axes &axes, bool keepdims, const StreamRef &s) {
  const size_t rank = rank_of(a);
  const Dims list = sorted_axes(axes, rank, "logsumexp");
  const DType d = inexact(dtype_of(a));
  const Value x = astype(a, d, s);
  if (list.empty()) return x;
  if (reduces_nothing(a, list)) {  // one more element that counts for nothing, so that there is a largest
    const Value one = joined_at_end(x, list, s), more = scalar(-std::numeric_limits<double>::infinity(), d);
    const int64_t last = static_cast<int64_t>(rank_of(one)) - 1, none = 0, width = 1;
    const Value padded = pad(one, {&last, 1}, {&none, 1}, {&width, 1}, MX_PAD_CONSTANT, more, s);
    const Value out = logsumexp(padded, List(&last, 1), false, s);
    return keepdims ? expand_dims(out, list, s) : out;
  }
  if (is_last_axis(list, rank) && !is_complex(d)) {
    const Value out = make(OpCode::logsumexp, {}, {x}, s);
    return keepdims ? out : squeeze(out, List(list), s);
  }
  const Value bound = finite_or_zero(upper_bound(x, list, s), s);
  const Value total = reduce(OpCode::sum, exp(subtract(x, bound, s), s), list, true, s);
  const Value out = add(log(total, s), bound, s);
  return keepdims ? out : squeeze(out, List(list), s);
}

Value softmax(const Value &a, const Axes &axes, bool precise, const StreamRef &s) {
  const size_t rank = rank_of(a);
  const Dims list = sorted_axes(axes, rank, "softmax");
  const DType d = inexact(dtype_of(a));
  const Value x = astype(a, d, s);
  if (list.empty()) return ones_like(x, d, s);
  if (is_last_axis(list, rank) && !is_complex(d)) return make(OpCode::softmax, Attrs().put(precise), {x}, s);
  const Value wide = precise ? astype(x, working(d), s) : x;
  // Nothing has no upper bound, and needs none; the rest stays, so that the graph can be replayed on other sizes.
  const Value e = exp(reduces_nothing(a, list) ? wide : subtract(wide, upper_bound(wide, list, s), s), s);
  return astype(divide(e, reduce(OpCode::sum, e, list, true, s), s), d, s);
}

Value arg_reduce(bool is_max, const Value &a, int64_t axis, bool keepdims, const StreamRef &s) {
  const bool flat = axis == MX_NO_AXIS;
  const Value x = flat ? flatten(a, 0, -1, s) : a;
  const int64_t at = normalize_axis(flat ? 0 : axis, rank_of(x), is_max ? "argmax" : "argmin");
  const Value out = make(OpCode::arg_reduce, Attrs().put(is_max).put(at), {x}, s);
  if (keepdims && !flat) return out;
  const Value index = squeeze(out, List(Dims{at}), s);
  return keepdims ? expand_dims(index, iota(rank_of(a)), s) : index;
}

Value scan(ScanKind kind, const Value &a, int64_t axis, bool reverse, bool inclusive, const StreamRef &s) {
  const bool flat = axis == MX_NO_AXIS;
  Value x = flat ? flatten(a, 0, -1, s) : a;
  const DType d = dtype_of(x);
  const int64_t at = normalize_axis(flat ? 0 : axis, rank_of(x), "scan");
  DType work = d;
  if (d == DType::bool_) work = kind == ScanKind::sum ? DType::int32 : DType::uint8;
  if (kind == ScanKind::logaddexp) work = inexact(d);
  x = make(OpCode::scan, Attrs().put(static_cast<int64_t>(kind)).put(at).put(reverse).put(inclusive),
           {astype(x, work, s)}, s);
  return work == DType::uint8 ? astype(x, d, s) : x;
}

Value diff(const Value &a, int64_t n, int64_t axis, const StreamRef &s) {
  if (n < 0) fail(MX_ERROR_INVALID_ARGUMENT, "diff: n is %lld", static_cast<long long>(n));
  const size_t at = axis_at(axis, rank_of(a), "diff");
  Value x = a;
  for (int64_t i = 0; i < n && shape_of(x)[at] != 0; i++) {
    const Value later = slice_axis(x, at, 1, INT64_MAX, 1, s), earlier = slice_axis(x, at, 0, -1, 1, s);
    x = dtype_of(x) == DType::bool_ ? not_equal(later, earlier, s) : subtract(later, earlier, s);
  }
  return x;
}

}  // namespace mx::ops

namespace mx::rules {
namespace {

size_t reduce(const Attrs &attrs, Specs in, Outs &out, const char *op) {
  need_inputs(in, 1, 1, op);
  AttrReader reader(attrs);
  const std::span<const int64_t> axes = reader.list();
  const bool keepdims = reader.boolean();
  need_axes(axes, in[0]->shape.size(), op);
  Dims shape;
  size_t n = 1, next = 0;
  for (size_t i = 0; i < in[0]->shape.size(); i++) {
    const bool reduced = next < axes.size() && axes[next] == static_cast<int64_t>(i);
    if (reduced) next++;
    if (reduced && in[0]->shape[i] == 0) n = 0;
    if (!reduced || keepdims) shape.push_back(reduced ? 1 : in[0]->shape[i]);
  }
  put_spec(out, in[0]->dtype, std::move(shape), op);
  return n;
}

void need_elements(bool any, Specs in, const char *op) {
  if (!any) fail(MX_ERROR_SHAPE, "%s: nothing to reduce in shape %s", op, to_string(in[0]->shape).c_str());
}

void extremum(const Attrs &attrs, Specs in, Outs &out, const char *op) {
  const size_t n = reduce(attrs, in, out, op);
  need_elements(n != 0, in, op);
}

void logical(const Attrs &attrs, Specs in, Outs &out, const char *op) {
  reduce(attrs, in, out, op);
  need_dtype(in[0]->dtype == DType::bool_, in[0]->dtype, op, "bool");
}

void total(const Attrs &attrs, Specs in, Outs &out, const char *op) {
  reduce(attrs, in, out, op);
  need_dtype(in[0]->dtype != DType::bool_, in[0]->dtype, op, "numbers");
}

}  // namespace

#define REDUCE(name, rule) \
  void infer_##name(const Attrs &attrs, Specs in, Outs &out) { rule(attrs, in, out, #name); }
REDUCE(sum, total)
REDUCE(prod, total)
REDUCE(min, extremum)
REDUCE(max, extremum)
REDUCE(all, logical)
REDUCE(any, logical)

void infer_softmax(const Attrs &, Specs in, Outs &out) {
  need_inputs(in, 1, 1, "softmax");
  need_dtype(is_floating(in[0]->dtype), in[0]->dtype, "softmax", "floating dtypes");
  axis_of(static_cast<int64_t>(in[0]->shape.size()) - 1, *in[0], "softmax");
  out.push_back(*in[0]);
}

void infer_logsumexp(const Attrs &, Specs in, Outs &out) {
  need_inputs(in, 1, 1, "logsumexp");
  need_dtype(is_floating(in[0]->dtype), in[0]->dtype, "logsumexp", "floating dtypes");
  axis_of(static_cast<int64_t>(in[0]->shape.size()) - 1, *in[0], "logsumexp");
  need_elements(in[0]->shape.back() != 0, in, "logsumexp");
  out.push_back(*in[0]);
  out[0].shape.back() = 1;
}

void infer_scan(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 1, 1, "scan");
  AttrReader reader(attrs);
  const int64_t kind = reader.integer();
  if (kind < 0 || kind > static_cast<int64_t>(ScanKind::logaddexp))
    fail(MX_ERROR_INVALID_ARGUMENT, "scan: no kind %lld", static_cast<long long>(kind));
  axis_of(reader.integer(), *in[0], "scan");
  need_dtype(in[0]->dtype != DType::bool_, in[0]->dtype, "scan", "numbers");
  if (kind == static_cast<int64_t>(ScanKind::logaddexp))
    need_dtype(is_inexact(in[0]->dtype), in[0]->dtype, "logcumsumexp", "floating and complex dtypes");
  out.push_back(*in[0]);
}

void infer_arg_reduce(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 1, 1, "arg_reduce");
  AttrReader reader(attrs);
  const char *op = reader.boolean() ? "argmax" : "argmin";
  const size_t axis = axis_of(reader.integer(), *in[0], op);
  need_elements(in[0]->shape[axis] != 0, in, op);
  Dims shape = in[0]->shape;
  shape[axis] = 1;
  put_spec(out, DType::uint32, std::move(shape), op);
}

}  // namespace mx::rules
