// Vectorised float32 functions, at most 2 ulp off over the whole range, with the special values of C99. Compiled once
// per instruction set level.
//
// Every step of a polynomial is written for all vectors of a group, since the compiler does not interleave by itself.
// The coefficients are minimax fits (Lawson's reweighted least squares) to the functions named beside them, rounded to
// float32; the argument reductions are those of Cody and Waite, "Software Manual for the Elementary Functions" (1980).
#include <math.h>

#include "backends/cpu/loop/step.hpp"

namespace {

// How many of a block's vectors go through a function together. Measured: all of them, spills included, from AVX2 on.
#if defined(__AVX2__)
constexpr int group = 8;
#else
constexpr int group = 4;
#endif

template <int N, class T, class S>
MX_INLINE void horner(T *u, const T *x, S last) {
  MX_LANES u[i] = madd(u[i], x[i], T{} + last);
}
// u = c[0] + c[1] x + ... ; coefficients from the highest degree down.
template <int N, class T, class S, class... Rest>
MX_INLINE void horner(T *u, const T *x, S next, Rest... rest) {
  horner<N>(u, x, next);
  horner<N>(u, x, rest...);
}
template <int N, class T, class S, class... Rest>
MX_INLINE void polynomial(T *u, const T *x, S highest, Rest... rest) {
  MX_LANES u[i] = T{} + highest;
  horner<N>(u, x, rest...);
}

MX_INLINE F clamp(F x, float low, float high) {  // NaN passes, being the second operand
  return smaller(F{} + high, larger(F{} + low, x));
}
// 2^n for integral n in [-126, 127].
MX_INLINE F power_of_two(F n) { return bits<F>((to_int(n) + 127) << 23); }
// y * 2^n for integral n in [-252, 254]; the second product rounds a denormal result once.
MX_INLINE F scale(F y, F n) {
#if defined(__AVX512F__)
  return _mm512_maskz_scalef_ps(0xffff, y, n);
#else
  const I whole = to_int(n), half = whole >> 1;
  return y * bits<F>((half + 127) << 23) * bits<F>((whole - half + 127) << 23);
#endif
}
template <class M>
MX_INLINE F choose(M mask, F yes, F no) {
  return mask ? yes : no;
}

constexpr float inf = __builtin_inff();
constexpr float ln2_high = 0.693145751953125f, ln2_low = 1.428606765330187e-06f;

// Added to a number of magnitude below 2^22 it rounds it to an integer, which is then in the low bits.
constexpr float round_magic = 0x1.8p23f;
// 2^n for the n in the low bits of a rounded number; 2^(n - 1) with the exponent bits of 1/2 as `one`.
MX_INLINE F power_of_magic(F n, uint32_t one = 0x3f800000u) { return bits<F>((bits<U>(n) << 23) + one); }

// x = n ln 2 + s with |s| <= ln 2 / 2.
template <int N>
MX_INLINE void reduce_exp(const F *x, F *n, F *s) {
  MX_LANES n[i] = rint(x[i] * 1.44269504f);
  MX_LANES s[i] = madd(n[i], F{} - ln2_high, x[i]);
  MX_LANES s[i] = madd(n[i], F{} - ln2_low, s[i]);
}
// The same for |x| < 2^20, with p = 2^n times the number whose bits are `one`.
template <int N>
MX_INLINE void reduce_exp_quickly(const F *x, F *p, F *s, uint32_t one = 0x3f800000u) {
  F n[N];
  MX_LANES n[i] = madd(x[i], F{} + 1.44269504f, F{} + round_magic);
  MX_LANES p[i] = power_of_magic(n[i], one);
  MX_LANES n[i] = n[i] - round_magic;
  MX_LANES s[i] = madd(n[i], F{} - ln2_high, x[i]);
  MX_LANES s[i] = madd(n[i], F{} - ln2_low, s[i]);
}
// expm1(s) = s + s^2 P(s)
template <int N>
MX_INLINE void small_expm1(const F *s, F *u) {
  F z[N];
  polynomial<N>(u, s, 0.00019845892f, 0.0013940823f, 0.00833339f, 0.04166636f, 0.16666666f, 0.5f);
  MX_LANES z[i] = s[i] * s[i];
  MX_LANES u[i] = madd(z[i], u[i], s[i]);
}
template <int N>
MX_INLINE void exp_of(F *x) {
  F n[N], s[N], u[N];
  MX_LANES x[i] = clamp(x[i], -104.f, 89.f);
  reduce_exp<N>(x, n, s);
  small_expm1<N>(s, u);
  MX_LANES u[i] = u[i] + 1.f;
  MX_LANES x[i] = scale(u[i], n[i]);
}
// Where neither e^x nor 2^n leaves the normal numbers.
constexpr float exp_limit = 87.f;
template <int N>
MX_INLINE void exp_within(F *x) {
  F p[N], s[N], u[N];
  reduce_exp_quickly<N>(x, p, s);
  small_expm1<N>(s, u);
  MX_LANES u[i] = u[i] + 1.f;
  MX_LANES x[i] = u[i] * p[i];
}
// Whether a lane is beyond the limit; NaN may go either way.
MX_INLINE bool beyond(F limit, MX_BLOCK) {
  F most{};
#define MX_ONE(k, v) most = larger(abs(v), most);
  MX_EACH(MX_ONE)
#undef MX_ONE
  return any(most > limit);
}
// O::within for blocks of usual numbers, O::f for the others.
template <class O>
__attribute__((noinline)) void wide_range(char *block) {
  for (int k = 0; k < n_vectors; k++) {
    F x[1] = {load<F>(block + k * vector_bytes)};
    O::template f<1>(x);
    store(block + k * vector_bytes, x[0]);
  }
}
template <class O>
struct Within {
  using T = F;
  template <int N>
  MX_INLINE static void f(F *x) {
    O::template within<N>(x);
  }
};
template <class O, int N>
void by_range(MX_STEP) {
  if (__builtin_expect(beyond(F{} + exp_limit, v0, v1, v2, v3, v4, v5, v6, v7), 0)) {
    spill(step, v0, v1, v2, v3, v4, v5, v6, v7);
    wide_range<O>(step->scratch);
    MX_UNSPILL MX_NEXT;
  }
  return grouped<Within<O>, N>(step, offset, v0, v1, v2, v3, v4, v5, v6, v7);
}

struct Exp {
  template <int N>
  MX_INLINE static void f(F *x) {
    exp_of<N>(x);
  }
  template <int N>
  MX_INLINE static void within(F *x) {
    exp_within<N>(x);
  }
};
struct Exp2 {
  using T = F;
  template <int N>
  MX_INLINE static void f(F *x) {
    F n[N], s[N], u[N];
    MX_LANES x[i] = clamp(x[i], -151.f, 129.f);
    MX_LANES n[i] = rint(x[i]);
    MX_LANES s[i] = x[i] - n[i];
    // 2^s = 1 + s P(s)
    polynomial<N>(u, s, 1.5315447e-05f, 0.0001546762f, 0.0013333429f, 0.0096180355f, 0.05550411f, 0.2402265f,
                  0.6931472f, 1.f);
    MX_LANES x[i] = scale(u[i], n[i]);
  }
};
struct Expm1 {
  using T = F;
  template <int N>
  MX_INLINE static void f(F *x) {
    F n[N], s[N], u[N], t[N];
    MX_LANES t[i] = clamp(x[i], -18.f, 89.f);
    reduce_exp<N>(t, n, s);
    small_expm1<N>(s, u);
    // 2^n u + (2^n - 1), halved so that n = 128 stays finite; -0 and denormals are their own result.
    MX_LANES t[i] = power_of_two(n[i] - 1.f);
    MX_LANES u[i] = madd(t[i], u[i], t[i] - 0.5f);
    MX_LANES x[i] = choose(n[i] == 0.f, choose(x[i] == 0.f, x[i], u[i] + u[i]), u[i] + u[i]);
  }
};

// h / (h + 1) for h >= 0; for small ones as h - h q, which keeps the roundings of the sum and the quotient small.
template <int N>
MX_INLINE void share_of_one(const F *h, F *q) {
  MX_LANES q[i] = h[i] / (h[i] + 1.f);
  MX_LANES q[i] = choose(h[i] < 0.5f, madd(-h[i], q[i], h[i]), q[i]);
}

// 1 / (1 + e^-x), from e^-|x| so that nothing overflows.
struct Sigmoid {
  template <int N>
  MX_INLINE static void finish(F *x, F *e) {
    F q[N];
    share_of_one<N>(e, q);
    MX_LANES x[i] = choose(x[i] < 0.f, q[i], 1.f - q[i]);
  }
  template <int N>
  MX_INLINE static void f(F *x) {
    F e[N];
    MX_LANES e[i] = -abs(x[i]);
    exp_of<N>(e);
    finish<N>(x, e);
  }
  template <int N>
  MX_INLINE static void within(F *x) {
    F e[N];
    MX_LANES e[i] = -abs(x[i]);
    exp_within<N>(e);
    finish<N>(x, e);
  }
};

// t / (t + 2), t = expm1(2|x|), all of it halved; 1 in float32 from 9.25 on.
struct Tanh {
  using T = F;
  template <int N>
  MX_INLINE static void f(F *x) {
    F a[N], p[N], s[N], u[N], z[N];
    MX_LANES a[i] = smaller(F{} + 18.5f, abs(x[i] + x[i]));
    reduce_exp_quickly<N>(a, p, s, 0x3f000000u);
    polynomial<N>(u, s, 0.00019845892f, 0.0013940823f, 0.00833339f, 0.04166636f, 0.16666666f, 0.5f);
    MX_LANES z[i] = s[i] * s[i];
    MX_LANES u[i] = madd(z[i], u[i], s[i]);
    MX_LANES z[i] = p[i] - 0.5f;
    MX_LANES u[i] = madd(p[i], u[i], z[i]);
    share_of_one<N>(u, z);
    MX_LANES x[i] = copysign(z[i], x[i]);
  }
};

// |x| < 1: x + x P(x^2); else 1 - erfc, erfc(a) = exp(-P(a)), which is 0 in float32 from 4 on.
struct Erf {
  using T = F;
  template <int N>
  MX_INLINE static void f(F *x) {
    F a[N], z[N], u[N], e[N];
    MX_LANES z[i] = x[i] * x[i];
    polynomial<N>(u, z, 7.853854e-05f, -0.00080101914f, 0.0051883273f, -0.026853811f, 0.112835854f, -0.37612626f,
                  0.12837917f);
    MX_LANES u[i] = madd(u[i], x[i], x[i]);
    MX_LANES a[i] = abs(x[i]);
    MX_LANES a[i] = smaller(F{} + 4.f, a[i]);
    polynomial<N>(e, a, 9.105811e-08f, -2.2995642e-05f, 0.00044939877f, -0.004232371f, 0.025267022f, -0.10849651f,
                  -0.63315654f, -1.1296073f, 0.00019370651f);
    exp_within<N>(e);
    MX_LANES e[i] = copysign(1.f - e[i], x[i]);
    MX_LANES x[i] = choose(a[i] < 1.f, u[i], e[i]);
  }
};

// x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
template <int N>
MX_INLINE void reduce_log(const F *x, F *e, F *f) {
  U raw[N];
  F tiny[N];
  MX_LANES tiny[i] = bits<F>(bits<U>(x[i] < 0x1p-126f) & bits<U>(F{} + 25.f));
  MX_LANES raw[i] = bits<U>(choose(x[i] < 0x1p-126f, x[i] * 0x1p25f, x[i])) + (0x3f800000u - 0x3f3504f3u);
  MX_LANES e[i] = __builtin_convertvector(bits<I>(raw[i] >> 23) - 127, F) - tiny[i];
  MX_LANES f[i] = bits<F>((raw[i] & 0x7fffffu) + 0x3f3504f3u) - 1.f;
}
// log1p(f) = f + tail, tail = -f^2 / 2 + f^3 P(f)
template <int N>
MX_INLINE void log_tail(const F *f, F *tail) {
  F z[N], p[N];
  polynomial<N>(p, f, 0.06748783f, -0.1167937f, 0.11889244f, -0.12405093f, 0.14219353f, -0.16668014f, 0.20002128f,
                -0.2500001f, 0.33333313f);
  MX_LANES z[i] = f[i] * f[i];
  MX_LANES p[i] = p[i] * f[i];
  MX_LANES p[i] = p[i] * z[i];
  MX_LANES tail[i] = madd(z[i], F{} - 0.5f, p[i]);
}
// What a logarithm gives outside of (0, inf), y elsewhere.
MX_INLINE F log_special(F x, F y) {
  y = choose(x == F{} + inf, x, y);
  y = choose(x == F{}, F{} - inf, y);
  return choose((x < F{}) | (x != x), F{} + __builtin_nanf(""), y);
}

struct Log {
  using T = F;
  template <int N>
  MX_INLINE static void f(F *x) {
    F e[N], f[N], t[N];
    reduce_log<N>(x, e, f);
    log_tail<N>(f, t);
    MX_LANES t[i] = madd(e[i], F{} + ln2_low, t[i]);
    MX_LANES t[i] = t[i] + f[i];
    MX_LANES t[i] = madd(e[i], F{} + ln2_high, t[i]);
    MX_LANES x[i] = log_special(x[i], t[i]);
  }
};
// log2(e) = 1 + c: the product with 1 is exact, so that the small factor alone rounds.
struct Log2 {
  using T = F;
  template <int N>
  MX_INLINE static void f(F *x) {
    F e[N], f[N], t[N], y[N];
    reduce_log<N>(x, e, f);
    log_tail<N>(f, t);
    MX_LANES y[i] = t[i] * 0.44269504f;
    MX_LANES y[i] = madd(f[i], F{} + 0.44269504f, y[i]);
    MX_LANES y[i] = y[i] + t[i];
    MX_LANES y[i] = y[i] + f[i];
    MX_LANES x[i] = log_special(x[i], y[i] + e[i]);
  }
};
struct Log10 {
  using T = F;
  template <int N>
  MX_INLINE static void f(F *x) {
    F e[N], f[N], t[N], y[N];
    reduce_log<N>(x, e, f);
    log_tail<N>(f, t);
    // log10(e) = 0.43359375 + 7.007319e-4, log10(2) = 0.30102539 + 4.605039e-6; the first parts have few bits
    MX_LANES y[i] = (f[i] + t[i]) * 7.00731903e-4f;
    MX_LANES y[i] = madd(e[i], F{} + 4.60503906e-6f, y[i]);
    MX_LANES y[i] = madd(t[i], F{} + 0.43359375f, y[i]);
    MX_LANES y[i] = madd(f[i], F{} + 0.43359375f, y[i]);
    MX_LANES y[i] = madd(e[i], F{} + 0.301025390625f, y[i]);
    MX_LANES x[i] = log_special(x[i], y[i]);
  }
};
// 1 + x = 2^e (1 + f), f = x 2^-e + (2^-e - 1): nothing of a small x is lost.
struct Log1p {
  using T = F;
  template <int N>
  MX_INLINE static void f(F *x) {
    F e[N], f[N], t[N], w[N];
    MX_LANES w[i] = 1.f + x[i];
    reduce_log<N>(w, e, f);
    MX_LANES t[i] = power_of_two(-choose(e[i] > 126.f, F{} + 126.f, e[i]));
    MX_LANES f[i] = choose(e[i] > 126.f, f[i], madd(x[i], t[i], t[i] - 1.f));
    log_tail<N>(f, t);
    MX_LANES t[i] = madd(e[i], F{} + ln2_low, t[i]);
    MX_LANES t[i] = t[i] + f[i];
    MX_LANES t[i] = madd(e[i], F{} + ln2_high, t[i]);
    MX_LANES x[i] = choose(abs(x[i]) < 0x1p-26f, x[i], log_special(w[i], t[i]));
  }
};

// Sine and cosine. q is the multiple of pi (of pi/2 for the cosine) to take off; beyond the limit the reduction would
// lose bits and the C library does the lane.
constexpr float trig_limit = 100000.f;
#if defined(__FMA__)
template <int N>
MX_INLINE void take_off(const F *q, const F *x, F *d) {
  MX_LANES d[i] = madd(q[i], F{} - 3.14159274f, x[i]);
  MX_LANES d[i] = madd(q[i], F{} + 8.74227766e-08f, d[i]);
  MX_LANES d[i] = madd(q[i], F{} + 3.4302490e-15f, d[i]);
}
#else
template <int N>
MX_INLINE void take_off(const F *q, const F *x, F *d) {
  // Without fma in double precision: pi to 33 bits times q is exact.
  MX_LANES {
    D x0, x1, q0, q1;
    widen(x[i], x0, x1);
    widen(q[i], q0, q1);
    x0 = (x0 - q0 * 3.1415926534682512) - q0 * 1.2154201256553420e-10;
    x1 = (x1 - q1 * 3.1415926534682512) - q1 * 1.2154201256553420e-10;
    d[i] = narrow(x0, x1);
  }
}
#endif
// sin(d) = d + d^3 P(d^2), |d| <= pi / 2
template <int N>
MX_INLINE void small_sin(const F *d, F *x) {
  F z[N], u[N];
  MX_LANES z[i] = d[i] * d[i];
  polynomial<N>(u, z, 2.6056307e-06f, -0.00019809538f, 0.008333066f, -0.1666666f);
  MX_LANES u[i] = u[i] * d[i];
  MX_LANES x[i] = madd(z[i], u[i], d[i]);
}
struct Sin {
  using T = F;
  static float slow(float x) { return sinf(x); }
  template <int N>
  MX_INLINE static void f(F *x) {
    F q[N], d[N];
    MX_LANES q[i] = rint(x[i] * 0.318309886f);
    take_off<N>(q, x, d);
    MX_LANES d[i] = bits<F>(bits<U>(d[i]) ^ (bits<U>(to_int(q[i])) << 31));
    small_sin<N>(d, q);
    MX_LANES x[i] = choose(x[i] == 0.f, x[i], q[i]);
  }
};
// cos(x) = +-sin(x - (n + 1/2) pi)
struct Cos {
  using T = F;
  static float slow(float x) { return cosf(x); }
  template <int N>
  MX_INLINE static void f(F *x) {
    F n[N], q[N], d[N];
    MX_LANES n[i] = rint(madd(x[i], F{} + 0.318309886f, F{} - 0.5f));
    MX_LANES q[i] = n[i] + 0.5f;
    take_off<N>(q, x, d);
    MX_LANES d[i] = bits<F>(bits<U>(d[i]) ^ (~bits<U>(to_int(n[i])) << 31));
    small_sin<N>(d, x);
  }
};
template <class O>
__attribute__((noinline)) void slow_lanes(float *block, const float *x) {
  for (int i = 0; i < block_bytes / 4; i++)
    if (!(__builtin_fabsf(x[i]) <= trig_limit)) block[i] = O::slow(x[i]);
}
template <class O>
void trigonometric(MX_STEP) {
  if (__builtin_expect(beyond(F{} + trig_limit, v0, v1, v2, v3, v4, v5, v6, v7), 0)) {
    // The arguments to the upper half of the scratch memory, the results of the fast way to the lower one.
    char *const upper = step->scratch + block_bytes;
#define MX_ONE(k, v)                                 \
  store(upper + k * vector_bytes, v);                \
  {                                                  \
    F x[1] = {choose(abs(v) <= trig_limit, v, F{})}; \
    O::template f<1>(x);                             \
    store(step->scratch + k * vector_bytes, x[0]);   \
  }
    MX_EACH(MX_ONE)
#undef MX_ONE
    slow_lanes<O>(reinterpret_cast<float *>(step->scratch), reinterpret_cast<const float *>(upper));
    MX_UNSPILL MX_NEXT;
  }
  return grouped<O, group>(step, offset, v0, v1, v2, v3, v4, v5, v6, v7);
}

// power: exp2(b log2 a) in double precision. log2(m) = (2 / ln 2) atanh(s), s = (m - 1) / (m + 1), as a series.
MX_INLINE D log2_of(D a) {
  const W raw = bits<W>(a) + (0x3ff0000000000000ull - 0x3fe6a09e667f3bcdull);
  // The exponent as a double: put under the implicit bit of 2^52.
  const D e = bits<D>((raw >> 52) | 0x4330000000000000ull) - (0x1p52 + 1023);
  const D m = bits<D>((raw & 0xfffffffffffffull) + 0x3fe6a09e667f3bcdull);
  const D s = (m - 1) / (m + 1), z = s * s;
  D u = D{} + 1. / 15;
  u = madd(u, z, D{} + 1. / 13);
  u = madd(u, z, D{} + 1. / 11);
  u = madd(u, z, D{} + 1. / 9);
  u = madd(u, z, D{} + 1. / 7);
  u = madd(u, z, D{} + 1. / 5);
  u = madd(u, z, D{} + 1. / 3);
  u = madd(u, z, D{} + 1.);
  return madd(u, s * 2.8853900817779268, e);
}
MX_INLINE D exp2_of(D x) {
  x = x < D{} - 200 ? D{} - 200 : x > D{} + 200 ? D{} + 200 : x;
  const D n = rint(x), s = x - n;
  D u = D{} + 1.0210630374735266e-07;
  u = madd(u, s, D{} + 1.3258875867250534e-06);
  u = madd(u, s, D{} + 1.5252647181818215e-05);
  u = madd(u, s, D{} + 0.00015403438482513998);
  u = madd(u, s, D{} + 0.0013333558247091454);
  u = madd(u, s, D{} + 0.009618129184351199);
  u = madd(u, s, D{} + 0.055504108664351307);
  u = madd(u, s, D{} + 0.24022650695711065);
  u = madd(u, s, D{} + 0.6931471805599512);
  u = madd(u, s, D{} + 1.);
  const W exponent = bits<W>(n + (0x1.8p52 + 1023)) << 52;
  return u * bits<D>(exponent);
}
inline float pow_of(float a, float b) { return powf(a, b); }
// Zeros, infinities and NaN, which the fast way leaves to the C library.
MX_INLINE I unusual(F a, F b) { return ~((abs(a) < F{} + inf) & (a != F{}) & (abs(b) < F{} + inf)); }
MX_INLINE F pow_fast(F a, F b) {
  D a0, a1, b0, b1;
  widen(abs(a), a0, a1);
  widen(b, b0, b1);
  const F y = narrow(exp2_of(b0 * log2_of(a0)), exp2_of(b1 * log2_of(a1)));
  // A negative base: NaN unless the exponent is integral, and the sign of the base if it is odd.
  const F half = b * 0.5f;
  const I integral = rint(b) == b, odd = integral & ~(rint(half) == half);
  const F signed_y = bits<F>(bits<U>(y) ^ (bits<U>(odd) & 0x80000000u));
  return choose(a < F{}, choose(integral, signed_y, F{} + __builtin_nanf("")), y);
}
template <bool swapped>
__attribute__((noinline)) void pow_block(char *block, const char *other) {
  for (int k = 0; k < n_vectors; k++) {
    F a = load<F>(block + k * vector_bytes), b = load<F>(other + k * vector_bytes);
    if (swapped) {
      const F t = a;
      a = b, b = t;
    }
    F y = pow_fast(a, b);
    const I rare = unusual(a, b);
    if (any(rare))
      for (int i = 0; i < vector_bytes / 4; i++)
        if (rare[i]) y[i] = pow_of(a[i], b[i]);
    store(block + k * vector_bytes, y);
  }
}
template <bool swapped>
void power(MX_STEP) {
  spill(step, v0, v1, v2, v3, v4, v5, v6, v7);
  pow_block<swapped>(step->scratch, step->p + (offset & step->p_mask));
  MX_UNSPILL MX_NEXT;
}

#define MX_GROUPED(op, O) MX_ENTRY(Op::op, kind_f32, 0, grouped<O, group>)
#define MX_RANGED(op, O) MX_ENTRY(Op::op, kind_f32, 0, by_range<O, group>)

const Entry entries[] = {
    MX_RANGED(exp, Exp),
    MX_GROUPED(exp2, Exp2),
    MX_GROUPED(expm1, Expm1),
    MX_RANGED(sigmoid, Sigmoid),
    MX_GROUPED(tanh, Tanh),
    MX_GROUPED(erf, Erf),
    MX_GROUPED(log, Log),
    MX_GROUPED(log2, Log2),
    MX_GROUPED(log10, Log10),
    MX_GROUPED(log1p, Log1p),
    MX_ENTRY(Op::sin, kind_f32, 0, trigonometric<Sin>),
    MX_ENTRY(Op::cos, kind_f32, 0, trigonometric<Cos>),
    MX_ENTRY(Op::power, kind_f32, form_am, power<false>),
    MX_ENTRY(Op::power, kind_f32, form_ma, power<true>),
};

}  // namespace

MX_PART(math, entries);
