// Writing into an array with a ScatterMode: assign, add, multiply, maximum, minimum.
#pragma once
#include "backends/cpu/element.hpp"
#include "ops/kinds.hpp"

namespace mx::cpu {

// Combines n elements of src into dst, in order. Strides in bytes; the two do not overlap.
using UpdateLine = void (*)(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n);

// One per instruction set level, by dtype and mode.
struct UpdateTable {
  UpdateLine line[n_dtypes][5];
};

// The function for a dtype and mode; never null.
UpdateLine update_line(DType dtype, ScatterMode mode) noexcept;

}  // namespace mx::cpu
