// Sixteen codes at a time as floats, for the level that this file is compiled for. Only for level.cpp beside it.
//
// Each struct has `decode`, from the 2 * bits bytes at `p` to the vectors of sixteen numbers, and says whether these
// come interleaved: then numbers 0 and 8 come first, then 1 and 9, and so on, so that two 32-bit words of eight codes
// each are shifted apart without a permutation.
#pragma once
#include "backends/cpu/matmul_vector.hpp"

namespace {

constexpr int lanes = width<float>, vectors = 16 / lanes;

// E2M1 (OCP Microscaling Formats, 2023): codes from 8 on are negative.
constexpr float e2m1[16] = {0.f, 0.5f, 1.f, 1.5f, 2.f, 3.f, 4.f, 6.f, -0.f, -0.5f, -1.f, -1.5f, -2.f, -3.f, -4.f, -6.f};

// E4M3 (OCP 8-bit Floating Point, 2023): exponent bias 7, no infinities, NaN is 0x7f.
constexpr float e4m3_number(int code) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  if ((code & 127) == 127) return __builtin_nanf("");
  float size = exponent ? static_cast<float>(8 + mantissa) : static_cast<float>(mantissa);
  for (int e = exponent ? exponent : 1; e < 10; e++) size /= 2;
  for (int e = 10; e < exponent; e++) size *= 2;
  return code & 128 ? -size : size;
}

struct E4m3Table {
  float at[256];
  constexpr E4m3Table() : at{} {
    for (int i = 0; i < 256; i++) at[i] = e4m3_number(i);
  }
};
constexpr E4m3Table e4m3_table;

template <class T>
inline T bytes(const uint8_t *p) {
  T x;
  memcpy(&x, p, sizeof x);
  return x;
}

#if defined(__AVX2__)

// The bytes of sixteen codes and nothing else.
template <int bits>
inline __m128i code_bytes(const uint8_t *p) {
  if constexpr (bits == 3) {
    const uint64_t low = bytes<uint32_t>(p), high = bytes<uint16_t>(p + 4);
    return _mm_cvtsi64_si128(static_cast<int64_t>(low | high << 32));
  } else {
    const __m128i low = _mm_cvtsi64_si128(bytes<int64_t>(p));
    if constexpr (bits == 5)
      return _mm_insert_epi16(low, bytes<uint16_t>(p + 8), 4);
    else
      return _mm_insert_epi32(low, bytes<int32_t>(p + 8), 2);
  }
}

// For a code in each 32-bit lane: the two bytes that hold it, and how far up in them it is.
template <int bits>
struct Windows {
  alignas(64) uint8_t byte[64];
  alignas(64) uint32_t shift[16];
  constexpr Windows() : byte{}, shift{} {
    for (int i = 0; i < 16; i++) {
      const int first = i * bits / 8;
      byte[4 * i] = static_cast<uint8_t>(first);
      byte[4 * i + 1] = static_cast<uint8_t>(first + 1 < 2 * bits ? first + 1 : 0x80);
      byte[4 * i + 2] = byte[4 * i + 3] = 0x80;
      shift[i] = static_cast<uint32_t>(i * bits % 8);
    }
  }
};
template <int bits>
constexpr Windows<bits> windows;

// E4M3 as the float16 of 1/256 of its value.
inline __m128i e4m3_halves(__m128i wide) {
  const __m128i nan = _mm_cmpeq_epi16(_mm_and_si128(wide, _mm_set1_epi16(0x7f)), _mm_set1_epi16(0x7f));
  const __m128i moved = _mm_srai_epi16(_mm_slli_epi16(wide, 8), 1);
  return _mm_or_si128(_mm_and_si128(moved, _mm_set1_epi16(static_cast<int16_t>(0xbfff))), nan);
}

#endif

#if defined(__AVX512F__)

template <int kind_bits>
struct Unsigned {
  static constexpr int bits = kind_bits;
  static constexpr bool interleaved = bits == 4;
  static void decode(Vec<float> (&v)[1], const uint8_t *p) {
    const __m512i mask = _mm512_set1_epi32((1 << bits) - 1);
    if constexpr (bits == 2) {
      const __m512i shift = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
      const __m512i x = _mm512_srlv_epi32(_mm512_set1_epi32(bytes<int32_t>(p)), shift);
      v[0] = _mm512_cvtepi32_ps(_mm512_and_epi32(x, mask));
    } else if constexpr (bits == 4) {
      v[0] = look_up(p, _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    } else if constexpr (bits == 8) {
      v[0] = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p))));
    } else {
      const __m512i all = _mm512_broadcast_i32x4(code_bytes<bits>(p));
      const __m512i x = _mm512_shuffle_epi8(all, _mm512_load_si512(windows<bits>.byte));
      const __m512i low = _mm512_srlv_epi32(x, _mm512_load_si512(windows<bits>.shift));
      v[0] = _mm512_cvtepi32_ps(_mm512_and_epi32(low, mask));
    }
  }
  // The entries of a table at sixteen codes of four bits, interleaved. Only the low bits of an index count.
  static Vec<float> look_up(const uint8_t *p, __m512 entries) {
    const __m512i shift = _mm512_setr_epi32(0, 0, 4, 4, 8, 8, 12, 12, 16, 16, 20, 20, 24, 24, 28, 28);
    return _mm512_permutexvar_ps(_mm512_srlv_epi32(_mm512_set1_epi64(bytes<int64_t>(p)), shift), entries);
  }
};

struct Fp4 {
  static constexpr int bits = 4;
  static constexpr bool interleaved = true;
  static void decode(Vec<float> (&v)[1], const uint8_t *p) { v[0] = Unsigned<4>::look_up(p, _mm512_loadu_ps(e2m1)); }
};

struct Fp8 {
  static constexpr int bits = 8;
  static constexpr bool interleaved = false;
  static void decode(Vec<float> (&v)[1], const uint8_t *p) {
    const __m128i both = _mm_loadu_si128(reinterpret_cast<const __m128i *>(p));
    const __m128i low = e4m3_halves(_mm_cvtepu8_epi16(both));
    const __m128i high = e4m3_halves(_mm_cvtepu8_epi16(_mm_srli_si128(both, 8)));
    v[0] = _mm512_cvtph_ps(_mm256_set_m128i(high, low)) * splat(256.f);
  }
};

#elif defined(__AVX2__)

template <int kind_bits>
struct Unsigned {
  static constexpr int bits = kind_bits;
  static constexpr bool interleaved = false;
  static void decode(Vec<float> (&v)[2], const uint8_t *p) {
    const __m256i mask = _mm256_set1_epi32((1 << bits) - 1);
    for (int i = 0; i < 2; i++) {
      __m256i x;
      if constexpr (bits == 2) {
        const __m256i shift = _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
        x = _mm256_srlv_epi32(_mm256_set1_epi32(bytes<uint16_t>(p + 2 * i)), shift);
      } else if constexpr (bits == 4) {
        const __m256i shift = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
        x = _mm256_srlv_epi32(_mm256_set1_epi32(bytes<int32_t>(p + 4 * i)), shift);
      } else if constexpr (bits == 8) {
        x = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(p + 8 * i)));
      } else {
        const __m256i control = _mm256_load_si256(reinterpret_cast<const __m256i *>(windows<bits>.byte) + i);
        const __m256i shift = _mm256_load_si256(reinterpret_cast<const __m256i *>(windows<bits>.shift) + i);
        x = _mm256_srlv_epi32(_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(code_bytes<bits>(p)), control), shift);
      }
      v[i] = _mm256_cvtepi32_ps(_mm256_and_si256(x, mask));
    }
  }
};

struct Fp4 {
  static constexpr int bits = 4;
  static constexpr bool interleaved = false;
  static void decode(Vec<float> (&v)[2], const uint8_t *p) {
    const __m256i shift = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    const __m256 sizes = _mm256_loadu_ps(e2m1);  // an index counts modulo 8
    for (int i = 0; i < 2; i++) {
      const __m256i x = _mm256_srlv_epi32(_mm256_set1_epi32(bytes<int32_t>(p + 4 * i)), shift);
      const __m256i sign = _mm256_and_si256(_mm256_slli_epi32(x, 28), _mm256_set1_epi32(INT32_MIN));
      v[i] = _mm256_or_ps(_mm256_permutevar8x32_ps(sizes, x), _mm256_castsi256_ps(sign));
    }
  }
};

struct Fp8 {
  static constexpr int bits = 8;
  static constexpr bool interleaved = false;
  static void decode(Vec<float> (&v)[2], const uint8_t *p) {
    for (int i = 0; i < 2; i++) {
      const __m128i codes = _mm_loadl_epi64(reinterpret_cast<const __m128i *>(p + 8 * i));
      v[i] = _mm256_cvtph_ps(e4m3_halves(_mm_cvtepu8_epi16(codes))) * splat(256.f);
    }
  }
};

#else

// One number after the other; `number` turns a code into one.
template <int kind_bits, class Number>
struct OneByOne {
  static constexpr int bits = kind_bits;
  static constexpr bool interleaved = false;
  static void decode(Vec<float> (&v)[vectors], const uint8_t *p) {
    float numbers[16];
    for (int half = 0; half < 2; half++) {
      uint64_t string = 0;
      for (int i = 0; i < bits; i++) string |= uint64_t{p[half * bits + i]} << (8 * i);
      for (int i = 0; i < 8; i++) numbers[8 * half + i] = Number::of(string >> (i * bits) & ((1 << bits) - 1));
    }
    for (int i = 0; i < vectors; i++) v[i] = load<float>(numbers + i * lanes);
  }
};

struct Itself {
  static float of(uint64_t code) { return static_cast<float>(code); }
};
struct FromE2m1 {
  static float of(uint64_t code) { return e2m1[code]; }
};
struct FromE4m3 {
  static float of(uint64_t code) { return e4m3_table.at[code]; }
};
template <int bits>
using Unsigned = OneByOne<bits, Itself>;
using Fp4 = OneByOne<4, FromE2m1>;
using Fp8 = OneByOne<8, FromE4m3>;

#endif

}  // namespace
