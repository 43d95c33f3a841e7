// random_bits: Threefry-2x32 in counter mode. Of the n 32-bit words of a key, word i < ceil(n/2) is the first and word
// i + ceil(n/2) the second output of counter (i, i + ceil(n/2)); with an odd n the last counter is (n/2, 0) and its
// second output is dropped. These are the words MLX draws for the same key. Narrower elements are the bytes of the
// words, low ones first.
#include "backends/cpu/element.hpp"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/rows/rows.hpp"
#include "backends/cpu/strided.hpp"
#include "backends/cpu/strided_copy.hpp"

namespace mx::cpu {
namespace {

// Words [begin, end) of the first half, and those that belong to them in the second. `bytes` is what the key fills:
// the last word may lie beyond it in part.
void draw(char *out, int64_t bytes, const uint32_t *key, int64_t begin, int64_t end) {
  const int64_t words = (bytes + 3) / 4, half = (words + 1) / 2, pairs = words / 2;
  constexpr int64_t step = 256;
  uint32_t first[step], second[step];
  for (int64_t at = begin; at < end; at += step) {
    const int64_t n = std::min(step, end - at), paired = std::clamp<int64_t>(pairs - at, 0, n);
    if (paired > 0) {
      rows::table().threefry(first, second, key, static_cast<uint32_t>(at), static_cast<uint32_t>(at + half),
                             static_cast<size_t>(paired));
    }
    if (paired < n) rows::table().threefry(first + paired, second + paired, key, static_cast<uint32_t>(pairs), 0, 1);
    std::memcpy(out + at * 4, first, static_cast<size_t>(std::min(n * 4, bytes - at * 4)));
    const int64_t second_at = (at + half) * 4;
    if (paired > 0) std::memcpy(out + second_at, second, static_cast<size_t>(std::min(paired * 4, bytes - second_at)));
  }
}

}  // namespace

void random_bits(const KernelCall &call) {
  const Tensor &out = call.outputs[0];
  const RowMajor keys(call.inputs[0]);
  const int64_t n_keys = size_of(call.inputs[0]) / 2;
  if (n_keys == 0 || size_of(out) == 0) return;
  const int64_t bytes = size_of(out) * itemsize(out.dtype) / n_keys, half = ((bytes + 3) / 4 + 1) / 2;
  // One key with much to draw is split; many keys are dealt out.
  const int64_t block = std::min<int64_t>(half, 1 << 14), blocks = (half + block - 1) / block;
  parallel_for(n_keys * blocks, Cost{static_cast<double>(block) * 6}, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const int64_t key = i / blocks, at = i % blocks * block;
      draw(out.data + key * bytes, bytes, keys.as<uint32_t>() + 2 * key, at, std::min(half, at + block));
    }
  });
}

}  // namespace mx::cpu
