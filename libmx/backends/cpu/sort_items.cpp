// Radix sort of chunks (least significant byte first; bytes that all items share are skipped), then merges of
// neighbouring runs. Merges are cut by output position (Odeh, Green, Mwassi, Shmueli, Birk: Merge Path, 2012), so all
// threads take part in each.
#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/cpu/sort.hpp"
#include "backends/cpu/strided.hpp"

namespace mx::cpu {
namespace {

template <class Item>
constexpr int item_bytes = sizeof(Item) > 8 ? 8 : static_cast<int>(sizeof(Item));

template <class Item>
size_t byte_of(const Item &item, int byte) noexcept {
  if constexpr (std::is_same_v<Item, IndexedKey>) {
    return static_cast<size_t>(item.key >> (8 * byte) & 255);
  } else {
    return static_cast<size_t>(static_cast<uint64_t>(item) >> (8 * byte) & 255);
  }
}

constexpr int64_t small = 256;

template <class Item>
void radix_sort(Item *items, Item *scratch, int64_t n, int key_bytes) {
  if (n <= small) return std::sort(items, items + n);
  constexpr int bytes = item_bytes<Item>;
  const int first = bytes - key_bytes;
  uint32_t counts[bytes][256] = {};
  for (int64_t i = 0; i < n; i++) {
    for (int b = first; b < bytes; b++) counts[b][byte_of(items[i], b)]++;
  }
  Item *from = items, *to = scratch;
  for (int b = first; b < bytes; b++) {
    uint32_t *place = counts[b], sum = 0;
    if (place[byte_of(from[0], b)] == n) continue;
    for (int v = 0; v < 256; v++) sum += std::exchange(place[v], sum);
    for (int64_t i = 0; i < n; i++) to[place[byte_of(from[i], b)]++] = from[i];
    std::swap(from, to);
  }
  if (from != items) std::memcpy(static_cast<void *>(items), from, static_cast<size_t>(n) * sizeof(Item));
}

// How many of the first k items of the merge of a and b come from a.
template <class Item>
int64_t split_merge(const Item *a, int64_t n_a, const Item *b, int64_t n_b, int64_t k) {
  int64_t low = std::max<int64_t>(0, k - n_b), high = std::min(k, n_a);
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (b[k - middle - 1] < a[middle]) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

template <class Item>
void merge(Item *out, const Item *a, const Item *a_end, const Item *b, const Item *b_end) {
  while (a < a_end && b < b_end) {
    const bool second = *b < *a;
    *out++ = second ? *b : *a;
    a += !second;
    b += second;
  }
  out = std::copy(a, a_end, out);
  std::copy(b, b_end, out);
}

// One level: the runs of `width` items in `from` are merged in pairs into `to`.
template <class Item>
void merge_level(Item *to, const Item *from, int64_t n, int64_t width) {
  constexpr int64_t segment = 1 << 15;  // divides width
  parallel_for((n + segment - 1) / segment, 4, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; s++) {
      const int64_t at = s * segment, base = at / (2 * width) * (2 * width);
      const int64_t n_a = std::min(width, n - base), n_b = std::min(width, n - base - n_a);
      const int64_t k0 = at - base, k1 = std::min(k0 + segment, n_a + n_b);
      const Item *a = from + base, *b = a + n_a;
      const int64_t a0 = split_merge(a, n_a, b, n_b, k0), a1 = split_merge(a, n_a, b, n_b, k1);
      merge(to + at, a + a0, a + a1, b + (k0 - a0), b + (k1 - a1));
    }
  });
}

}  // namespace

template <class Item>
void sort_items(Item *items, Item *scratch, int64_t n, int key_bytes) {
  if (n <= sort_chunk) return radix_sort(items, scratch, n, key_bytes);
  parallel_for((n + sort_chunk - 1) / sort_chunk, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; c++) {
      const int64_t at = c * sort_chunk;
      radix_sort(items + at, scratch + at, std::min(sort_chunk, n - at), key_bytes);
    }
  });
  Item *from = items, *to = scratch;
  for (int64_t width = sort_chunk; width < n; width *= 2) {
    merge_level(to, from, n, width);
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
