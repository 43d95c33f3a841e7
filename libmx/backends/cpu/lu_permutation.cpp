// lu_permutation: the row swaps of a factorisation, in order, as the order of rows: row i of a is row p[i] of l u.
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/strided.hpp"
#include "backends/cpu/strided_copy.hpp"

namespace mx::cpu {

void lu_permutation(const KernelCall &call) {
  const Tensor &out = call.outputs[0];
  const RowMajor pivots(call.inputs[0]);
  const int64_t m = out.shape.back(), k = call.inputs[0].shape.back();
  uint32_t *p = reinterpret_cast<uint32_t *>(out.data);
  const int64_t batches = m == 0 ? 0 : size_of(out) / m;
  SmallVector<uint32_t, 64> source(static_cast<size_t>(m));  // row i of l u comes from row source[i] of a
  for (int64_t batch = 0; batch < batches; batch++) {
    for (int64_t i = 0; i < m; i++) source[static_cast<size_t>(i)] = static_cast<uint32_t>(i);
    const uint32_t *swaps = pivots.as<uint32_t>() + batch * k;
    for (int64_t i = 0; i < k; i++) std::swap(source[static_cast<size_t>(i)], source[swaps[i]]);
    for (int64_t i = 0; i < m; i++) p[batch * m + source[static_cast<size_t>(i)]] = static_cast<uint32_t>(i);
  }
}

}  // namespace mx::cpu
