// Neighbours in k of bfloat16 matrices as pairs of 32 bits, which is how the CPU's instructions for them want their
// operands. Only for the per-level matmul sources.
#pragma once
#include "backends/cpu/matmul_pack.hpp"

#if defined(__AVX512BW__)

namespace {

// Two rows of 32 lanes, alternately: 16 pairs at `to`, the other 16 `apart` bytes behind.
inline void pair_rows(char *to, int64_t apart, __m512i even, __m512i odd) {
  alignas(64) static constexpr auto order = [] {
    struct {
      uint16_t low[32], high[32];
    } o{};
    for (uint16_t i = 0; i < 32; i++) {
      o.low[i] = static_cast<uint16_t>(i / 2 + (i % 2) * 32);
      o.high[i] = static_cast<uint16_t>(16 + i / 2 + (i % 2) * 32);
    }
    return o;
  }();
  _mm512_storeu_si512(to, _mm512_permutex2var_epi16(even, _mm512_load_si512(order.low), odd));
  _mm512_storeu_si512(to + apart, _mm512_permutex2var_epi16(even, _mm512_load_si512(order.high), odd));
}

// One pair of each lane from `from` on, 0 where there is no lane; without `odd`, 0 as their second half.
template <int Size>
inline void pair_scalar(char *to, const char *from, int64_t lane, int64_t step, int64_t lanes, bool odd) {
  uint16_t pairs[2 * Size] = {};
  for (int64_t i = 0; i < lanes; i++) {
    memcpy(pairs + 2 * i, from + i * lane, 2);
    if (odd) memcpy(pairs + 2 * i + 1, from + i * lane + step, 2);
  }
  memcpy(to, pairs, sizeof pairs);
}

// Lanes that lie side by side, in `count` panels of `lanes` <= Size <= 32 of them: several at a time, because a row's
// next cache lines come for free.
template <int Size>
inline void pair_copied(char *to, const char *from, int64_t step, int64_t lanes, int64_t k, int count) {
  const __mmask32 some = static_cast<__mmask32>(UINT64_C(0xffffffff) >> (32 - lanes));
  const int64_t panel = (k + 1) / 2 * Size * 4;
  constexpr int64_t ahead = 16;
  for (int64_t p = 0; p < k; p += 2, to += Size * 4, from += 2 * step)
    for (int c = 0; c < count; c++) {
      const char *const row = from + c * Size * 2;
      char *const pairs = to + c * panel;
      if (p + ahead < k) {
        __builtin_prefetch(row + ahead * step);
        __builtin_prefetch(row + (ahead + 1) * step);
      }
      const __m512i even = _mm512_maskz_loadu_epi16(some, row);
      const __m512i odd = p + 1 < k ? _mm512_maskz_loadu_epi16(some, row + step) : _mm512_setzero_si512();
      if constexpr (Size == 32) {
        pair_rows(pairs, 64, even, odd);
      } else {
        alignas(64) char all[128];
        pair_rows(all, 64, even, odd);
        memcpy(pairs, all, Size * 4);
      }
    }
}

// All panels of a matrix of `n` lanes: for every two of k a pair of each of Size lanes, padded with zeros. `lane` and
// `step` are byte strides.
template <int Size>
void pack_pairs(void *to, const char *from, int64_t lane, int64_t step, int64_t n, int64_t k) {
  static_assert(Size <= 32);
  const int64_t pairs = k / 2, panel = (k + 1) / 2 * Size * 4;
  char *out = static_cast<char *>(to);
  for (int64_t i = 0; i < n; i += Size, out += panel, from += Size * lane) {
    const int64_t lanes = n - i < Size ? n - i : Size;
    if (lane == 2 && step != 2) {
      const int count = n - i >= 4 * Size ? 4 : 1;
      pair_copied<Size>(out, from, step, lanes, k, count);
      i += (count - 1) * Size;
      out += (count - 1) * panel;
      from += (count - 1) * Size * lane;
      continue;
    }
    if (step == 2)
      pack<float, Size>(out, from, lane, 4, lanes, pairs);
    else
      for (int64_t p = 0; p < pairs; p++)
        pair_scalar<Size>(out + p * Size * 4, from + 2 * p * step, lane, step, lanes, true);
    if (k % 2 != 0) pair_scalar<Size>(out + pairs * Size * 4, from + (k - 1) * step, lane, step, lanes, false);
  }
}

}  // namespace

#endif
