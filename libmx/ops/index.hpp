// Builders of slices, gathers and scatters. Documented in mx/shape.h.
#pragma once
#include "ops/build.hpp"
#include "ops/kinds.hpp"

namespace mx::ops {

Value slice(const Value &a, List start, List stop, List step, const StreamRef &s = {});
// One axis sliced, the others whole. INT64_MAX as stop goes to the end.
Value slice_axis(const Value &a, size_t axis, int64_t start, int64_t stop, int64_t step, const StreamRef &s = {});
Value slice_update(const Value &a, const Value &update, List start, List stop, List step, ScatterMode mode,
                   const StreamRef &s = {});
Value dynamic_slice(const Value &a, const Value &start, List axes, List sizes, const StreamRef &s = {});
Value dynamic_slice_update(const Value &a, const Value &update, const Value &start, List axes, const StreamRef &s = {});
// The axes may be MX_NO_AXIS.
Value take(const Value &a, const Value &indices, int64_t axis, const StreamRef &s = {});
Value take_along_axis(const Value &a, const Value &indices, int64_t axis, const StreamRef &s = {});
Value scatter_along_axis(const Value &a, const Value &indices, const Value &values, int64_t axis, ScatterMode mode,
                         const StreamRef &s = {});
Value gather(const Value &a, std::span<const Value> indices, List axes, List sizes, const StreamRef &s = {});
Value scatter(const Value &a, std::span<const Value> indices, const Value &updates, List axes, ScatterMode mode,
              const StreamRef &s = {});
Value masked_scatter(const Value &a, const Value &mask, const Value &values, const StreamRef &s = {});

}  // namespace mx::ops
