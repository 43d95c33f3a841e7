// Sorting 32- and 64-bit keys with vectors: one table per instruction set level. Plain C types only: this header is
// compiled for every level, and inline code shared between levels would be merged by the linker.
#pragma once
#include <stdint.h>

namespace mx::cpu::sorting {

// Keys are signed integers; all work in place and on one thread.
template <class T>
struct Keys {
  void (*sort)(T *keys, int64_t n);
  // Puts the key of rank kth in its place, no larger one before it and no smaller one behind it.
  void (*select)(T *keys, int64_t n, int64_t kth);
  // A key about in the middle of the others; n is at least min_pivot.
  T (*pivot)(const T *keys, int64_t n);
  // Moves keys below the pivot before the others and returns how many they are; n is at least min_partition.
  int64_t (*partition)(T *keys, int64_t n, T pivot);
  // Bits of floating-point numbers as keys of the same order, -0 before +0, every NaN the largest key; and back.
  void (*from_floats)(T *keys, const T *bits, int64_t n);
  void (*to_floats)(T *bits, const T *keys, int64_t n);
};

constexpr int64_t min_pivot = 512, min_partition = 512;

struct Table {
  Keys<int32_t> of32;
  Keys<int64_t> of64;
};

// The table for this CPU, capped by MX_ISA; null where there is none.
const Table *table() noexcept;

}  // namespace mx::cpu::sorting
