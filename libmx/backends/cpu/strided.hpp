// Walking strided operands together. Relies on base/small_vector.hpp and kernel.hpp.
#pragma once
#include <algorithm>
#include <array>
#include <span>

#include "backends/cpu/kernel.hpp"
#include "runtime/pool.hpp"

namespace mx::cpu {

inline int64_t product(std::span<const int64_t> shape) noexcept {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  return n;
}

// The byte offsets of N operands at consecutive row-major positions of a shape.
template <int N>
class Walker {
 public:
  explicit Walker(std::span<const int64_t> shape) : shape_(shape.begin(), shape.end()), at_(shape.size(), 0) {}
  // The strides of operand k; as many as dimensions. Call before seek.
  void operand(int k, std::span<const int64_t> strides) { strides_[k] = Dims(strides.begin(), strides.end()); }

  void seek(int64_t index) noexcept {
    offset.fill(0);
    for (size_t d = shape_.size(); d-- > 0;) {
      at_[d] = shape_[d] ? index % shape_[d] : 0;
      index = shape_[d] ? index / shape_[d] : 0;
      for (int k = 0; k < N; k++) offset[k] += at_[d] * strides_[k][d];
    }
  }
  void next() noexcept {
    for (size_t d = shape_.size(); d-- > 0;) {
      for (int k = 0; k < N; k++) offset[k] += strides_[k][d];
      if (++at_[d] < shape_[d]) return;
      for (int k = 0; k < N; k++) offset[k] -= strides_[k][d] * shape_[d];
      at_[d] = 0;
    }
  }
  // The coordinates now.
  const Dims &at() const noexcept { return at_; }

  std::array<int64_t, N> offset{};

 private:
  Dims shape_, at_;
  std::array<Dims, N> strides_;
};

// Strides that broadcast a tensor to `shape`: 0 for dimensions it lacks or has once.
inline Dims broadcast_strides(const Tensor &t, std::span<const int64_t> shape) {
  Dims strides(shape.size(), 0);
  const size_t missing = shape.size() - t.shape.size();
  for (size_t d = 0; d < t.shape.size(); d++) {
    if (t.shape[d] != 1) strides[missing + d] = t.strides[d];
  }
  return strides;
}

inline Dims without(const Dims &dims, int64_t axis) {
  Dims rest = dims;
  rest.erase(static_cast<size_t>(axis));
  return rest;
}

// A shape as lines: the innermost dimensions that are one in both operands merge into the line. Strides in bytes.
struct Lines {
  Dims outer, a, b;  // shape and strides of the positions at which lines begin
  int64_t n = 1, a_step = 0, b_step = 0;
};

inline Lines make_lines(std::span<const int64_t> shape, std::span<const int64_t> a, std::span<const int64_t> b) {
  Lines lines;
  for (size_t d = 0; d < shape.size(); d++) {
    if (shape[d] == 1) continue;
    if (!lines.outer.empty() && lines.a.back() == a[d] * shape[d] && lines.b.back() == b[d] * shape[d]) {
      lines.outer.back() *= shape[d];
      lines.a.back() = a[d];
      lines.b.back() = b[d];
    } else {
      lines.outer.push_back(shape[d]);
      lines.a.push_back(a[d]);
      lines.b.push_back(b[d]);
    }
  }
  if (lines.outer.empty()) return lines;
  lines.n = lines.outer.back(), lines.a_step = lines.a.back(), lines.b_step = lines.b.back();
  lines.outer.pop_back(), lines.a.pop_back(), lines.b.pop_back();
  return lines;
}

inline int64_t size_of(const Tensor &t) noexcept { return product(t.shape); }

}  // namespace mx::cpu
