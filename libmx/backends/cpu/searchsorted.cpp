// searchsorted: where each value would have to be inserted in a sorted vector, before (left) or behind (right) its
// equals. NaN counts as the largest value.
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/sort_key.hpp"
#include "backends/cpu/strided.hpp"

namespace mx::cpu {
namespace {

template <class T>
uint32_t position_of(const Tensor &sorted, KeyOf<T> key, bool right) {
  int64_t low = 0, n = sorted.shape[0];
  while (n > 0) {
    const int64_t half = n / 2;
    const KeyOf<T> probe = order_key(*reinterpret_cast<const T *>(sorted.data + (low + half) * sorted.strides[0]));
    const bool behind = right ? probe <= key : probe < key;
    low += behind ? half + 1 : 0;
    n = behind ? n - half - 1 : half;
  }
  return static_cast<uint32_t>(low);
}

}  // namespace

void searchsorted(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const bool right = attrs.boolean();
  const Tensor &sorted = call.inputs[0], &values = call.inputs[1];
  uint32_t *out = reinterpret_cast<uint32_t *>(call.outputs[0].data);
  visit(values.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    parallel_for(size_of(values), grain(100), [&](int64_t begin, int64_t end) {
      Walker<1> walker(values.shape);
      walker.operand(0, values.strides);
      walker.seek(begin);
      for (int64_t i = begin; i < end; i++, walker.next()) {
        out[i] = position_of<T>(sorted, order_key(*reinterpret_cast<const T *>(values.data + walker.offset[0])), right);
      }
    });
  });
}

}  // namespace mx::cpu
