// Conversions between float32 and the 16-bit floats, rounding to nearest even. NaN stays NaN.
#include "backends/cpu/rows/level.hpp"

namespace mx::cpu::rows::MX_LEVEL {
namespace {

MX_INLINE uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
MX_INLINE float float_of(uint32_t x) { return __builtin_bit_cast(float, x); }

// The portable forms are those of element.hpp, which says why they are right.
MX_INLINE float from_half(uint16_t x) {
  const uint32_t magnitude = (x & 0x7fffu) << 13, sign = (x & 0x8000u) << 16;
  const uint32_t finite = bits_of(float_of(magnitude) * 0x1p112f);
  return float_of(((x & 0x7c00u) == 0x7c00u ? magnitude | 0x7f800000u : finite) | sign);
}

MX_INLINE uint16_t to_half(float x) {
  const uint32_t bits = bits_of(x), magnitude = bits & 0x7fffffffu;
  const uint32_t normal = ((magnitude + 0xfffu + (magnitude >> 13 & 1)) >> 13) - (112u << 10);
  const uint32_t tiny = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t large = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const uint32_t half = magnitude >= 0x47800000u ? large : magnitude < 0x38800000u ? tiny : normal;
  return static_cast<uint16_t>(half | (bits >> 16 & 0x8000u));
}

}  // namespace

void half_to_float(float *out, const uint16_t *in, size_t n) {
  size_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(in + i))));
  }
#endif
  for (; i < n; i++) out[i] = from_half(in[i]);
}

void float_to_half(uint16_t *out, const float *in, size_t n) {
  size_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i *>(out + i), half);
  }
#endif
  for (; i < n; i++) out[i] = to_half(in[i]);
}

void bfloat_to_float(float *out, const uint16_t *in, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = float_of(uint32_t{in[i]} << 16);
}

void float_to_bfloat(uint16_t *out, const float *in, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const uint32_t bits = bits_of(in[i]), rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    out[i] = static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? bits >> 16 | 0x40u : rounded);
  }
}

}  // namespace mx::cpu::rows::MX_LEVEL
