// What the sources of one level share: vectors of the level's width, fma, exp. Included by rows/*.cpp only, each
// compiled with -march=<level> -DMX_LEVEL=<level>. Everything lives in a namespace named after the level and nothing
// comes from the standard library, so that no two levels define the same symbol. GCC's and Clang's vector extensions
// are enough but for fma, which they would only contract by chance.
#pragma once
#include <stdint.h>

#include "backends/cpu/rows/rows.hpp"
#include "backends/cpu/shuffle.hpp"
#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace mx::cpu::rows::MX_LEVEL {

#if defined(__AVX512F__)
constexpr int width = 16;
#elif defined(__AVX2__)
constexpr int width = 8;
#else
constexpr int width = 4;
#endif

typedef float F __attribute__((vector_size(width * 4)));
typedef int32_t I __attribute__((vector_size(width * 4)));
typedef uint32_t U __attribute__((vector_size(width * 4)));
typedef float Unaligned __attribute__((vector_size(width * 4), aligned(4), may_alias));

#define MX_INLINE static inline __attribute__((always_inline))

MX_INLINE F load(const float *p) { return *reinterpret_cast<const Unaligned *>(p); }
MX_INLINE void store(float *p, F x) { *reinterpret_cast<Unaligned *>(p) = x; }
MX_INLINE F splat(float x) { return x - F{}; }  // x + 0 is not x for -0, and costs an addition

// The first n lanes from memory, the others `rest`; and back.
MX_INLINE F load_part(const float *p, size_t n, float rest) {
  F x = splat(rest);
  for (size_t i = 0; i < n; i++) x[i] = p[i];
  return x;
}
MX_INLINE void store_part(float *p, F x, size_t n) {
  for (size_t i = 0; i < n; i++) p[i] = x[i];
}

// a * b + c, rounded once where the level has it.
MX_INLINE F fma(F a, F b, F c) {
#if defined(__AVX512F__)
  return reinterpret_cast<F>(_mm512_fmadd_ps(a, b, c));
#elif defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#elif defined(__aarch64__)
  return vfmaq_f32(c, a, b);
#else
  return a * b + c;
#endif
}

// NaN if there is one.
MX_INLINE F maximum(F a, F b) { return ((b > a) | (b != b)) ? b : a; }
MX_INLINE F minimum(F a, F b) { return ((b < a) | (b != b)) ? b : a; }

// For each lane the one `half` further on. From memory: the compiler would build it lane by lane.
struct Lanes {
  alignas(64) int32_t at[width];
};
constexpr Lanes further(int half) {
  Lanes lanes{};
  for (int i = 0; i < width; i++) lanes.at[i] = (i + half) % width;
  return lanes;
}

// The lanes combined by halves, so that the order depends on the width only.
template <int half, class Fold>
MX_INLINE float reduce(F x, Fold fold) {
  if constexpr (half == 0) {
    return x[0];
  } else {
    static constexpr Lanes upper = further(half);
    return reduce<half / 2>(fold(x, MX_SHUFFLE(x, *reinterpret_cast<const I *>(upper.at))), fold);
  }
}
MX_INLINE float reduce_sum(F x) {
  return reduce<width / 2>(x, [](F a, F b) { return a + b; });
}
MX_INLINE float reduce_max(F x) {
  return reduce<width / 2>(x, [](F a, F b) { return maximum(a, b); });
}
MX_INLINE float reduce_min(F x) {
  return reduce<width / 2>(x, [](F a, F b) { return minimum(a, b); });
}

// exp(x) for x <= 0, within 1.5 ulp; 0 where the result would be subnormal; NaN gives NaN.
// x = n ln 2 + r with |r| <= ln 2 / 2; a polynomial of degree 6 for exp(r), fitted to the least relative error in
// extended precision (3e-9); 2^n by adding n to the exponent.
MX_INLINE F exp_nonpositive(F x) {
  const F round = splat(0x1.8p23f);
  const F t = fma(x, splat(0x1.715476p+0f), round);
  const F n = t - round;
  F r = fma(n, splat(-0x1.62e400p-1f), x);  // ln 2 in two parts, the first one short: n times it is exact
  r = fma(n, splat(-0x1.7f7d1cp-20f), r);
  F p = splat(0x1.6a2372p-10f);
  p = fma(p, r, splat(0x1.123a2ap-7f));
  p = fma(p, r, splat(0x1.5558f4p-5f));
  p = fma(p, r, splat(0x1.55549p-3f));
  p = fma(p, r, splat(0x1.fffffcp-2f));
  const F y = fma(p, r * r, r) + 1.0f;
  // Unsigned: far below the range the sum wraps, and is not used.
  const F scaled = reinterpret_cast<F>(reinterpret_cast<U>(y) + (reinterpret_cast<U>(t) << 23));
  const F flushed = x < -87.33654f ? F{} : scaled;
  return x != x ? x : flushed;
}

// The entries of the table; rows.hpp says what they do.
void half_to_float(float *out, const uint16_t *in, size_t n);
void float_to_half(uint16_t *out, const float *in, size_t n);
void bfloat_to_float(float *out, const uint16_t *in, size_t n);
void float_to_bfloat(uint16_t *out, const float *in, size_t n);
float maximum(const float *in, size_t n);
float minimum(const float *in, size_t n);
float sum(const float *in, size_t n);
float sum_squares(const float *in, size_t n, float centre);
float sum_exp(const float *in, size_t n, float maximum);
float exp_rows(float *out, const float *in, size_t n, float maximum);
void scale(float *out, const float *in, size_t n, float factor);
void stream(float *out, const float *in, size_t n);
void normalize(float *out, const float *in, size_t n, float centre, float factor, const float *weight,
               const float *bias);
void rotate(float *out_first, float *out_second, const float *first, const float *second, const float *cosine,
            const float *sine, size_t n);
void rotate_neighbours(float *out, const float *in, const float *cosine, const float *sine, size_t n);
float cumulative_sum(float *out, const float *in, size_t n, float carry);
void threefry(uint32_t *first, uint32_t *second, const uint32_t key[2], uint32_t counter0, uint32_t counter1, size_t n);
void attention(const AttentionBlock *block);
void attention_queries(float *out, const float *q, int64_t n_queries, int64_t depth);
size_t attention_scratch(int64_t n_queries, int64_t n_keys, int64_t value_depth);

}  // namespace mx::cpu::rows::MX_LEVEL
