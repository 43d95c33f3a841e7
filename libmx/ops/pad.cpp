// Padding: every axis is a concatenation of what is before, the array and what is after, so that the graph holds no
// size and can be replayed on other shapes.
#include <algorithm>

#include "ops/create.hpp"
#include "ops/index.hpp"
#include "ops/shape.hpp"
#include "ops/unary.hpp"

namespace mx::ops {
namespace {

// `x` of size 1 along an axis, `n` times.
Value stretched(const Value &x, size_t axis, int64_t n, const StreamRef &s) {
  Dims shape(rank_of(x), -1);
  shape[axis] = n;
  return broadcast_to(x, shape, s);
}

Value join(const Value &a, const Value &b, size_t axis, const StreamRef &s) {
  const Value parts[] = {a, b};
  return concatenate(parts, static_cast<int64_t>(axis), s);
}

// `n` elements that continue `x` before its start or after its end.
Value continuation(const Value &x, size_t axis, int64_t n, bool before, mx_pad_mode mode, const StreamRef &s) {
  const int64_t size = shape_of(x)[axis];
  if (mode == MX_PAD_EDGE || size == 1)
    return stretched(slice_axis(x, axis, before ? 0 : -1, before ? 1 : INT64_MAX, 1, s), axis, n, s);
  const int64_t skipped = mode == MX_PAD_REFLECT ? 1 : 0;  // the edge itself
  if (before) return slice_axis(x, axis, n - 1 + skipped, skipped ? 0 : INT64_MIN, -1, s);
  return slice_axis(x, axis, -1 - skipped, -1 - skipped - n, -1, s);
}

Value extend(Value x, size_t axis, int64_t n, bool before, mx_pad_mode mode, const StreamRef &s) {
  while (n > 0) {
    const int64_t size = shape_of(x)[axis];
    if (size == 0)
      fail(MX_ERROR_SHAPE, "pad: axis %zu of shape %s has nothing to repeat", axis, to_string(shape_of(x)).c_str());
    // a mirror image can be as long as the array; longer ones mirror again
    const int64_t longest = mode == MX_PAD_EDGE || size == 1 ? n : mode == MX_PAD_REFLECT ? size - 1 : size;
    const int64_t step = std::min(n, longest);
    const Value more = continuation(x, axis, step, before, mode, s);
    x = before ? join(more, x, axis, s) : join(x, more, axis, s);
    n -= step;
  }
  return x;
}

}  // namespace

Value pad(const Value &a, List axes, List low, List high, mx_pad_mode mode, const Value &value, const StreamRef &s) {
  if (low.size() != axes.size() || high.size() != axes.size())
    fail(MX_ERROR_INVALID_ARGUMENT, "pad: %zu axes, %zu and %zu widths", axes.size(), low.size(), high.size());
  if (mode < MX_PAD_CONSTANT || mode > MX_PAD_SYMMETRIC)
    fail(MX_ERROR_INVALID_ARGUMENT, "pad: no mode %d", static_cast<int>(mode));
  if (rank_of(value) != 0)
    fail(MX_ERROR_SHAPE, "pad: the value has shape %s, but it must be 0-d", to_string(shape_of(value)).c_str());
  const Dims places = distinct_axes(axes, rank_of(a), "pad");
  Value x = a;
  for (size_t i = 0; i < places.size(); i++) {
    const size_t axis = static_cast<size_t>(places[i]);
    if (low[i] < 0 || high[i] < 0)
      fail(MX_ERROR_INVALID_ARGUMENT, "pad: negative width %lld, %lld of axis %zu", static_cast<long long>(low[i]),
           static_cast<long long>(high[i]), axis);
    if (mode != MX_PAD_CONSTANT) {
      x = extend(extend(x, axis, low[i], true, mode, s), axis, high[i], false, mode, s);
      continue;
    }
    if (low[i] == 0 && high[i] == 0) continue;
    const Value block = broadcast_like(astype(value, dtype_of(a), s), slab_like(x, axis, s), s);
    if (low[i] > 0) x = join(stretched(block, axis, low[i], s), x, axis, s);
    if (high[i] > 0) x = join(x, stretched(block, axis, high[i], s), axis, s);
  }
  return x;
}

}  // namespace mx::ops
