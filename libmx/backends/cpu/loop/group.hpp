// Several vectors that go through a function together, as math.hpp wants them. Every operation is written out for all
// vectors, since the compiler does not interleave by itself. Included only by the per-level sources.
#pragma once
#include <utility>

#include "backends/cpu/loop/step.hpp"

namespace {

template <class T>
struct LaneOf;
template <>
struct LaneOf<F> {
  using Float = float;
  using Bits = U;
  using Signed = I;
  using Raw = uint32_t;
};
template <>
struct LaneOf<D> {
  using Float = double;
  using Bits = W;
  using Signed = L;
  using Raw = uint64_t;
};

template <class T, int N>
struct Group {
  using Float = typename LaneOf<T>::Float;
  T v[N];
  MX_INLINE Group all(Float x) const;
};
template <class M, int N>
struct Lanemask {
  M v[N];
};

template <int k, class Function, class... A>
MX_INLINE auto one_of(Function f, const A &...a) {
  return f(a.v[k]...);
}
template <class R, int... k, class Function, class... A>
MX_INLINE R each_of(std::integer_sequence<int, k...>, Function f, const A &...a) {
  return {{one_of<k>(f, a...)...}};
}
#define MX_LAMBDA(...) [=](__VA_ARGS__) __attribute__((always_inline))
template <class T, int N, class Function, class... A>
MX_INLINE Group<T, N> map(Function f, const Group<T, N> &a, const A &...rest) {
  return each_of<Group<T, N>>(std::make_integer_sequence<int, N>(), f, a, rest...);
}
template <class T, int N>
MX_INLINE Group<T, N> Group<T, N>::all(Float x) const {
  return map(MX_LAMBDA(T) { return x - T{}; }, *this);
}

#define MX_GROUP template <class T, int N>
#define MX_OPERATOR(op)                                                                    \
  MX_GROUP MX_INLINE Group<T, N> operator op(const Group<T, N> &a, const Group<T, N> &b) { \
    return map(MX_LAMBDA(T x, T y) { return x op y; }, a, b);                              \
  }
MX_OPERATOR(+)
MX_OPERATOR(-)
MX_OPERATOR(*)
MX_OPERATOR(/)
#undef MX_OPERATOR
MX_GROUP MX_INLINE Group<T, N> madd(const Group<T, N> &a, const Group<T, N> &b, const Group<T, N> &c) {
  return map(MX_LAMBDA(T x, T y, T z) { return madd(x, y, z); }, a, b, c);
}
MX_GROUP MX_INLINE Group<T, N> nmadd(const Group<T, N> &a, const Group<T, N> &b, const Group<T, N> &c) {
  return map(MX_LAMBDA(T x, T y, T z) { return madd(-x, y, z); }, a, b, c);
}
MX_GROUP MX_INLINE Group<T, N> smaller(const Group<T, N> &a, const Group<T, N> &b) {
  return map(MX_LAMBDA(T x, T y) { return smaller(x, y); }, a, b);
}
MX_GROUP MX_INLINE Group<T, N> larger(const Group<T, N> &a, const Group<T, N> &b) {
  return map(MX_LAMBDA(T x, T y) { return larger(x, y); }, a, b);
}
MX_GROUP MX_INLINE Group<T, N> rint(const Group<T, N> &a) {
  return map(MX_LAMBDA(T x) { return rint(x); }, a);
}

// ---- bits

template <class T>
using Bits = typename LaneOf<T>::Bits;
template <class T>
using Raw = typename LaneOf<T>::Raw;
#define MX_BITWISE(name, expression)                                    \
  MX_GROUP MX_INLINE Group<T, N> name(const Group<T, N> &a, Raw<T> b) { \
    return map(                                                         \
        MX_LAMBDA(T v) {                                                \
          const Bits<T> x = bits<Bits<T>>(v);                           \
          return bits<T>(expression);                                   \
        },                                                              \
        a);                                                             \
  }
MX_BITWISE(bit_and, x &b)
MX_BITWISE(bit_or, x | b)
MX_BITWISE(bit_xor, x ^ b)
MX_BITWISE(add_bits, x + b)
MX_BITWISE(shift_left, x << b)
MX_BITWISE(shift_right, x >> b)
#undef MX_BITWISE
MX_GROUP MX_INLINE Group<T, N> bit_or(const Group<T, N> &a, const Group<T, N> &b) {
  return map(MX_LAMBDA(T x, T y) { return bits<T>(bits<Bits<T>>(x) | bits<Bits<T>>(y)); }, a, b);
}
MX_GROUP MX_INLINE Group<T, N> bit_xor(const Group<T, N> &a, const Group<T, N> &b) {
  return map(MX_LAMBDA(T x, T y) { return bits<T>(bits<Bits<T>>(x) ^ bits<Bits<T>>(y)); }, a, b);
}
MX_GROUP MX_INLINE Group<T, N> sub_bits(const Group<T, N> &a, const Group<T, N> &b) {
  return map(MX_LAMBDA(T x, T y) { return bits<T>(bits<Bits<T>>(x) - bits<Bits<T>>(y)); }, a, b);
}
MX_GROUP MX_INLINE Group<T, N> shift_right_signed(const Group<T, N> &a, int n) {
  return map(MX_LAMBDA(T x) { return bits<T>(bits<typename LaneOf<T>::Signed>(x) >> n); }, a);
}
MX_GROUP MX_INLINE Group<T, N> with_sign(const Group<T, N> &a, const Group<T, N> &b) {
  return map(MX_LAMBDA(T x, T y) { return copysign(x, y); }, a, b);
}
// A rounded float to the nearest integer, for values known to be in range, and back.
template <int N>
MX_INLINE Group<F, N> to_int(const Group<F, N> &a) {
  return map(MX_LAMBDA(F x) { return bits<F>(to_int(x)); }, a);
}
template <int N>
MX_INLINE Group<F, N> from_int(const Group<F, N> &a) {
  return map(MX_LAMBDA(F x) { return __builtin_convertvector(bits<I>(x), F); }, a);
}

// ---- masks

template <class T, int N>
using MaskOf = Lanemask<decltype(T{} < T{}), N>;
#define MX_COMPARE(name, expression)                                                             \
  MX_GROUP MX_INLINE MaskOf<T, N> name(const Group<T, N> &a, const Group<T, N> &b) {             \
    return each_of<MaskOf<T, N>>(                                                                \
        std::make_integer_sequence<int, N>(), MX_LAMBDA(T x, T y) { return expression; }, a, b); \
  }
MX_COMPARE(less, x < y)
MX_COMPARE(equal, x == y)
MX_COMPARE(not_at_least, ~(x >= y))
MX_COMPARE(not_less, ~(x < y))
#undef MX_COMPARE
MX_GROUP MX_INLINE Group<T, N> choose(const MaskOf<T, N> &mask, const Group<T, N> &yes, const Group<T, N> &no) {
  return map(MX_LAMBDA(T y, decltype(T{} < T{}) m, T n) { return m ? y : n; }, yes, mask, no);
}

// ---- what levels do differently

template <int N>
MX_INLINE Group<F, N> scale(const Group<F, N> &y, const Group<F, N> &n);
template <int N>
MX_INLINE Group<F, N> take_off(const Group<F, N> &q, const Group<F, N> &x);
template <int N>
MX_INLINE Group<F, N> log_special(const Group<F, N> &x, const Group<F, N> &y);

template <int N>
struct Halves {
  Group<D, N> low, high;
};
template <int N>
MX_INLINE Halves<N> widen(const Group<F, N> &a) {
  Halves<N> halves;
  for (int i = 0; i < N; i++) widen(a.v[i], halves.low.v[i], halves.high.v[i]);
  return halves;
}
template <int N>
MX_INLINE Group<F, N> narrow(const Group<D, N> &low, const Group<D, N> &high) {
  return each_of<Group<F, N>>(
      std::make_integer_sequence<int, N>(), MX_LAMBDA(D l, D h) { return narrow(l, h); }, low, high);
}

}  // namespace

#include "backends/cpu/loop/math.hpp"

namespace {

template <int N>
MX_INLINE Group<F, N> scale(const Group<F, N> &y, const Group<F, N> &n) {
#if defined(__AVX512F__)
  return map(MX_LAMBDA(F a, F b) { return F(_mm512_maskz_scalef_ps(0xffff, a, b)); }, y, n);
#else
  return math::scale_by_parts(y, n);
#endif
}
template <int N>
MX_INLINE math::Split<Group<F, N>> split(const Group<F, N> &x) {
#if defined(__AVX512F__)
  const auto exponent = map(MX_LAMBDA(F a) { return F(_mm512_maskz_getexp_ps(0xffff, a)); }, x);
  return math::split_parts(
      exponent,
      map(MX_LAMBDA(F a) { return F(_mm512_maskz_getmant_ps(0xffff, a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src)); }, x));
#else
  return math::split_bits(x);
#endif
}
template <int N>
MX_INLINE Group<F, N> log_special(const Group<F, N> &x, const Group<F, N> &y) {
#if defined(__AVX512F__)
  return map(MX_LAMBDA(F a, F b) { return F(_mm512_fixupimm_ps(b, a, _mm512_set1_epi32(math::log_fixes), 0)); }, x, y);
#else
  return math::log_special_by_parts(x, y);
#endif
}
// x - q pi
template <int N>
MX_INLINE Group<F, N> take_off(const Group<F, N> &q, const Group<F, N> &x) {
#if defined(__FMA__)
  return math::take_off_fused(q, x);
#else
  // Without fma in double precision: pi to 33 bits times q is exact.
  const Halves<N> a = widen(x), b = widen(q);
  const auto off = MX_LAMBDA(D y, D n) { return (y - n * 3.1415926534682512) - n * 1.2154201256553420e-10; };
  return narrow(map(off, a.low, b.low), map(off, a.high, b.high));
#endif
}

}  // namespace
