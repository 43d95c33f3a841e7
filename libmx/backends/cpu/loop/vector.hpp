// The SIMD layer of the loop kernels: vectors as wide as the level's registers, written with the compiler's vector
// extensions, and the few operations that need an intrinsic. Included only by the per-level sources; everything is in
// an anonymous namespace so that no level can borrow another one's code.
#pragma once
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif
constexpr int n_vectors = 8;
constexpr int block_bytes = n_vectors * vector_bytes;

template <class T, int bytes = vector_bytes>
struct Vector {
  typedef T type __attribute__((vector_size(bytes)));
};
template <class T, int bytes = vector_bytes>
using Vec = typename Vector<T, bytes>::type;

using F = Vec<float>;
using I = Vec<int32_t>;
using U = Vec<uint32_t>;
using D = Vec<double>;
using L = Vec<int64_t>;
using W = Vec<uint64_t>;
template <class T>
constexpr bool is_float = __is_same(T, F) || __is_same(T, D);
using V = F;  // how a vector travels between steps, whatever it holds

template <class To, class From>
inline To bits(From x) {
  static_assert(sizeof(To) == sizeof(From));
  return reinterpret_cast<To>(x);
}
template <class T>
inline T load(const void *p) {
  T x;
  memcpy(&x, p, sizeof x);
  return x;
}
template <class T>
inline void store(void *p, T x) {
  memcpy(p, &x, sizeof x);
}
template <class T, class S>
inline T all(S x) {
  return x - T{};  // the extensions broadcast a scalar beside a vector; x - (+0) is x, -0 and NaN included
}

inline F abs(F x) { return bits<F>(bits<U>(x) & 0x7fffffffu); }
inline D abs(D x) { return bits<D>(bits<W>(x) & 0x7fffffffffffffffull); }
inline F copysign(F x, F s) { return bits<F>((bits<U>(x) & 0x7fffffffu) | (bits<U>(s) & 0x80000000u)); }
inline D copysign(D x, D s) {
  return bits<D>((bits<W>(x) & 0x7fffffffffffffffull) | (bits<W>(s) & 0x8000000000000000ull));
}

// True if any lane of a mask is set.
inline bool any(I mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask(bits<__m512i>(mask), bits<__m512i>(mask)) != 0;
#elif defined(__AVX2__)
  return !_mm256_testz_si256(bits<__m256i>(mask), bits<__m256i>(mask));
#elif defined(__SSE4_1__)
  return !_mm_testz_si128(bits<__m128i>(mask), bits<__m128i>(mask));
#else
  const L m = bits<L>(mask);
  return (m[0] | m[1]) != 0;
#endif
}

template <class T, class Fn>
inline T each_lane(T x, Fn fn) {
  for (size_t i = 0; i < sizeof(T) / sizeof x[0]; i++) x[i] = fn(x[i]);
  return x;
}

#if defined(__AVX512F__)
inline F sqrt(F x) { return _mm512_maskz_sqrt_ps(0xffff, x); }
inline D sqrt(D x) { return _mm512_maskz_sqrt_pd(0xff, x); }
template <int mode>
inline F rounded(F x) {
  return _mm512_maskz_roundscale_ps(0xffff, x, mode);
}
template <int mode>
inline D rounded(D x) {
  return _mm512_maskz_roundscale_pd(0xff, x, mode);
}
#elif defined(__AVX2__)
inline F sqrt(F x) { return _mm256_sqrt_ps(x); }
inline D sqrt(D x) { return _mm256_sqrt_pd(x); }
template <int mode>
inline F rounded(F x) {
  return _mm256_round_ps(x, mode);
}
template <int mode>
inline D rounded(D x) {
  return _mm256_round_pd(x, mode);
}
#elif defined(__SSE4_1__)
inline F sqrt(F x) { return _mm_sqrt_ps(x); }
inline D sqrt(D x) { return _mm_sqrt_pd(x); }
template <int mode>
inline F rounded(F x) {
  return _mm_round_ps(x, mode);
}
template <int mode>
inline D rounded(D x) {
  return _mm_round_pd(x, mode);
}
#else
inline F sqrt(F x) {
  return each_lane(x, [](float v) { return __builtin_sqrtf(v); });
}
inline D sqrt(D x) {
  return each_lane(x, [](double v) { return __builtin_sqrt(v); });
}
template <int mode>
inline F rounded(F x) {
  return each_lane(x, [](float v) {
    return mode == 8    ? __builtin_rintf(v)
           : mode == 9  ? __builtin_floorf(v)
           : mode == 10 ? __builtin_ceilf(v)
                        : __builtin_truncf(v);
  });
}
template <int mode>
inline D rounded(D x) {
  return each_lane(x, [](double v) {
    return mode == 8    ? __builtin_rint(v)
           : mode == 9  ? __builtin_floor(v)
           : mode == 10 ? __builtin_ceil(v)
                        : __builtin_trunc(v);
  });
}
#endif
// minps and maxps: the second operand if either is NaN.
#if defined(__AVX512F__)
inline F smaller(F a, F b) { return _mm512_maskz_min_ps(0xffff, a, b); }
inline F larger(F a, F b) { return _mm512_maskz_max_ps(0xffff, a, b); }
#elif defined(__AVX2__)
inline F smaller(F a, F b) { return _mm256_min_ps(a, b); }
inline F larger(F a, F b) { return _mm256_max_ps(a, b); }
#elif defined(__SSE2__)
inline F smaller(F a, F b) { return _mm_min_ps(a, b); }
inline F larger(F a, F b) { return _mm_max_ps(a, b); }
#else
inline F smaller(F a, F b) { return a < b ? a : b; }
inline F larger(F a, F b) { return a > b ? a : b; }
#endif
inline D smaller(D a, D b) { return a < b ? a : b; }
inline D larger(D a, D b) { return a > b ? a : b; }

// The immediates of roundps, exceptions off.
template <class T>
inline T rint(T x) {
  return rounded<8>(x);
}
template <class T>
inline T floor(T x) {
  return rounded<9>(x);
}
template <class T>
inline T ceil(T x) {
  return rounded<10>(x);
}
template <class T>
inline T trunc(T x) {
  return rounded<11>(x);
}

// madd is for the inside of math functions: fused where the level has it. fused rounds once on every level.
#if defined(__AVX512F__)
constexpr bool has_fma = true;
inline F madd(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
inline D madd(D a, D b, D c) { return _mm512_fmadd_pd(a, b, c); }
#elif defined(__FMA__)
constexpr bool has_fma = true;
inline F madd(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
inline D madd(D a, D b, D c) { return _mm256_fmadd_pd(a, b, c); }
#else
constexpr bool has_fma = false;
inline F madd(F a, F b, F c) { return a * b + c; }
inline D madd(D a, D b, D c) { return a * b + c; }
#endif
template <class T>
inline T fused(T a, T b, T c) {
  if constexpr (has_fma) return madd(a, b, c);
  for (size_t i = 0; i < sizeof(T) / sizeof a[0]; i++)
    a[i] = sizeof a[0] == 4 ? __builtin_fmaf(a[i], b[i], c[i]) : __builtin_fma(a[i], b[i], c[i]);
  return a;
}

// The two halves of a vector of 32-bit lanes, widened, and the reverse.
template <class Half, class T>
inline void halves(T x, Half &low, Half &high) {
  memcpy(&low, &x, sizeof low);
  memcpy(&high, reinterpret_cast<const char *>(&x) + sizeof low, sizeof high);
}
template <class T, class Half>
inline T joined(Half low, Half high) {
  T x;
  memcpy(&x, &low, sizeof low);
  memcpy(reinterpret_cast<char *>(&x) + sizeof low, &high, sizeof high);
  return x;
}
inline void widen(F x, D &low, D &high) {
  Vec<float, vector_bytes / 2> l, h;
  halves(x, l, h);
  low = __builtin_convertvector(l, D);
  high = __builtin_convertvector(h, D);
}
inline F narrow(D low, D high) {
  using Half = Vec<float, vector_bytes / 2>;
  return joined<F>(__builtin_convertvector(low, Half), __builtin_convertvector(high, Half));
}

// A float that no int64 holds gives INT64_MIN, as the x86 conversion does, and is then wrapped.
inline int64_t to_i64(double x) { return x >= -0x1p63 && x < 0x1p63 ? static_cast<int64_t>(x) : INT64_MIN; }
// A rounded float to the nearest integer; only for values known to be in range.
inline I to_int(F x) { return __builtin_convertvector(x, I); }

}  // namespace
