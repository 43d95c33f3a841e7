// Numbers to codes, for the level that this file is compiled for. Only for level.cpp beside it. The rules are
// documented in mx/quantize.h.
#pragma once
#include "backends/cpu/quantize/codes.hpp"
#include "backends/cpu/quantize/level.hpp"

namespace {

// Plain loops over a group's numbers: the compiler vectorises them, given that `n` is a multiple of 16.

inline float least_of(const float *x, int64_t n) {
  Vec<float> least = load<float>(x);
  for (int64_t i = lanes; i < n; i += lanes) {
    const Vec<float> v = load<float>(x + i);
    least = v < least ? v : least;
  }
  float result = least[0];
  for (int i = 1; i < lanes; i++) result = least[i] < result ? least[i] : result;
  return result;
}

// Also finds what is not finite: there is a difference then between a number and itself.
inline bool all_finite(const float *x, int64_t n) {
  Vec<float> difference{};
  for (int64_t i = 0; i < n; i += lanes) {
    const Vec<float> v = load<float>(x + i);
    difference += v - v;
  }
  float sum = 0;
  for (int i = 0; i < lanes; i++) sum += difference[i];
  return sum == 0;
}

inline float largest_of(const float *x, int64_t n) {
  Vec<float> most = load<float>(x);
  for (int64_t i = lanes; i < n; i += lanes) {
    const Vec<float> v = load<float>(x + i);
    most = v > most ? v : most;
  }
  float result = most[0];
  for (int i = 1; i < lanes; i++) result = most[i] > result ? most[i] : result;
  return result;
}

void encode_affine(uint8_t *codes, float *scales, float *biases, const float *x, int64_t group, int64_t n, int bits) {
  const auto most = static_cast<float>((1 << bits) - 1);
  for (int64_t g = 0; g < n; g++, x += group, codes += group) {
    const float low = least_of(x, group), high = largest_of(x, group), span = high - low;
    if (!all_finite(x, group) || span - span != 0) {
      scales[g] = biases[g] = __builtin_nanf("");
      memset(codes, 0, static_cast<size_t>(group));
      continue;
    }
    const bool low_is_larger = __builtin_fabsf(low) > __builtin_fabsf(high);
    const float step = span / most, least_step = step > 1e-7f ? step : 1e-7f;
    const float edge = low_is_larger ? low : high;
    float scale = low_is_larger ? least_step : -least_step, bias = 0;
    const float at_edge = __builtin_rintf(edge / scale);
    if (at_edge != 0) scale = edge / at_edge, bias = edge;  // so that both the edge and 0 are numbers of the grid
    for (int64_t i = 0; i < group; i++) {
      const float y = __builtin_rintf((x[i] - bias) / scale), above = y > 0 ? y : 0;
      codes[i] = static_cast<uint8_t>(static_cast<int32_t>(above < most ? above : most));
    }
    scales[g] = scale;
    biases[g] = bias;
  }
}

// The code of the exponent that is nearest to that of x >= 0, by logarithm; 127, which is 1, for 0.
inline uint8_t to_e8m0(float x) {
  if (x == 0) return 127;
  int shift = 0;
  if (x < 0x1p-100f) x *= 0x1p64f, shift = 64;
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  constexpr uint32_t root_two = 0x3504f3;  // the fraction of the largest float below the square root of 2
  const int code = static_cast<int>(bits >> 23) + ((bits & 0x7fffff) > root_two) - shift;
  return static_cast<uint8_t>(code < 0 ? 0 : code > 254 ? 254 : code);
}

// To the nearest, ties to even mantissas; beyond 448 it is 448.
inline uint8_t to_e4m3(float x) {
  const float size = __builtin_fabsf(x);
  uint32_t bits, sign;
  memcpy(&sign, &x, sizeof sign);
  sign = sign >> 24 & 128;
  if (!(size < 448)) return static_cast<uint8_t>(sign | (size != size ? 0x7f : 0x7e));
  if (size < 0x1p-6f) return static_cast<uint8_t>(sign | static_cast<uint32_t>(__builtin_rintf(size * 0x1p9f)));
  memcpy(&bits, &size, sizeof bits);
  bits += 0x7ffff + (bits >> 20 & 1);
  return static_cast<uint8_t>(sign | ((bits >> 20) - (120u << 3)));
}

// To the nearest, ties to even mantissas; beyond 6 it is 6. The bounds are halfway between two numbers, and belong to
// the one with the even code.
inline uint8_t to_e2m1(float x) {
  const float size = __builtin_fabsf(x);
  uint32_t sign;
  memcpy(&sign, &x, sizeof sign);
  const int code = (size > 0.25f) + (size >= 0.75f) + (size > 1.25f) + (size >= 1.75f) + (size > 2.5f) +
                   (size >= 3.5f) + (size > 5.f);
  return static_cast<uint8_t>((sign >> 28 & 8) | static_cast<uint32_t>(code));
}

// `factor` turns a scale into what is stored, e4m3 only.
void encode_float(uint8_t *codes, uint8_t *scales, const float *x, int64_t group, int64_t n, int code_kind,
                  int scale_kind, float factor) {
  using namespace mx::cpu::packed;
  const float most = code_kind == fp4 ? 6.f : 448.f;
  for (int64_t g = 0; g < n; g++, x += group, codes += group) {
    if (!all_finite(x, group)) {
      scales[g] = scale_kind == e8m0 ? 255 : 127;
      memset(codes, 0, static_cast<size_t>(group));
      continue;
    }
    const float low = -least_of(x, group), high = largest_of(x, group), size = low > high ? low : high;
    float scale;
    if (scale_kind == e8m0) {
      scales[g] = to_e8m0(size / most);
      const uint32_t bits = scales[g] == 0 ? 1u << 22 : uint32_t{scales[g]} << 23;
      memcpy(&scale, &bits, sizeof scale);
    } else {
      scales[g] = to_e4m3(size / most * factor);
      scale = e4m3_table.at[scales[g]];
    }
    if (scale == 0) {
      memset(codes, 0, static_cast<size_t>(group));
      continue;
    }
    for (int64_t i = 0; i < group; i++) {
      const float y = x[i] / scale * factor;
      codes[i] = code_kind == fp4 ? to_e2m1(y) : to_e4m3(y);
    }
  }
}

}  // namespace
