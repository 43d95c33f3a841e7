// Axis lists for the builders, and the checks that the inference rules share.
#include "ops/build.hpp"

#include <algorithm>

#include "ops/rules.hpp"

namespace mx::ops {

Dims iota(size_t n) {
  Dims out(n);
  for (size_t i = 0; i < n; i++) out[i] = static_cast<int64_t>(i);
  return out;
}

Dims distinct_axes(List axes, size_t rank, const char *op) {
  Dims out;
  for (int64_t axis : axes) {
    const int64_t at = normalize_axis(axis, rank, op);
    if (std::find(out.begin(), out.end(), at) != out.end())
      fail(MX_ERROR_AXIS, "%s: axis %lld is repeated in %s", op, static_cast<long long>(axis), to_string(axes).c_str());
    out.push_back(at);
  }
  return out;
}

Dims sorted_axes(const Axes &axes, size_t rank, const char *op) {
  if (!axes) return iota(rank);
  Dims out = distinct_axes(*axes, rank, op);
  std::sort(out.begin(), out.end());
  return out;
}

void bad_dtype(const char *op, DType d, const char *wanted) {
  fail(MX_ERROR_DTYPE, "%s: %s is not supported, only %s", op, name(d), wanted);
}

}  // namespace mx::ops

namespace mx::rules {

void need_inputs(Specs in, size_t least, size_t most, const char *op) {
  if (in.size() < least || in.size() > most)
    fail(MX_ERROR_INVALID_ARGUMENT, "%s: %zu inputs, but it takes %zu to %zu", op, in.size(), least, most);
}

void need_dtype(bool ok, DType d, const char *op, const char *allowed) {
  if (!ok) ops::bad_dtype(op, d, allowed);
}

void need_same_dtype(Specs in, size_t first, const char *op) {
  for (size_t i = first + 1; i < in.size(); i++)
    if (in[i]->dtype != in[first]->dtype)
      fail(MX_ERROR_DTYPE, "%s: operands have dtypes %s and %s", op, name(in[first]->dtype), name(in[i]->dtype));
}

void need_broadcastable(std::span<const int64_t> shape, std::span<const int64_t> target, const char *op) {
  bool ok = shape.size() <= target.size();
  for (size_t i = 1; ok && i <= shape.size(); i++)
    ok = shape[shape.size() - i] == 1 || shape[shape.size() - i] == target[target.size() - i];
  if (!ok)
    fail(MX_ERROR_SHAPE, "%s: shape %s cannot be broadcast to %s", op, to_string(shape).c_str(),
         to_string(target).c_str());
}

size_t axis_of(int64_t axis, const Spec &in, const char *op) {
  if (axis < 0) fail(MX_ERROR_AXIS, "%s: axis %lld is negative", op, static_cast<long long>(axis));
  return static_cast<size_t>(normalize_axis(axis, in.shape.size(), op));
}

void need_axes(std::span<const int64_t> axes, size_t rank, const char *op) {
  for (size_t i = 0; i < axes.size(); i++)
    if (axes[i] < 0 || axes[i] >= static_cast<int64_t>(rank) || (i && axes[i] <= axes[i - 1]))
      fail(MX_ERROR_AXIS, "%s: axes %s are not sorted axes of an array of %zu dimensions", op, to_string(axes).c_str(),
           rank);
}

// Worded as MLX does: code written for it compares the text.
void check_sizes(std::span<const int64_t> shape) {
  for (int64_t size : shape)
    if (size < INT32_MIN || size > INT32_MAX)
      fail(MX_ERROR_OVERFLOW,
           "Shape dimension %lld is outside the supported range [-2147483648, 2147483647]. MLX currently uses 32-bit "
           "integers for shape dimensions.",
           static_cast<long long>(size));
}

void put_spec(Outs &out, DType dtype, Dims shape, const char *op) {
  if (shape.size() > MX_MAX_DIMS)
    fail(MX_ERROR_SHAPE, "%s: %zu dimensions, but at most %d are possible", op, shape.size(), MX_MAX_DIMS);
  check_sizes(shape);
  for (int64_t size : shape)
    if (size < 0) fail(MX_ERROR_SHAPE, "%s: negative size in shape %s", op, to_string(shape).c_str());
  Spec &spec = out.emplace_back(Spec{dtype, std::move(shape)});
  byte_count(spec);
}

Range slice_range(int64_t start, int64_t stop, int64_t step, int64_t n) noexcept {
  const int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? n - 1 : n;
  const auto place = [&](int64_t i) { return std::clamp(i < 0 ? i + n : i, lowest, highest); };
  const int64_t first = place(start), last = place(stop);
  const uint64_t gap = static_cast<uint64_t>(step < 0 ? first - last : last - first);
  if (static_cast<int64_t>(gap) <= 0) return {0, 0, step};
  const uint64_t stride = step < 0 ? -static_cast<uint64_t>(step) : static_cast<uint64_t>(step);
  return {first, static_cast<int64_t>((gap - 1) / stride + 1), step};
}

}  // namespace mx::rules
