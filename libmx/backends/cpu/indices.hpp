// Index arrays as byte offsets, shared by gather and scatter.
#pragma once
#include <vector>

#include "backends/cpu/kernel.hpp"
#include "backends/cpu/strided_copy.hpp"

namespace mx::cpu {

// What happens to an index (after negative ones have counted from the end) at which a slice of `size` does not fit.
enum class OutOfRange { clip, drop };

// Where the slices of x begin that index arrays select: one offset in bytes per position of `shape`, to which the index
// arrays are broadcast; `dropped` for dropped ones. `sizes` are those of the slice along all axes of x.
class SliceOffsets {
 public:
  SliceOffsets(const Tensor &x, std::span<const Tensor> indices, std::span<const int64_t> axes,
               std::span<const int64_t> sizes, std::span<const int64_t> shape, OutOfRange policy);
  const int64_t *data() const noexcept { return reinterpret_cast<const int64_t *>(buffer_->data()); }
  int64_t size() const noexcept { return size_; }
  static constexpr int64_t dropped = INT64_MIN;

 private:
  Ref<Buffer> buffer_;
  int64_t size_;
};

}  // namespace mx::cpu
