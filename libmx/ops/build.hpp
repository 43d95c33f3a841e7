// What the op builders share: short names for a value's shape and dtype, and axis lists as the API gives them.
#pragma once
#include <optional>

#include "base/status.hpp"
#include "core/node.hpp"
#include "mx/ops.h"

namespace mx::ops {

using StreamRef = Ref<Stream>;
using List = std::span<const int64_t>;
using Values = std::span<const Value>;
// Absent: all axes. Present and empty: no axis.
using Axes = std::optional<List>;

inline const Dims &shape_of(const Value &v) noexcept { return spec_of(v).shape; }
inline DType dtype_of(const Value &v) noexcept { return spec_of(v).dtype; }
inline size_t rank_of(const Value &v) noexcept { return spec_of(v).shape.size(); }

// Not negative, sorted, each once. Throws AXIS.
Dims sorted_axes(const Axes &axes, size_t rank, const char *op);
// Not negative, in the given order, each once. Throws AXIS.
Dims distinct_axes(List axes, size_t rank, const char *op);
// 0, 1, ... n - 1.
Dims iota(size_t n);
inline size_t axis_at(int64_t axis, size_t rank, const char *op) {
  return static_cast<size_t>(normalize_axis(axis, rank, op));
}
// Throws DTYPE, naming the op, its argument and what it wants.
[[noreturn]] void bad_dtype(const char *op, DType d, const char *wanted);

}  // namespace mx::ops
