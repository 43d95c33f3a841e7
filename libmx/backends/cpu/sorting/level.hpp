// What the sources of one level share: vectors of keys and what comparing and moving them takes. Included by sorting/
// only, compiled with -march=<level> -DMX_LEVEL=<level>. As in rows/level.hpp, everything lives in a namespace named
// after the level and nothing comes from the standard library.
#pragma once
#include <immintrin.h>
#include <stdint.h>

#include "backends/cpu/sorting/table.hpp"

namespace mx::cpu::sorting::MX_LEVEL {

#define MX_INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#else
constexpr int vector_bytes = 32;
#endif

template <class T>
constexpr int width = vector_bytes / static_cast<int>(sizeof(T));
template <class T>
constexpr T largest = static_cast<T>(~(uint64_t{1} << (8 * sizeof(T) - 1)));

typedef int32_t V32 __attribute__((vector_size(vector_bytes)));
typedef int64_t V64 __attribute__((vector_size(vector_bytes)));
typedef int32_t Unaligned32 __attribute__((vector_size(vector_bytes), aligned(4), may_alias));
typedef int64_t Unaligned64 __attribute__((vector_size(vector_bytes), aligned(8), may_alias));

template <class T>
struct VectorOf {
  using type = V32;
};
template <>
struct VectorOf<int64_t> {
  using type = V64;
};
template <class T>
using V = typename VectorOf<T>::type;

MX_INLINE V32 load(const int32_t *p) { return *reinterpret_cast<const Unaligned32 *>(p); }
MX_INLINE V64 load(const int64_t *p) { return *reinterpret_cast<const Unaligned64 *>(p); }
MX_INLINE void store(int32_t *p, V32 x) { *reinterpret_cast<Unaligned32 *>(p) = x; }
MX_INLINE void store(int64_t *p, V64 x) { *reinterpret_cast<Unaligned64 *>(p) = x; }
MX_INLINE V32 splat(int32_t x) { return x - V32{}; }
MX_INLINE V64 splat(int64_t x) { return x - V64{}; }

// Calls f(Index<i>) for i = begin .. end - 1, unrolled.
template <int i>
struct Index {
  static constexpr int value = i;
};
template <int begin, int end, class F>
MX_INLINE void unroll(F f) {
  if constexpr (begin < end) {
    f(Index<begin>{});
    unroll<begin + 1, end>(f);
  }
}

#if defined(__AVX512F__)

MX_INLINE __m512i raw(V32 x) { return reinterpret_cast<__m512i>(x); }
MX_INLINE __m512i raw(V64 x) { return reinterpret_cast<__m512i>(x); }
MX_INLINE V32 lower(V32 a, V32 b) { return a < b ? a : b; }
MX_INLINE V64 lower(V64 a, V64 b) { return a < b ? a : b; }
MX_INLINE V32 higher(V32 a, V32 b) { return a > b ? a : b; }
MX_INLINE V64 higher(V64 a, V64 b) { return a > b ? a : b; }

// The smaller one in lanes l without `bit`, the larger one in the others; and the other way round.
template <int bit>
constexpr uint16_t lanes_with = bit == 1   ? 0xaaaa
                                : bit == 2 ? 0xcccc
                                : bit == 4 ? 0xf0f0
                                           : 0xff00;
template <int bit>
MX_INLINE V32 lower_then_higher(V32 a, V32 b) {
  return reinterpret_cast<V32>(_mm512_mask_max_epi32(raw(lower(a, b)), lanes_with<bit>, raw(a), raw(b)));
}
template <int bit>
MX_INLINE V64 lower_then_higher(V64 a, V64 b) {
  return reinterpret_cast<V64>(
      _mm512_mask_max_epi64(raw(lower(a, b)), static_cast<__mmask8>(lanes_with<bit>), raw(a), raw(b)));
}
template <int bit>
MX_INLINE V32 higher_then_lower(V32 a, V32 b) {
  return reinterpret_cast<V32>(_mm512_mask_min_epi32(raw(higher(a, b)), lanes_with<bit>, raw(a), raw(b)));
}
template <int bit>
MX_INLINE V64 higher_then_lower(V64 a, V64 b) {
  return reinterpret_cast<V64>(
      _mm512_mask_min_epi64(raw(higher(a, b)), static_cast<__mmask8>(lanes_with<bit>), raw(a), raw(b)));
}

// The first n lanes; all for n >= width, none for n <= 0. Lanes that are not loaded are the largest key.
MX_INLINE uint16_t first_lanes(int64_t n) {
  return static_cast<uint16_t>(n >= 16 ? 0xffff : n <= 0 ? 0 : (1u << n) - 1);
}
MX_INLINE V32 load_part(const int32_t *p, int64_t n) {
  return reinterpret_cast<V32>(_mm512_mask_loadu_epi32(raw(splat(largest<int32_t>)), first_lanes(n), p));
}
MX_INLINE V64 load_part(const int64_t *p, int64_t n) {
  return reinterpret_cast<V64>(
      _mm512_mask_loadu_epi64(raw(splat(largest<int64_t>)), static_cast<__mmask8>(first_lanes(n)), p));
}
MX_INLINE void store_part(int32_t *p, V32 x, int64_t n) { _mm512_mask_storeu_epi32(p, first_lanes(n), raw(x)); }
MX_INLINE void store_part(int64_t *p, V64 x, int64_t n) {
  _mm512_mask_storeu_epi64(p, static_cast<__mmask8>(first_lanes(n)), raw(x));
}

// Which lanes are below the pivot, and the lanes of a set moved to the front.
MX_INLINE uint32_t below(V32 x, V32 pivot) { return _mm512_cmplt_epi32_mask(raw(x), raw(pivot)); }
MX_INLINE uint32_t below(V64 x, V64 pivot) { return _mm512_cmplt_epi64_mask(raw(x), raw(pivot)); }
MX_INLINE V32 compress(uint32_t lanes, V32 x) {
  return reinterpret_cast<V32>(_mm512_maskz_compress_epi32(static_cast<__mmask16>(lanes), raw(x)));
}
MX_INLINE V64 compress(uint32_t lanes, V64 x) {
  return reinterpret_cast<V64>(_mm512_maskz_compress_epi64(static_cast<__mmask8>(lanes), raw(x)));
}

// Writes the lanes of the set from `left` on and the others up to `right`. There is room for a whole vector from
// `left` on and for as many as there are before `right`.
template <class T>
MX_INLINE void divide(V<T> x, uint32_t lanes, int count, T *left, T *right) {
  store(left, compress(lanes, x));
  store_part(right - (width<T> - count), compress(~lanes, x), width<T> - count);
}

#else  // AVX2

MX_INLINE __m256i raw(V32 x) { return reinterpret_cast<__m256i>(x); }
MX_INLINE __m256i raw(V64 x) { return reinterpret_cast<__m256i>(x); }
MX_INLINE V64 choose(V64 where, V64 a, V64 b) {
  return reinterpret_cast<V64>(_mm256_blendv_epi8(raw(b), raw(a), raw(where)));
}
MX_INLINE V32 lower(V32 a, V32 b) { return reinterpret_cast<V32>(_mm256_min_epi32(raw(a), raw(b))); }
MX_INLINE V32 higher(V32 a, V32 b) { return reinterpret_cast<V32>(_mm256_max_epi32(raw(a), raw(b))); }
MX_INLINE V64 lower(V64 a, V64 b) { return choose(a > b, b, a); }
MX_INLINE V64 higher(V64 a, V64 b) { return choose(a > b, a, b); }

template <int bit>
constexpr int lanes_with = bit == 1   ? 0xaa
                           : bit == 2 ? 0xcc
                                      : 0xf0;
template <int bit>
MX_INLINE V32 lower_then_higher(V32 a, V32 b) {
  return reinterpret_cast<V32>(_mm256_blend_epi32(raw(lower(a, b)), raw(higher(a, b)), lanes_with<bit>));
}
template <int bit>
MX_INLINE V32 higher_then_lower(V32 a, V32 b) {
  return reinterpret_cast<V32>(_mm256_blend_epi32(raw(higher(a, b)), raw(lower(a, b)), lanes_with<bit>));
}
template <int bit>
MX_INLINE V64 lanes_set() {
  return V64{0, bit & 1 ? -1 : 0, bit & 2 ? -1 : 0, -1};
}
template <int bit>
MX_INLINE V64 lower_then_higher(V64 a, V64 b) {
  return choose((a > b) ^ lanes_set<bit>(), b, a);
}
template <int bit>
MX_INLINE V64 higher_then_lower(V64 a, V64 b) {
  return choose((a > b) ^ lanes_set<bit>(), a, b);
}

MX_INLINE V32 first_lanes32(int64_t n) {
  const int32_t count = static_cast<int32_t>(n > 8 ? 8 : n < 0 ? 0 : n);
  return splat(count) > V32{0, 1, 2, 3, 4, 5, 6, 7};
}
MX_INLINE V64 first_lanes64(int64_t n) { return splat(n) > V64{0, 1, 2, 3}; }
MX_INLINE V32 load_part(const int32_t *p, int64_t n) {
  const V32 lanes = first_lanes32(n);
  const V32 x = reinterpret_cast<V32>(_mm256_maskload_epi32(p, raw(lanes)));
  return x | (~lanes & splat(largest<int32_t>));
}
MX_INLINE V64 load_part(const int64_t *p, int64_t n) {
  const V64 lanes = first_lanes64(n);
  const V64 x = reinterpret_cast<V64>(_mm256_maskload_epi64(reinterpret_cast<const long long *>(p), raw(lanes)));
  return x | (~lanes & splat(largest<int64_t>));
}
MX_INLINE void store_part(int32_t *p, V32 x, int64_t n) { _mm256_maskstore_epi32(p, raw(first_lanes32(n)), raw(x)); }
MX_INLINE void store_part(int64_t *p, V64 x, int64_t n) {
  _mm256_maskstore_epi64(reinterpret_cast<long long *>(p), raw(first_lanes64(n)), raw(x));
}

// For every set of lanes, the lanes in it and then the others: by one permutation of 32-bit lanes.
template <int lanes, int parts>
struct Compressions {
  uint8_t order[1 << lanes][8];
  constexpr Compressions() : order() {
    for (int set = 0; set < 1 << lanes; set++) {
      int at = 0;
      for (int inside = 1; inside >= 0; inside--)
        for (int l = 0; l < lanes; l++)
          if ((set >> l & 1) == inside)
            for (int part = 0; part < parts; part++) order[set][at++] = static_cast<uint8_t>(l * parts + part);
    }
  }
};
static constexpr Compressions<8, 1> compressions32;
static constexpr Compressions<4, 2> compressions64;

MX_INLINE uint32_t below(V32 x, V32 pivot) {
  return static_cast<uint32_t>(_mm256_movemask_ps(reinterpret_cast<__m256>(pivot > x)));
}
MX_INLINE uint32_t below(V64 x, V64 pivot) {
  return static_cast<uint32_t>(_mm256_movemask_pd(reinterpret_cast<__m256d>(pivot > x)));
}
MX_INLINE __m256i permute(__m256i x, const uint8_t *order) {
  const __m256i lanes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(order)));
  return _mm256_permutevar8x32_epi32(x, lanes);
}
MX_INLINE V32 set_first(uint32_t lanes, V32 x) {
  return reinterpret_cast<V32>(permute(raw(x), compressions32.order[lanes]));
}
MX_INLINE V64 set_first(uint32_t lanes, V64 x) {
  return reinterpret_cast<V64>(permute(raw(x), compressions64.order[lanes]));
}
MX_INLINE V32 compress(uint32_t lanes, V32 x) { return set_first(lanes & 0xff, x); }
MX_INLINE V64 compress(uint32_t lanes, V64 x) { return set_first(lanes & 0xf, x); }

// As above, but a whole vector is written on both sides.
template <class T>
MX_INLINE void divide(V<T> x, uint32_t lanes, int, T *left, T *right) {
  const V<T> y = set_first(lanes, x);
  store(left, y);
  store(right - width<T>, y);
}

#endif

}  // namespace mx::cpu::sorting::MX_LEVEL
