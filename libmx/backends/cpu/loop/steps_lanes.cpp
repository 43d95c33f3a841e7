// Micro-ops that call the C library lane by lane: the rare float32 functions, computed in double precision and rounded,
// and the float64 functions. Compiled once per instruction set level.
#include <math.h>

#include "backends/cpu/loop/step.hpp"

namespace {

inline double reciprocal_exp_sum(double x) {  // sigmoid
  if (x >= 0) return 1 / (1 + exp(-x));
  const double e = exp(x), sum = 1 + e, lost = e - (sum - 1);  // what the rounding of the sum took: exact
  const double quotient = e / sum;
  return quotient + (fma(-quotient, sum, e) - quotient * lost) / sum;
}
// The C library's own is up to 2.2 ulp off. Near 0: x / (1 + z / (3 + z / (5 + ...))), z = x^2 (Lambert 1768), to nine
// terms, as x less a tenth of it, so that only the last subtraction's rounding counts.
inline double hyperbolic_tangent(double x) {
  const double a = fabs(x), z = x * x;
  if (a >= 0.55) return ::copysign(1 - 2 / (exp(a + a) + 1), x);
  const double p = (((44 * z + 12870) * z + 810810) * z + 11486475) * z;
  const double q = (((45 * z + 13860) * z + 945945) * z + 16216200) * z + 34459425;
  return ::copysign(a - a * (p / q), x);
}
// The difference of the arguments is the exponent of e, so its rounding must not be that of the result's type.
inline double log_add_exp(double a, double b) {
  if (a != a || b != b) return a + b;
  if (a == b) return isinf(a) ? a : static_cast<double>(static_cast<long double>(a) + 0.693147180559945309417232L);
  const long double high = a > b ? a : b, low = a > b ? b : a;
  return static_cast<double>(high + log1pl(expl(low - high)));
}
// The sign of the divisor, also for a zero.
inline double modulo(double a, double b) {
  const double r = fmod(a, b);
  if (r == 0) return ::copysign(r, b);
  return (r < 0) != (b < 0) ? r + b : r;
}
inline float modulo(float a, float b) {
  const float r = fmodf(a, b);
  if (r == 0) return copysignf(r, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

// M. B. Giles, "Approximating the erfinv function", GPU Computing Gems (2011), single precision version, as the start
// of Halley's iteration; erfc keeps the residual exact near +-1.
inline double inverse_erf(double x) {
  const double a = fabs(x);
  if (!(a < 1)) return a == 1 ? x * HUGE_VAL : NAN;
  if (a == 0) return x;
  static const double central[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                   -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
  static const double outer[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                                 -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
  double w = -log((1 - a) * (1 + a));
  const bool is_central = w < 5;
  w = is_central ? w - 2.5 : ::sqrt(w) - 3;
  double y = 0;
  for (int i = 0; i < 9; i++) y = y * w + (is_central ? central : outer)[i];
  y *= a;
  // Beyond the range of float32: from erfc(y) ~ exp(-y^2) / (y sqrt(pi)).
  if (a > 1 - 0x1p-22) {
    const double t = -log(1 - a);
    y = ::sqrt(t - log(M_PI * t) / 2);
  }
  for (int i = 0; i < 3; i++) {
    const double residual = a < 0.5 ? erf(y) - a : (1 - a) - erfc(y);
    const double step = residual / (2 / ::sqrt(M_PI) * exp(-y * y));
    y -= step / (1 + y * step);
  }
  return ::copysign(y, x);
}

#define MX_FUNCTION(name, call)                          \
  inline double name##_double(double x) { return call; } \
  [[maybe_unused]] inline float name##_float(float v) {  \
    const double x = v;                                  \
    return static_cast<float>(call);                     \
  }
MX_FUNCTION(exp, exp(x))
MX_FUNCTION(expm1, expm1(x))
MX_FUNCTION(exp2, exp2(x))
MX_FUNCTION(log, log(x))
MX_FUNCTION(log2, log2(x))
MX_FUNCTION(log10, log10(x))
MX_FUNCTION(log1p, log1p(x))
MX_FUNCTION(sin, sin(x))
MX_FUNCTION(cos, cos(x))
MX_FUNCTION(tan, tan(x))
MX_FUNCTION(arcsin, asin(x))
MX_FUNCTION(arccos, acos(x))
MX_FUNCTION(arctan, atan(x))
MX_FUNCTION(sinh, sinh(x))
MX_FUNCTION(cosh, cosh(x))
MX_FUNCTION(tanh, hyperbolic_tangent(x))
MX_FUNCTION(arcsinh, asinh(x))
MX_FUNCTION(arccosh, acosh(x))
MX_FUNCTION(arctanh, atanh(x))
MX_FUNCTION(erf, erf(x))
MX_FUNCTION(erfinv, inverse_erf(x))
MX_FUNCTION(sigmoid, reciprocal_exp_sum(x))

#define MX_FUNCTION2(name, call)                                   \
  inline double name##_double(double a, double b) { return call; } \
  [[maybe_unused]] inline float name##_float(float x, float y) {   \
    const double a = x, b = y;                                     \
    return static_cast<float>(call);                               \
  }
MX_FUNCTION2(arctan2, atan2(a, b))
MX_FUNCTION2(logaddexp, log_add_exp(a, b))
MX_FUNCTION2(hypot, hypot(a, b))
inline double power_double(double a, double b) { return pow(a, b); }
inline double remainder_double(double a, double b) { return modulo(a, b); }
inline float remainder_float(float a, float b) { return modulo(a, b); }
inline double nextafter_double(double a, double b) { return nextafter(a, b); }
inline float nextafter_float(float a, float b) { return nextafterf(a, b); }

// The neighbour of a in the narrower format: in the order of the bits, whatever the format.
inline uint32_t next_bits(uint32_t a, uint32_t b, bool b_above) {
  if ((a & 0x7fff) == 0) return (b & 0x8000) | 1;  // from zero to the smallest denormal
  return b_above == !(a & 0x8000) ? a + 1 : a - 1;
}
inline float nextafter_brain(float a, float b) {
  if (a != a || b != b) return a + b;
  if (a == b) return b;
  uint32_t x, y;
  memcpy(&x, &a, 4);
  memcpy(&y, &b, 4);
  x = next_bits(x >> 16, y >> 16, b > a) << 16;
  memcpy(&a, &x, 4);
  return a;
}
inline float nextafter_half(float a, float b) {
  if (a != a || b != b) return a + b;
  if (a == b) return b;
  const bool above = b > a;
  if (a == 0) return copysignf(0x1p-24f, b);
  if (isinf(a)) return copysignf(65504.f, a);
  int exponent;
  const float fraction = fabsf(frexpf(a, &exponent));
  // The spacing below a power of two is half of the one above it.
  const bool shrinks = above != (a > 0);
  int power = (exponent - 1 < -14 ? -14 : exponent - 1) - 10;
  if (shrinks && fraction == 0.5f && exponent - 1 > -14) power--;
  const float next = a + (above ? ldexpf(1, power) : -ldexpf(1, power));
  return fabsf(next) > 65504.f ? copysignf(HUGE_VALF, next) : next == 0 ? copysignf(0, a) : next;
}

#define MX_DOUBLE(name) MX_ENTRY(Op::name, kind_f64, 0, by_lane<double, name##_double>)
#define MX_BOTH(name) MX_ENTRY(Op::name, kind_f32, 0, by_lane<float, name##_float>), MX_DOUBLE(name)
#define MX_DOUBLE2(name)                                                         \
  MX_ENTRY(Op::name, kind_f64, form_am, by_lane2<double, name##_double, false>), \
      MX_ENTRY(Op::name, kind_f64, form_ma, by_lane2<double, name##_double, true>)
#define MX_FLOAT2(op, name, form)                                 \
  MX_ENTRY(Op::op, kind_f32, form, by_lane2<float, name, false>), \
      MX_ENTRY(Op::op, kind_f32, (form) + 1, by_lane2<float, name, true>)
#define MX_BOTH2(name) MX_FLOAT2(name, name##_float, form_am), MX_DOUBLE2(name)

const Entry entries[] = {
    MX_DOUBLE(exp),
    MX_DOUBLE(expm1),
    MX_DOUBLE(exp2),
    MX_DOUBLE(log),
    MX_DOUBLE(log2),
    MX_DOUBLE(log10),
    MX_DOUBLE(log1p),
    MX_DOUBLE(sin),
    MX_DOUBLE(cos),
    MX_DOUBLE(tanh),
    MX_DOUBLE(erf),
    MX_DOUBLE(sigmoid),
    MX_BOTH(tan),
    MX_BOTH(arcsin),
    MX_BOTH(arccos),
    MX_BOTH(arctan),
    MX_BOTH(sinh),
    MX_BOTH(cosh),
    MX_BOTH(arcsinh),
    MX_BOTH(arccosh),
    MX_BOTH(arctanh),
    MX_BOTH(erfinv),
    MX_DOUBLE2(power),
    MX_BOTH2(arctan2),
    MX_BOTH2(logaddexp),
    MX_BOTH2(hypot),
    MX_BOTH2(remainder),
    MX_BOTH2(nextafter),
    MX_FLOAT2(nextafter, nextafter_half, nextafter_f16),
    MX_FLOAT2(nextafter, nextafter_brain, nextafter_bf16),
};

}  // namespace

MX_PART(lanes, entries);
