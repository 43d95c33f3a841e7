// Radix sort, least significant digit first; digits that all keys share are skipped. Long arrays are cut into chunks
// that have counts of their own (Zagha and Blelloch, Radix sort for vector multiprocessors, 1991), so all threads take
// part. For machines without the vectors of sorting/.
#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/cpu/sort.hpp"
#include "backends/cpu/strided.hpp"
#include "runtime/memory.hpp"

namespace mx::cpu {
namespace {

constexpr int64_t small = 256, chunk = 1 << 17;
constexpr int digit_bits = 11, n_values = 1 << digit_bits;
using Places = int64_t[n_values];  // of a chunk's digits

template <class T>
size_t digit_of(T key, int shift) noexcept {
  using Unsigned = std::make_unsigned_t<T>;
  constexpr Unsigned sign = Unsigned{1} << (8 * sizeof(T) - 1);
  return static_cast<size_t>((static_cast<Unsigned>(key) ^ sign) >> shift) & (n_values - 1);
}

// All threads count and move the chunks of one pass together. Chunks keep their order within every digit, so a pass is
// stable.
template <class F>
void for_chunks(int64_t n, F &&f) {
  parallel_for((n + chunk - 1) / chunk, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; c++) f(c, c * chunk, std::min(n, (c + 1) * chunk));
  });
}

// Turns counts into places. False if all keys have the same digit.
bool counts_to_places(Places *counts, int64_t n) {
  int64_t sum = 0;
  for (int v = 0; v < n_values; v++) {
    const int64_t before = sum;
    for (int64_t c = 0; c < (n + chunk - 1) / chunk; c++) sum += std::exchange(counts[c][v], sum);
    if (sum - before == n) return false;
  }
  return true;
}

template <class T>
void sort(T *keys, int64_t n) {
  if (n <= small) return std::sort(keys, keys + n);
  const Ref<Buffer> scratch = allocate(static_cast<size_t>(n) * sizeof(T));
  const Ref<Buffer> counts = allocate(static_cast<size_t>((n + chunk - 1) / chunk) * sizeof(Places));
  Places *places = reinterpret_cast<Places *>(counts->data());
  T *from = keys, *to = reinterpret_cast<T *>(scratch->data());
  for (int shift = 0; shift < static_cast<int>(8 * sizeof(T)); shift += digit_bits) {
    for_chunks(n, [&](int64_t c, int64_t begin, int64_t end) {
      std::memset(places[c], 0, sizeof(Places));
      for (int64_t i = begin; i < end; i++) places[c][digit_of(from[i], shift)]++;
    });
    if (!counts_to_places(places, n)) continue;
    for_chunks(n, [&](int64_t c, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) to[places[c][digit_of(from[i], shift)]++] = from[i];
    });
    std::swap(from, to);
  }
  if (from == keys) return;
  for_chunks(n, [&](int64_t, int64_t begin, int64_t end) { std::copy(from + begin, from + end, keys + begin); });
}

}  // namespace

void radix_sort(int32_t *keys, int64_t n) { sort(keys, n); }
void radix_sort(int64_t *keys, int64_t n) { sort(keys, n); }

}  // namespace mx::cpu
