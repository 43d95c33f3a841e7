// searchsorted: where each value would have to be inserted in a sorted vector, before (left) or behind (right) its
// equals. NaN counts as the largest value. The leading axes of both operands are those of a batch of vectors.
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/sort_key.hpp"
#include "backends/cpu/strided.hpp"

namespace mx::cpu {
namespace {

// So many searches go in step: none depends on another, so the memory that they wait for comes at the same time.
constexpr int64_t group = 16;

// The positions of `count` keys, at most a group, in the vector at `data`. All ranges are halved at once, whatever the
// keys say.
template <class T>
void search(const Tensor &sorted, const char *data, const KeyOf<T> *keys, int64_t count, bool right, uint32_t *out) {
  const int64_t stride = sorted.strides.back(), length = sorted.shape.back();
  const KeyOf<T> equal = right ? 1 : 0;
  // probe < key, or probe <= key, without a branch
  const auto is_behind = [&](int64_t at, KeyOf<T> key) {
    const KeyOf<T> probe = order_key(*reinterpret_cast<const T *>(data + at * stride));
    return (probe < key) | ((probe == key) & (equal != 0));
  };
  int64_t low[group] = {};
  int64_t n = length;
  for (; n > 1; n -= n / 2) {
    const int64_t half = n / 2;
    for (int64_t k = 0; k < count; k++) low[k] += is_behind(low[k] + half - 1, keys[k]) ? half : 0;
  }
  for (int64_t k = 0; k < count; k++)
    out[k] = static_cast<uint32_t>(low[k] + (n == 1 && is_behind(low[k], keys[k]) ? 1 : 0));
}

}  // namespace

void searchsorted(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const bool right = attrs.boolean();
  const Tensor &sorted = call.inputs[0], &values = call.inputs[1];
  uint32_t *out = reinterpret_cast<uint32_t *>(call.outputs[0].data);
  const double steps = static_cast<double>(std::bit_width(static_cast<uint64_t>(sorted.shape.back())));
  Dims vectors(values.shape.size(), 0);  // from value to value, the way to its vector
  std::copy(sorted.strides.begin(), sorted.strides.end() - 1, vectors.begin());
  visit(values.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    parallel_for(size_of(values), Cost{5 + 2 * steps}, [&](int64_t begin, int64_t end) {
      Walker<2> walker(values.shape);
      walker.operand(0, values.strides);
      walker.operand(1, vectors);
      walker.seek(begin);
      for (int64_t i = begin, count; i < end; i += count) {
        KeyOf<T> keys[group];
        const int64_t vector = walker.offset[1];
        for (count = 0; count < group && i + count < end && walker.offset[1] == vector; count++, walker.next())
          keys[count] = order_key(*reinterpret_cast<const T *>(values.data + walker.offset[0]));
        search<T>(sorted, sorted.data + vector, keys, count, right, out + i);
      }
    });
  });
}

}  // namespace mx::cpu
