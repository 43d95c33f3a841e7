// Index arrays as byte offsets; see the header.
#include "backends/cpu/indices.hpp"

#include <algorithm>

#include "backends/cpu/element.hpp"
#include "backends/cpu/strided.hpp"
#include "base/status.hpp"

namespace mx::cpu {

SliceOffsets::SliceOffsets(const Tensor &x, std::span<const Tensor> indices, std::span<const int64_t> axes,
                           std::span<const int64_t> sizes, std::span<const int64_t> shape, OutOfRange policy)
    : buffer_(allocate(static_cast<size_t>(product(shape)) * sizeof(int64_t))), size_(product(shape)) {
  int64_t *offsets = reinterpret_cast<int64_t *>(buffer_->data());
  if (indices.empty()) std::fill_n(offsets, size_, 0);
  const Dims wanted(shape.begin(), shape.end());
  for (size_t k = 0; k < indices.size(); k++) {
    const auto axis = static_cast<size_t>(normalize_axis(axes[k], x.shape.size(), "gather"));
    const int64_t n = x.shape[axis], last = n - sizes[axis], stride = x.strides[axis];
    Tensor index = indices[k];
    index.strides = broadcast_strides(index, shape);
    index.shape = wanted;
    const RowMajor rows(index);
    visit(index.dtype, [&](auto type) {
      using Index = typename decltype(type)::type;
      if constexpr (std::is_integral_v<Index>) {
        parallel_for(size_, Cost{1.5}, [&](int64_t begin, int64_t end) {
          const Index *at = rows.as<Index>();
          for (int64_t i = begin; i < end; i++) {
            const auto given = static_cast<int64_t>(at[i]), wrapped = given < 0 ? given + n : given;
            const int64_t fitting = std::clamp<int64_t>(wrapped, 0, std::max<int64_t>(last, 0));
            const bool drop = policy == OutOfRange::drop && (fitting != wrapped || last < 0);
            const int64_t before = k == 0 ? 0 : offsets[i];
            offsets[i] = drop || before == dropped ? dropped : before + fitting * stride;
          }
        });
      } else {
        fail(MX_ERROR_INTERNAL, "an index array of %s", name(index.dtype));
      }
    });
  }
}

}  // namespace mx::cpu
