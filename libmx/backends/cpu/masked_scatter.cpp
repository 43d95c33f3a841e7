// masked_scatter: the blocks of x at which the mask is true take the next blocks of the values, in row-major order. A
// block is what remains of x behind the mask's axes. Blocks for which no values are left stay as they are.
#include "backends/cpu/element.hpp"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/strided.hpp"
#include "backends/cpu/strided_copy.hpp"

namespace mx::cpu {

void masked_scatter(const KernelCall &call) {
  const Tensor &out = call.outputs[0];
  Tensor mask = call.inputs[1];
  const Dims leading(out.shape.begin(), out.shape.begin() + mask.shape.size());
  const int64_t n = product(leading), size = itemsize(out.dtype);
  const int64_t block = product(std::span(out.shape).subspan(leading.size()));
  if (n == 0 || block == 0) return;
  mask.strides = broadcast_strides(mask, leading);
  mask.shape = leading;
  const RowMajor where(mask), values(call.inputs[2]);
  const bool *set = where.as<bool>();
  const int64_t available = size_of(call.inputs[2]) / block;
  // How many blocks the pieces before each piece take, then every piece by itself.
  constexpr int64_t piece = 1 << 15;
  const int64_t pieces = (n + piece - 1) / piece;
  SmallVector<int64_t, 16> first(static_cast<size_t>(pieces));
  parallel_for(pieces, 4, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; p++) {
      first[static_cast<size_t>(p)] = std::count(set + p * piece, set + std::min(n, (p + 1) * piece), true);
    }
  });
  int64_t sum = 0;
  for (int64_t &count : first) sum += std::exchange(count, sum);
  const double cost = static_cast<double>(piece) * (1 + static_cast<double>(block * size) / 8);
  parallel_for(pieces, Cost{cost}, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; p++) {
      int64_t next = first[static_cast<size_t>(p)], work = 0;
      for (int64_t i = p * piece; i < std::min(n, (p + 1) * piece) && next < available; i++) {
        if (!set[i]) continue;
        if ((work += block) > 1 << 19) check_cancel(), work = 0;
        std::memcpy(out.data + i * block * size, values.tensor().data + next++ * block * size,
                    static_cast<size_t>(block * size));
      }
    }
  });
}

}  // namespace mx::cpu
