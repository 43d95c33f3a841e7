// Vectors of the level that this file is compiled for, and loads that widen float16 and bfloat16. Only for the
// per-level matmul sources: everything is in an anonymous namespace. Uses the vector extensions of GCC and Clang, and
// intrinsics where those have no word for it.
#pragma once
#include <stdint.h>
#include <string.h>

#include <type_traits>
#include <utility>

#include "base/dtype.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(vector_bytes)));
};
template <class T>
using Vec = typename VectorOf<T>::type;
template <class T>
constexpr int width = vector_bytes / static_cast<int>(sizeof(T));

#if defined(__AVX512F__)
// Half as wide: the CPU may load, and so broadcast, twice as many of these in the same time.
template <class T>
struct HalfOf {
  typedef T type __attribute__((vector_size(vector_bytes / 2)));
};
#endif

// Vectors in a cache line: rows that lie a power of two apart share a cache set, so a line is used up when it is there.
constexpr int line_vectors = 64 / vector_bytes;

template <class T>
inline Vec<T> load(const void *p) {
  Vec<T> v;
  memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
inline void store(void *p, Vec<T> v) {
  memcpy(p, &v, sizeof v);
}

// The first n elements, the others 0; nothing else is touched.
template <class T>
inline Vec<T> load_some(const void *p, int64_t n) {
#if defined(__AVX512F__)
  const auto mask = static_cast<__mmask16>((1u << n) - 1);
  if constexpr (sizeof(T) == 4)
    return _mm512_maskz_loadu_ps(mask, p);
  else
    return _mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), p);
#else
  T some[width<T>] = {};
  for (int64_t i = 0; i < n; i++) some[i] = static_cast<const T *>(p)[i];
  return load<T>(some);
#endif
}
template <class T>
inline void store_some(void *p, Vec<T> v, int64_t n) {
#if defined(__AVX512F__)
  const auto mask = static_cast<__mmask16>((1u << n) - 1);
  if constexpr (sizeof(T) == 4)
    _mm512_mask_storeu_ps(p, mask, v);
  else
    _mm512_mask_storeu_pd(p, static_cast<__mmask8>(mask), v);
#else
  T some[width<T>];  // an index into the vector would keep it out of the registers
  store<T>(some, v);
  for (int64_t i = 0; i < n; i++) static_cast<T *>(p)[i] = some[i];
#endif
}

// fma: a * b + c, and fnma: c - a * b; rounded once where the level has it, else twice. Scalars and vectors agree.
#if defined(__AVX512F__)
inline Vec<float> splat(float x) { return _mm512_set1_ps(x); }
inline Vec<double> splat(double x) { return _mm512_set1_pd(x); }
inline Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) { return _mm512_fmadd_ps(a, b, c); }
inline Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) { return _mm512_fmadd_pd(a, b, c); }
inline Vec<float> fnma(Vec<float> a, Vec<float> b, Vec<float> c) { return _mm512_fnmadd_ps(a, b, c); }
#elif defined(__AVX2__)
inline Vec<float> splat(float x) { return _mm256_set1_ps(x); }
inline Vec<double> splat(double x) { return _mm256_set1_pd(x); }
inline Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) { return _mm256_fmadd_ps(a, b, c); }
inline Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) { return _mm256_fmadd_pd(a, b, c); }
inline Vec<float> fnma(Vec<float> a, Vec<float> b, Vec<float> c) { return _mm256_fnmadd_ps(a, b, c); }
#elif defined(__aarch64__)
inline Vec<float> splat(float x) { return vdupq_n_f32(x); }
inline Vec<double> splat(double x) { return vdupq_n_f64(x); }
inline Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) { return vfmaq_f32(c, a, b); }
inline Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) { return vfmaq_f64(c, a, b); }
inline Vec<float> fnma(Vec<float> a, Vec<float> b, Vec<float> c) { return vfmsq_f32(c, a, b); }
#else
inline Vec<float> splat(float x) { return x - Vec<float>{}; }
inline Vec<double> splat(double x) { return x - Vec<double>{}; }
inline Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) { return a * b + c; }
inline Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) { return a * b + c; }
inline Vec<float> fnma(Vec<float> a, Vec<float> b, Vec<float> c) { return c - a * b; }
#endif

// x in all elements of a vector.
template <class V, class T>
inline V splat_to(T x) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) < vector_bytes) {
    if constexpr (sizeof(T) == 4)
      return _mm256_set1_ps(x);
    else
      return _mm256_set1_pd(x);
  } else {
    return splat(x);
  }
#else
  return splat(x);
#endif
}

// sum += a * b, as fma, but always in the register that `sum` is in: left to itself GCC rotates a large tile through
// other registers, and moving them costs a tenth of the speed.
template <class T, class V>
inline void add_product(V &sum, V a, V b) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    asm("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  else
    asm("vfmadd231pd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4)
    asm("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
  else
    asm("vfmadd231pd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
#else
  sum = fma(a, b, sum);
#endif
}

#if defined(__FMA__) || defined(__aarch64__)
inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
inline float fma(float a, float b, float c) { return a * b + c; }
inline double fma(double a, double b, double c) { return a * b + c; }
#endif

// One stage of a transposition: swaps the off-diagonal blocks of size S of every 2S x 2S block.
template <class T, int S, int... I>
inline void transpose_stage(Vec<T> *rows, std::integer_sequence<int, I...>) {
  constexpr int w = width<T>;
  for (int i = 0; i < w; i++) {
    if (i & S) continue;
    const Vec<T> a = rows[i], b = rows[i + S];
    rows[i] = __builtin_shufflevector(a, b, ((I & S) ? w + I - S : I)...);
    rows[i + S] = __builtin_shufflevector(a, b, ((I & S) ? w + I : I + S)...);
  }
}

// Transposes width x width elements in registers.
template <class T>
inline void transpose(Vec<T> *rows) {
  constexpr auto lanes = std::make_integer_sequence<int, width<T>>();
  if constexpr (width<T> >= 16) transpose_stage<T, 8>(rows, lanes);
  if constexpr (width<T> >= 8) transpose_stage<T, 4>(rows, lanes);
  if constexpr (width<T> >= 4) transpose_stage<T, 2>(rows, lanes);
  transpose_stage<T, 1>(rows, lanes);
}

// How an element type is stored, and the type it is added up in.
template <class S>
struct Element {
  using Sum = S;
  static S widen(const char *p) {
    S x;
    memcpy(&x, p, sizeof x);
    return x;
  }
  static Vec<S> widen_vector(const char *p) { return load<S>(p); }
  static S round(S x) { return x; }
  static void round_vector(char *out, Vec<S> x) { store<S>(out, x); }
};

template <>
struct Element<mx::Complex64> {
  using Sum = mx::Complex64;
  static mx::Complex64 widen(const char *p) {
    mx::Complex64 z;
    memcpy(&z, p, sizeof z);
    return z;
  }
};

template <>
struct Element<mx::BFloat16> {
  using Sum = float;
  static float widen(const char *p) {
    uint16_t bits;
    memcpy(&bits, p, sizeof bits);
    const uint32_t wide = uint32_t{bits} << 16;
    float x;
    memcpy(&x, &wide, sizeof x);
    return x;
  }
  static Vec<float> widen_vector(const char *p) {
    typedef uint16_t Half __attribute__((vector_size(vector_bytes / 2)));
    Half half;
    memcpy(&half, p, sizeof half);
    const Vec<uint32_t> wide = __builtin_convertvector(half, Vec<uint32_t>) << 16;
    Vec<float> x;
    memcpy(&x, &wide, sizeof x);
    return x;
  }
  static mx::BFloat16 round(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (x != x) return {static_cast<uint16_t>((bits >> 16) | 0x40)};
    return {static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
  }
  static void round_vector(char *out, Vec<float> x) {
    typedef uint16_t Half __attribute__((vector_size(vector_bytes / 2)));
    Vec<uint32_t> bits;
    memcpy(&bits, &x, sizeof x);
    const Vec<uint32_t> is_nan = reinterpret_cast<Vec<uint32_t>>(x != x);
    const Vec<uint32_t> rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16, quiet = (bits >> 16) | 0x40;
    const Half half = __builtin_convertvector((is_nan & quiet) | (~is_nan & rounded), Half);
    memcpy(out, &half, sizeof half);
  }
};

template <>
struct Element<mx::Float16> {
  using Sum = float;
#if defined(__F16C__)
  static float widen(const char *p) {
    uint16_t bits;
    memcpy(&bits, p, sizeof bits);
    return _cvtsh_ss(bits);
  }
  static mx::Float16 round(float x) { return {_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT)}; }
#else
  static float widen(const char *p) {
    mx::Float16 x;
    memcpy(&x, p, sizeof x);
    return mx::to_float(x);
  }
  static mx::Float16 round(float x) { return mx::to_float16(x); }
#endif
  static Vec<float> widen_vector(const char *p) {
#if defined(__AVX512F__)
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)));
#elif defined(__F16C__)
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p)));
#else
    float x[width<float>];
    for (int i = 0; i < width<float>; i++) x[i] = widen(p + i * 2);
    return load<float>(x);
#endif
  }
  static void round_vector(char *out, Vec<float> x) {
#if defined(__AVX512F__)
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(out), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
    _mm_storeu_si128(reinterpret_cast<__m128i *>(out), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
#else
    for (int i = 0; i < width<float>; i++) {
      const mx::Float16 y = round(x[i]);
      memcpy(out + i * 2, &y, sizeof y);
    }
#endif
  }
};

}  // namespace
