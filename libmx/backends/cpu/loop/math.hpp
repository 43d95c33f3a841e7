// The float32 functions, at most 2 ulp off over the whole range, with the special values of C99: the one description
// that both executors compile. V is the VM's group of vectors or the JIT's virtual register; what it must offer are the
// operators + - * / and the functions used below, found beside the type. A lane's result depends on nothing but the
// lane.
//
// The coefficients are minimax fits (Lawson's reweighted least squares) to the functions named beside them, rounded to
// float32; the argument reductions are those of Cody and Waite, "Software Manual for the Elementary Functions" (1980).
#pragma once
#include <stdint.h>

#if !defined(MX_INLINE)
#define MX_INLINE __attribute__((always_inline)) inline
#endif

namespace {
namespace math {

constexpr float infinity = __builtin_inff();
constexpr float ln2_high = 0.693145751953125f, ln2_low = 1.428606765330187e-06f;
constexpr float log2_e = 1.44269504f;
// Added to a number of magnitude below 2^22 it rounds it to an integer, which is then in the low bits.
constexpr float round_magic = 0x1.8p23f;
constexpr uint32_t sign_bit = 0x80000000u, one_bits = 0x3f800000u, half_bits = 0x3f000000u;

template <class V>
MX_INLINE V horner(V u, V) {
  return u;
}
template <class V, class C, class... Rest>
MX_INLINE V horner(V u, V x, C next, Rest... rest) {
  return horner(madd(u, x, x.all(next)), x, rest...);
}
// c[0] + c[1] x + ... ; coefficients from the highest degree down.
template <class V, class C, class... Rest>
MX_INLINE V polynomial(V x, C highest, Rest... rest) {
  return horner(x.all(highest), x, rest...);
}

template <class V>
MX_INLINE V absolute(V x) {
  return bit_and(x, 0x7fffffffu);
}
template <class V>
MX_INLINE V negated(V x) {
  return bit_xor(x, sign_bit);
}
template <class V>
MX_INLINE V clamp(V x, float low, float high) {  // NaN passes, being the second operand
  return smaller(x.all(high), larger(x.all(low), x));
}

// 2^n for integral n in [-126, 127].
template <class V>
MX_INLINE V power_of_two(V n) {
  return shift_left(add_bits(to_int(n), 127u), 23);
}
// y * 2^n for integral n in [-252, 254], where no instruction does it; the second product rounds a denormal result
// once.
template <class V>
MX_INLINE V scale_by_parts(V y, V n) {
  const V whole = to_int(n), half = shift_right_signed(whole, 1);
  const V low = shift_left(add_bits(half, 127u), 23), high = shift_left(add_bits(sub_bits(whole, half), 127u), 23);
  return y * low * high;
}

// x = n ln 2 + s with |s| <= ln 2 / 2, for |x| < 2^20; the low bits of `magic` hold n.
template <class V>
struct Reduced {
  V magic, n, s;
};
template <class V>
MX_INLINE Reduced<V> reduce_exp(V x) {
  const V magic = madd(x, x.all(log2_e), x.all(round_magic));
  const V n = magic - x.all(round_magic);
  const V s = madd(n, x.all(-ln2_low), madd(n, x.all(-ln2_high), x));
  return {magic, n, s};
}
// 2^n for the n in the low bits of a rounded number; 2^(n - 1) with the exponent bits of 1/2 as `one`.
template <class V>
MX_INLINE V power_of_magic(V magic, uint32_t one = one_bits) {
  return add_bits(shift_left(magic, 23), one);
}
// expm1(s) = s + s^2 P(s)
template <class V>
MX_INLINE V small_expm1(V s) {
  const V u = polynomial(s, 0.00019845892f, 0.0013940823f, 0.00833339f, 0.04166636f, 0.16666666f, 0.5f);
  return madd(s * s, u, s);
}
// e^s
template <class V>
MX_INLINE V small_exp(V s) {
  return polynomial(s, 0.00019845892f, 0.0013940823f, 0.00833339f, 0.04166636f, 0.16666666f, 0.5f, 1.f, 1.f);
}
template <class V>
MX_INLINE V exp(V x) {
  const Reduced<V> r = reduce_exp(clamp(x, -104.f, 89.f));
  return scale(small_exp(r.s), r.n);
}
// The same where neither e^x nor 2^n leaves the normal numbers; the bits are those of exp.
constexpr float exp_limit = 87.f;
template <class V>
MX_INLINE V exp_within(V x) {
  const Reduced<V> r = reduce_exp(x);
  return small_exp(r.s) * power_of_magic(r.magic);
}
template <class V>
MX_INLINE V exp2(V x) {
  const V c = clamp(x, -151.f, 129.f), n = rint(c), s = c - n;
  // 2^s = 1 + s P(s)
  const V u = polynomial(s, 1.5315447e-05f, 0.0001546762f, 0.0013333429f, 0.0096180355f, 0.05550411f, 0.2402265f,
                         0.6931472f, 1.f);
  return scale(u, n);
}
template <class V>
MX_INLINE V expm1(V x) {
  const Reduced<V> r = reduce_exp(clamp(x, -18.f, 89.f));
  // 2^n u + (2^n - 1), halved so that n = 128 stays finite; -0 and denormals are their own result.
  const V t = power_of_two(r.n - x.all(1.f));
  const V u = madd(t, small_expm1(r.s), t - x.all(0.5f)), y = u + u;
  return choose(equal(r.n, x.all(0.f)), choose(equal(x, x.all(0.f)), x, y), y);
}

// h / (h + 1) for h >= 0; for small ones as h - h q, which keeps the roundings of the sum and the quotient small.
template <class V>
MX_INLINE V share_of_one(V h) {
  const V q = h / (h + h.all(1.f));
  return choose(less(h, h.all(0.5f)), nmadd(h, q, h), q);
}
// 1 / (1 + e^-x), from e = e^-|x| so that nothing overflows.
template <class V>
MX_INLINE V sigmoid_from(V x, V e) {
  const V q = share_of_one(e);
  return choose(less(x, x.all(0.f)), q, x.all(1.f) - q);
}
template <class V>
MX_INLINE V sigmoid(V x) {
  return sigmoid_from(x, exp(bit_or(x, sign_bit)));
}
template <class V>
MX_INLINE V sigmoid_within(V x) {
  return sigmoid_from(x, exp_within(bit_or(x, sign_bit)));
}
// t / (t + 2), t = expm1(2|x|), all of it halved; 1 in float32 from 9.25 on.
template <class V>
MX_INLINE V tanh(V x) {
  const Reduced<V> r = reduce_exp(smaller(x.all(18.5f), absolute(x + x)));
  const V p = power_of_magic(r.magic, half_bits);
  const V half = madd(p, small_expm1(r.s), p - x.all(0.5f));
  return with_sign(share_of_one(half), x);
}
// |x| < 1: x + x P(x^2); else 1 - erfc, erfc(a) = exp(-P(a)), which is 0 in float32 from 4 on.
template <class V>
MX_INLINE V erf(V x) {
  const V u = polynomial(x * x, 7.853854e-05f, -0.00080101914f, 0.0051883273f, -0.026853811f, 0.112835854f,
                         -0.37612626f, 0.12837917f);
  const V near = madd(u, x, x), a = smaller(x.all(4.f), absolute(x));
  const V e = polynomial(a, 9.105811e-08f, -2.2995642e-05f, 0.00044939877f, -0.004232371f, 0.025267022f, -0.10849651f,
                         -0.63315654f, -1.1296073f, 0.00019370651f);
  const V far = with_sign(x.all(1.f) - exp_within(e), x);
  return choose(less(a, x.all(1.f)), near, far);
}

// x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
template <class V>
struct Split {
  V e, f;
};
// With what a level has: the exponent of x, and its mantissa m in [1, 2).
template <class V>
MX_INLINE Split<V> split_parts(V exponent, V m) {
  const auto is_large = not_less(m, m.all(0x1.6a09e6p0f));
  const V factor = choose(is_large, m.all(0.5f), m.all(1.f)), more = choose(is_large, m.all(1.f), m.all(0.f));
  return {exponent + more, madd(m, factor, m.all(-1.f))};
}
template <class V>
MX_INLINE Split<V> split_bits(V x) {
  const auto is_tiny = less(x, x.all(0x1p-126f));
  const V tiny = choose(is_tiny, x.all(25.f), x.all(0.f));
  const V raw = add_bits(choose(is_tiny, x * x.all(0x1p25f), x), one_bits - 0x3f3504f3u);
  const V e = from_int(add_bits(shift_right(raw, 23), 0u - 127u)) - tiny;
  return {e, add_bits(bit_and(raw, 0x7fffffu), 0x3f3504f3u) - x.all(1.f)};
}
// log1p(f) = f + tail, tail = -f^2 / 2 + f^3 P(f)
template <class V>
MX_INLINE V log_tail(V f) {
  const V p = polynomial(f, 0.06748783f, -0.1167937f, 0.11889244f, -0.12405093f, 0.14219353f, -0.16668014f, 0.20002128f,
                         -0.2500001f, 0.33333313f);
  const V z = f * f;
  return madd(z, f.all(-0.5f), p * f * z);
}
template <class V>
MX_INLINE V log_of(Split<V> s) {
  const V t = madd(s.e, s.e.all(ln2_low), log_tail(s.f)) + s.f;
  return madd(s.e, s.e.all(ln2_high), t);
}
// The answers to NaN, 0, 1, -inf, inf, negative and positive numbers, four bits each, as vfixupimmps reads them.
constexpr int log_fixes = 0x03530422;
// What a logarithm gives outside of (0, inf), y elsewhere.
template <class V>
MX_INLINE V log_special_by_parts(V x, V y) {
  y = choose(equal(x, x.all(infinity)), x, y);
  y = choose(equal(x, x.all(0.f)), x.all(-infinity), y);
  return choose(not_at_least(x, x.all(0.f)), x.all(__builtin_nanf("")), y);
}
template <class V>
MX_INLINE V log(V x) {
  return log_special(x, log_of(split(x)));
}
// log2(e) = 1 + c: the product with 1 is exact, so that the small factor alone rounds.
template <class V>
MX_INLINE V log2(V x) {
  const Split<V> s = split(x);
  const V t = log_tail(s.f), c = x.all(0.44269504f);
  const V y = madd(s.f, c, t * c) + t + s.f;
  return log_special(x, y + s.e);
}
template <class V>
MX_INLINE V log10(V x) {
  const Split<V> s = split(x);
  const V t = log_tail(s.f);
  // log10(e) = 0.43359375 + 7.007319e-4, log10(2) = 0.30102539 + 4.605039e-6; the first parts have few bits
  V y = madd(s.e, x.all(4.60503906e-6f), (s.f + t) * x.all(7.00731903e-4f));
  y = madd(t, x.all(0.43359375f), y);
  y = madd(s.f, x.all(0.43359375f), y);
  return log_special(x, madd(s.e, x.all(0.301025390625f), y));
}
// 1 + x = 2^e (1 + f), f = x 2^-e + (2^-e - 1): nothing of a small x is lost.
template <class V>
MX_INLINE V log1p(V x) {
  const V w = x.all(1.f) + x;
  Split<V> s = split(w);
  const auto is_huge = less(x.all(126.f), s.e);
  const V t = power_of_two(negated(choose(is_huge, x.all(126.f), s.e)));
  s.f = choose(is_huge, s.f, madd(x, t, t - x.all(1.f)));
  return choose(less(absolute(x), x.all(0x1p-26f)), x, log_special(w, log_of(s)));
}

// Sine and cosine up to trig_limit. Beyond it the reduction would lose bits, and the C library does the lane.
constexpr float trig_limit = 100000.f;
// x - q pi, with pi as a sum of three positive numbers: the products with +0 are -0 then, and keep the sign of a zero.
template <class V>
MX_INLINE V take_off_fused(V q, V x) {
  const V d = madd(q, x.all(-1.509957882e-07f), madd(q, x.all(-3.14159250259f), x));
  return madd(q, x.all(-1.07806051e-14f), d);
}
// sin(d) = d + d^3 P(d^2), |d| <= pi / 2: within 1.9 ulps and never beyond 1. Of the coefficients near the best
// polynomial's these had the smallest error in float32, with and without fma; tried for every d from 0.001 on.
template <class V>
MX_INLINE V small_sin(V d) {
  const V z = d * d;
  const V u = polynomial(z, 2.6052146e-06f, -0.000198096706f, 0.00833306462f, -0.166666582f);
  return madd(z, u * d, d);
}
// The lowest bit of `magic` says whether q is odd.
template <class V>
MX_INLINE V sin(V x) {
  const V magic = madd(x, x.all(0.318309886f), x.all(round_magic)), q = magic - x.all(round_magic);
  const V d = bit_xor(take_off(q, x), shift_left(magic, 31));
  return with_sign(small_sin(d), d);  // of a zero too
}
// cos(x) = +-sin(x - (n + 1/2) pi)
template <class V>
MX_INLINE V cos(V x) {
  const V magic = madd(x, x.all(0.318309886f), x.all(-0.5f)) + x.all(round_magic), n = magic - x.all(round_magic);
  const V d = take_off(n + x.all(0.5f), x);
  return small_sin(bit_xor(d, bit_xor(shift_left(magic, 31), sign_bit)));
}

// power: exp2(b log2 a) in double precision; D is a vector of float64. log2(m) = (2 / ln 2) atanh(s), s = (m - 1) /
// (m + 1), as a series.
template <class D>
MX_INLINE D log2_wide(D a) {
  const D raw = add_bits(a, 0x3ff0000000000000ull - 0x3fe6a09e667f3bcdull);
  // The exponent as a double: put under the implicit bit of 2^52.
  const D e = bit_or(shift_right(raw, 52), 0x4330000000000000ull) - a.all(0x1p52 + 1023);
  const D m = add_bits(bit_and(raw, 0xfffffffffffffull), 0x3fe6a09e667f3bcdull);
  const D s = (m - a.all(1.)) / (m + a.all(1.));
  const D u = polynomial(s * s, 1. / 15, 1. / 13, 1. / 11, 1. / 9, 1. / 7, 1. / 5, 1. / 3, 1.);
  return madd(u, s * a.all(2.8853900817779268), e);
}
template <class D>
MX_INLINE D exp2_wide(D x) {
  const D c = smaller(x.all(200.), larger(x.all(-200.), x)), n = rint(c);
  const D u = polynomial(c - n, 1.0210630374735266e-07, 1.3258875867250534e-06, 1.5252647181818215e-05,
                         0.00015403438482513998, 0.0013333558247091454, 0.009618129184351199, 0.055504108664351307,
                         0.24022650695711065, 0.6931471805599512, 1.);
  return u * shift_left(n + x.all(0x1.8p52 + 1023), 52);
}
// For finite numbers but zero; `unusual_power` are the lanes that the C library does.
template <class V>
MX_INLINE V power(V a, V b) {
  const auto base = widen(absolute(a)), exponent = widen(b);
  const V y = narrow(exp2_wide(exponent.low * log2_wide(base.low)), exp2_wide(exponent.high * log2_wide(base.high)));
  // A negative base: NaN unless the exponent is integral, and the sign of the base if it is odd.
  const V half = b * b.all(0.5f), none = b.all(0.f);
  const V odd = choose(equal(rint(half), half), none, b.all(-0.f));
  const V negative = choose(equal(rint(b), b), bit_xor(y, odd), b.all(__builtin_nanf("")));
  return choose(less(a, none), negative, y);
}

}  // namespace math
}  // namespace
