// Index arrays as byte offsets; see the header.
#include "backends/cpu/indices.hpp"

#include <algorithm>

#include "backends/cpu/strided.hpp"

namespace mx::cpu {

SliceOffsets::SliceOffsets(const Tensor &x, std::span<const Tensor> indices, std::span<const int64_t> axes,
                           std::span<const int64_t> sizes, std::span<const int64_t> shape, OutOfRange policy)
    : buffer_(allocate(static_cast<size_t>(product(shape)) * sizeof(int64_t))), size_(product(shape)) {
  int64_t *offsets = reinterpret_cast<int64_t *>(buffer_->data());
  std::fill_n(offsets, size_, 0);
  const Dims wanted(shape.begin(), shape.end());
  for (size_t k = 0; k < indices.size(); k++) {
    const auto axis = static_cast<size_t>(normalize_axis(axes[k], x.shape.size(), "gather"));
    const int64_t n = x.shape[axis], last = n - sizes[axis], stride = x.strides[axis];
    Tensor index = indices[k];
    index.strides = broadcast_strides(index, shape);
    index.shape = wanted;
    const RowMajor rows(index, DType::int64);
    parallel_for(size_, Cost{1.5}, [&](int64_t begin, int64_t end) {
      const int64_t *at = rows.as<int64_t>();
      for (int64_t i = begin; i < end; i++) {
        const int64_t wrapped = at[i] < 0 ? at[i] + n : at[i];
        const int64_t fitting = std::clamp<int64_t>(wrapped, 0, std::max<int64_t>(last, 0));
        const bool drop = policy == OutOfRange::drop && (fitting != wrapped || last < 0);
        offsets[i] = drop || offsets[i] == dropped ? dropped : offsets[i] + fitting * stride;
      }
    });
  }
}

}  // namespace mx::cpu
