// Copies between layouts: any strides to any strides, optionally with a dtype conversion; parallel.
#pragma once
#include <span>
#include <vector>

#include "backends/cpu/kernel.hpp"
#include "runtime/memory.hpp"

namespace mx::cpu {

// Copies elements of `itemsize` bytes (1, 2, 4 or 8) from src to dst. Strides are in bytes and may be 0 (src) or
// negative; the regions do not overlap.
void strided_copy(std::span<const int64_t> shape, int64_t itemsize, char *dst, std::span<const int64_t> dst_strides,
                  const char *src, std::span<const int64_t> src_strides);

// Copies src, broadcast to the shape of dst, into dst and converts if the dtypes differ. Conversions that exist: any
// real dtype to int32, int64, float32 and float64; float32 to float16 and bfloat16. Throws INTERNAL for others.
void copy(const Tensor &dst, const Tensor &src);

// A tensor as a row-major one of a dtype: the tensor itself where it is that already, else a copy in pooled memory that
// lives as long as this object.
class RowMajor {
 public:
  explicit RowMajor(const Tensor &t) : RowMajor(t, t.dtype) {}
  RowMajor(const Tensor &t, DType dtype);
  const Tensor &tensor() const noexcept { return tensor_; }
  template <class T>
  const T *as() const noexcept {
    return reinterpret_cast<const T *>(tensor_.data);
  }

 private:
  Tensor tensor_;
  Ref<Buffer> buffer_;
};

}  // namespace mx::cpu
