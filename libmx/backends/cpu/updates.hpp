// Writing into an array with a ScatterMode: assign, add, multiply, maximum, minimum.
#pragma once
#include "backends/cpu/element.hpp"
#include "ops/kinds.hpp"

namespace mx::cpu {

struct Assign {
  template <class T>
  T operator()(T, T b) const noexcept {
    return b;
  }
};

// Calls f(combine) with the function object of the mode.
template <class F>
decltype(auto) visit_mode(ScatterMode mode, F &&f) {
  switch (mode) {
    case ScatterMode::add:
      return f(Add());
    case ScatterMode::multiply:
      return f(Multiply());
    case ScatterMode::maximum:
      return f(Maximum());
    case ScatterMode::minimum:
      return f(Minimum());
    default:
      return f(Assign());
  }
}

// Combines n elements of src into dst, in order. Strides in bytes.
using UpdateLine = void (*)(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n);

// The function for a dtype and mode; never null.
UpdateLine update_line(DType dtype, ScatterMode mode);

}  // namespace mx::cpu
