// Radix sort, least significant digit first; digits that all items share are skipped. Long arrays are cut into chunks
// that have counts of their own (Zagha and Blelloch, Radix sort for vector multiprocessors, 1991), so all threads take
// part.
#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/cpu/sort.hpp"
#include "backends/cpu/strided.hpp"
#include "runtime/memory.hpp"

namespace mx::cpu {
namespace {

// The digits of a pass. Many values make few passes, but cost short arrays too much to count.
template <class Item, int bits>
struct Digit {
  static constexpr int values = 1 << bits;
  int shift;
  size_t of(const Item &item) const noexcept {
    if constexpr (std::is_same_v<Item, IndexedKey>) {
      return static_cast<size_t>(item.key >> shift) & (values - 1);
    } else {
      return static_cast<size_t>(static_cast<uint64_t>(item) >> shift) & (values - 1);
    }
  }
};

template <class Item>
constexpr int item_bits = sizeof(Item) > 8 ? 64 : 8 * static_cast<int>(sizeof(Item));

constexpr int64_t small = 256, medium = 4096;

// One pass over the two halves of a run, side by side: an item waits for the one before it if their digits are the
// same, but not for the other half. `first` and `second` tell where the next item of a digit goes.
template <class Item, class D, class Place>
void move_halves(Item *to, const Item *from, int64_t n, D digit, Place *first, Place *second) {
  const int64_t half = (n + 1) / 2;
  int64_t i = 0;
  for (const Item *other = from + half; i < n - half; i++) {
    to[first[digit.of(from[i])]++] = from[i];
    to[second[digit.of(other[i])]++] = other[i];
  }
  if (i < half) to[first[digit.of(from[i])]++] = from[i];
}

template <class Item, class D, class Count>
void count_halves(const Item *from, int64_t n, D digit, Count *first, Count *second) {
  const int64_t half = (n + 1) / 2;
  int64_t i = 0;
  for (const Item *other = from + half; i < n - half; i++) {
    first[digit.of(from[i])]++;
    second[digit.of(other[i])]++;
  }
  if (i < half) first[digit.of(from[i])]++;
}

template <int bits, class Item>
void radix_sort(Item *items, Item *scratch, int64_t n, int key_bytes) {
  using D = Digit<Item, bits>;
  Item *from = items, *to = scratch;
  for (int shift = item_bits<Item> - 8 * key_bytes; shift < item_bits<Item>; shift += bits) {
    const D digit{shift};
    uint32_t places[2][D::values] = {}, sum = 0;
    count_halves(from, n, digit, places[0], places[1]);
    const size_t one = digit.of(from[0]);
    if (places[0][one] + places[1][one] == n) continue;
    for (int v = 0; v < D::values; v++)
      for (uint32_t *half : {places[0], places[1]}) sum += std::exchange(half[v], sum);
    move_halves(to, from, n, digit, places[0], places[1]);
    std::swap(from, to);
  }
  if (from != items) std::memcpy(static_cast<void *>(items), from, static_cast<size_t>(n) * sizeof(Item));
}

// ---- long arrays

constexpr int long_bits = 11;
using Places = int64_t[2][1 << long_bits];  // of a chunk's halves
int64_t n_chunks(int64_t n) { return (n + sort_chunk - 1) / sort_chunk; }

// All threads count and move the chunks of one pass together. Chunks keep their order within every digit, so a pass is
// stable.
template <class F>
void for_chunks(int64_t n, F &&f) {
  parallel_for(n_chunks(n), 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; c++) f(c, c * sort_chunk, std::min(sort_chunk, n - c * sort_chunk));
  });
}

// Turns counts into places. False if all items have the same digit.
bool counts_to_places(Places *counts, int64_t n) {
  const int64_t chunks = n_chunks(n);
  int64_t sum = 0;
  for (int v = 0; v < 1 << long_bits; v++) {
    const int64_t before = sum;
    for (int64_t c = 0; c < chunks; c++)
      for (int64_t *half : {counts[c][0], counts[c][1]}) sum += std::exchange(half[v], sum);
    if (sum - before == n) return false;
  }
  return true;
}

}  // namespace

template <class Item>
void sort_items(Item *items, Item *scratch, int64_t n, int key_bytes) {
  if (n <= small) return std::sort(items, items + n);
  if (n <= medium) return radix_sort<8>(items, scratch, n, key_bytes);
  if (n <= sort_chunk) return radix_sort<long_bits>(items, scratch, n, key_bytes);
  const Ref<Buffer> buffer = allocate(static_cast<size_t>(n_chunks(n)) * sizeof(Places));
  Places *places = reinterpret_cast<Places *>(buffer->data());
  Item *from = items, *to = scratch;
  for (int shift = item_bits<Item> - 8 * key_bytes; shift < item_bits<Item>; shift += long_bits) {
    const Digit<Item, long_bits> digit{shift};
    for_chunks(n, [&](int64_t c, int64_t at, int64_t length) {
      std::memset(places[c], 0, sizeof(Places));
      count_halves(from + at, length, digit, places[c][0], places[c][1]);
    });
    if (!counts_to_places(places, n)) continue;
    for_chunks(n, [&](int64_t c, int64_t at, int64_t length) {
      move_halves(to, from + at, length, digit, places[c][0], places[c][1]);
    });
    std::swap(from, to);
  }
  if (from == items) return;
  parallel_for(n, grain(1), [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<void *>(items + begin), from + begin, static_cast<size_t>(end - begin) * sizeof(Item));
  });
}

template void sort_items(uint8_t *, uint8_t *, int64_t, int);
template void sort_items(uint16_t *, uint16_t *, int64_t, int);
template void sort_items(uint32_t *, uint32_t *, int64_t, int);
template void sort_items(uint64_t *, uint64_t *, int64_t, int);
template void sort_items(IndexedKey *, IndexedKey *, int64_t, int);

}  // namespace mx::cpu
