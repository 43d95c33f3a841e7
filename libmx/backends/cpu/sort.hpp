// Sorting items of unsigned order: integers, or keys with the index they came from. Equal integers cannot be told apart
// and indices make all other items differ, so every method gives the one result, which is stable.
#pragma once
#include <cstdint>

namespace mx::cpu {

struct IndexedKey {
  uint64_t key;
  uint32_t index;
  friend bool operator<(const IndexedKey &a, const IndexedKey &b) noexcept {
    return a.key < b.key || (a.key == b.key && a.index < b.index);
  }
};

// Sorts items[0, n); scratch has n items too. `key_bytes` tells how many high bytes of an integer item are the key: the
// lower ones hold the index and are in order already. In parallel if n is large and the caller is not.
template <class Item>
void sort_items(Item *items, Item *scratch, int64_t n, int key_bytes);

extern template void sort_items(uint8_t *, uint8_t *, int64_t, int);
extern template void sort_items(uint16_t *, uint16_t *, int64_t, int);
extern template void sort_items(uint32_t *, uint32_t *, int64_t, int);
extern template void sort_items(uint64_t *, uint64_t *, int64_t, int);
extern template void sort_items(IndexedKey *, IndexedKey *, int64_t, int);

// Lines up to this length are sorted by one thread.
constexpr int64_t sort_chunk = 1 << 17;

}  // namespace mx::cpu
