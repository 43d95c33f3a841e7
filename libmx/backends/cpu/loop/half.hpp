// float16 and bfloat16 in the bits of 32-bit lanes, to and from float32, rounding to nearest even. Included only by the
// per-level sources.
#pragma once
#include "backends/cpu/loop/vector.hpp"

namespace {

#if defined(__AVX512F__)
inline F from_half(U h) {
  return _mm512_maskz_cvtph_ps(0xffff, bits<__m256i>(__builtin_convertvector(h, Vec<uint16_t, 32>)));
}
inline U to_half(F x) {
  return __builtin_convertvector(bits<Vec<uint16_t, 32>>(_mm512_maskz_cvtps_ph(0xffff, x, _MM_FROUND_TO_NEAREST_INT)),
                                 U);
}
#elif defined(__F16C__)
inline F from_half(U h) { return _mm256_cvtph_ps(bits<__m128i>(__builtin_convertvector(h, Vec<uint16_t, 16>))); }
inline U to_half(F x) {
  return __builtin_convertvector(bits<Vec<uint16_t, 16>>(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT)), U);
}
#else
inline F from_half(U h) {
  const U sign = (h & 0x8000u) << 16, magnitude = h & 0x7fffu;
  // The exponent is rebased by a multiplication, which also makes denormals normal.
  F x = bits<F>(magnitude << 13) * 0x1p112f;
  x = magnitude >= 0x7c00u ? bits<F>((magnitude << 13) | 0x7f800000u) : x;
  x = magnitude > 0x7c00u ? bits<F>(bits<U>(x) | 0x400000u) : x;
  return bits<F>(bits<U>(x) | sign);
}
inline U to_half(F x) {
  const U raw = bits<U>(x), sign = (raw >> 16) & 0x8000u, magnitude = raw & 0x7fffffffu;
  const U normal = (magnitude + 0xc8000fffu + ((magnitude >> 13) & 1u)) >> 13;
  // Adding 1/2 lets the float32 adder round a denormal result at the right bit.
  const U denormal = bits<U>(bits<F>(magnitude) + 0.5f) - 0x3f000000u;
  U h = bits<I>(magnitude) < 0x38800000 ? denormal : normal;
  h = magnitude >= 0x477ff000u ? U{} + 0x7c00u : h;
  h = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x3ffu) : h;
  return h | sign;
}
#endif
inline F from_brain(U h) { return bits<F>(h << 16); }
inline U to_brain(F x) {
  const U raw = bits<U>(x);
  const U rounded = (raw + 0x7fffu + ((raw >> 16) & 1u)) >> 16;
  return x != x ? (raw >> 16) | 0x40u : rounded;
}

}  // namespace
