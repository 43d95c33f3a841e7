// Writing into an array with a ScatterMode: assign, add, multiply, maximum, minimum.
#pragma once
#include "backends/cpu/element.hpp"
#include "ops/kinds.hpp"

namespace mx::cpu {

// Combines n elements of src into dst, in order. Strides in bytes; the two do not overlap.
using UpdateLine = void (*)(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n);

// A slice's place in the output and in the updates, in bytes.
struct Move {
  int64_t to, from;
};
// The same for n single elements, one after the other.
using UpdateElements = void (*)(char *dst, const char *src, const Move *moves, size_t n);

struct Update {
  UpdateLine line;
  UpdateElements elements;
};

// One per instruction set level, by dtype and mode.
struct UpdateTable {
  Update of[n_dtypes][5];
};

// The functions for a dtype and mode.
const Update &update_for(DType dtype, ScatterMode mode) noexcept;

}  // namespace mx::cpu
