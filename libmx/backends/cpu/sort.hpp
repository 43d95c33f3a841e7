// Sorting integer keys, each dtype's own business being left to sort.cpp. Equal keys cannot be told apart, so every
// method gives the one result.
#pragma once
#include <cstdint>

namespace mx::cpu {

// Sorts keys[0, n). In parallel if n is large and the caller is not.
void sort_keys(int32_t *keys, int64_t n);
void sort_keys(int64_t *keys, int64_t n);

// Puts the key of rank kth in its place, no larger one before it and no smaller one behind it.
void select_key(int32_t *keys, int64_t n, int64_t kth);
void select_key(int64_t *keys, int64_t n, int64_t kth);

// Bits of floating-point numbers as keys of the same order, -0 before +0, every NaN the largest key; and back. The two
// may be the same memory.
void keys_from_floats(int32_t *keys, const int32_t *bits, int64_t n) noexcept;
void keys_from_floats(int64_t *keys, const int64_t *bits, int64_t n) noexcept;
void floats_from_keys(int32_t *bits, const int32_t *keys, int64_t n) noexcept;
void floats_from_keys(int64_t *bits, const int64_t *keys, int64_t n) noexcept;

// Sorts keys of 8 or 16 bits by counting how often each value occurs; out may be in.
void sort_by_counting(uint8_t *out, const uint8_t *in, int64_t n);
void sort_by_counting(uint16_t *out, const uint16_t *in, int64_t n);

// Without vectors: by radix, least significant digit first.
void radix_sort(int32_t *keys, int64_t n);
void radix_sort(int64_t *keys, int64_t n);

// Keys from which on it pays to sort them by several threads.
constexpr int64_t long_line = 1 << 16;

}  // namespace mx::cpu
