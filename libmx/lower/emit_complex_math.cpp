// Complex functions. Their special values are those of C99 Annex G. sqrt avoids cancellation, and the inverse functions
// are made of sqrt, arctan and arcsinh (W. Kahan, "Branch cuts for complex elementary functions, or much ado about
// nothing's sign bit", 1987), so that no sum of large terms cancels. arctanh is Kahan's too.
#include "lower/emit_complex.hpp"

namespace mx::lower {
namespace {

constexpr double inf = __builtin_inf(), half_pi = 1.5707963267948966;

}  // namespace

// Where an infinite value lies: infinite parts become +-1, finite ones +-0, NaN stays.
LoopValue ComplexEmitter::direction(C x) {
  const auto part = [&](uint16_t v) {
    const uint16_t unit = pick(test(Op::is_inf, v), k(1), k(0));
    return pick(test(Op::is_nan, v), v, signed_as(unit, v));
  };
  return pair(part(x.re), part(x.im));
}

LoopValue ComplexEmitter::exp(C x) {
  const uint16_t r = un(Op::exp, x.re);
  const uint16_t on_axis = is(x.im, 0);  // inf * sin(0) would be NaN
  const uint16_t lost = no(test(Op::is_finite, x.im)), far = test(Op::is_inf, x.re);
  const uint16_t re = pick(on_axis, r, times(r, un(Op::cos, x.im)));
  const uint16_t im = pick(on_axis, x.im, times(r, un(Op::sin, x.im)));
  return pair(pick(both(lost, far), r, re), pick(both(lost, is(x.re, -inf)), k(0), im));
}

LoopValue ComplexEmitter::expm1(C x) {
  // e^a cos b - 1 = expm1(a) cos b - 2 sin^2(b / 2)
  const uint16_t half = un(Op::sin, times(x.im, k(0.5)));
  const uint16_t re = minus(times(un(Op::expm1, x.re), un(Op::cos, x.im)), times(k(2), times(half, half)));
  const C e = exp(x);
  const uint16_t far = test(Op::is_inf, x.re);
  return pair(pick(far, minus(e.re, k(1)), pick(is(x.im, 0), un(Op::expm1, x.re), re)), e.im);
}

LoopValue ComplexEmitter::log(C x) {
  // Near |x| = 1 the logarithm of a rounded |x| has no correct digit.
  const uint16_t a = magnitude(x.re), c = magnitude(x.im), r = size(x);
  const uint16_t large = bin(Op::maximum, a, c), small = bin(Op::minimum, a, c);
  const uint16_t excess = plus(times(minus(large, k(1)), plus(large, k(1))), times(small, small));
  const uint16_t near = both(test(Op::greater, r, k(0.5)), test(Op::less, r, k(2)));
  return pair(pick(near, times(k(0.5), un(Op::log1p, excess)), un(Op::log, r)), angle(x));
}

LoopValue ComplexEmitter::log1p(C x) {
  const C y = add(1, x);
  const uint16_t excess = plus(times(x.re, plus(x.re, k(2))), times(x.im, x.im));  // |1 + x|^2 - 1
  const uint16_t near = both(test(Op::greater, excess, k(-0.5)), test(Op::less, excess, k(2)));
  return pair(pick(near, times(k(0.5), un(Op::log1p, excess)), un(Op::log, size(y))), angle(y));
}

LoopValue ComplexEmitter::sqrt(C x) {
  const uint16_t r = size(x);
  const uint16_t t = un(Op::sqrt, plus(times(k(0.5), r), times(k(0.5), magnitude(x.re))));
  const uint16_t small = pick(is(t, 0), k(0), over(magnitude(x.im), times(k(2), t)));
  const uint16_t right = test(Op::greater_equal, x.re, k(0));
  const C finite = pair(pick(right, t, small), signed_as(pick(right, small, t), x.im));
  // (inf, y): (inf, 0); (-inf, y): (0, inf); any (x, inf): (inf, inf). NaN makes the finite part NaN.
  const uint16_t lost = test(Op::is_nan, x.im);
  const C positive = pair(k(inf), pick(lost, x.im, signed_as(k(0), x.im)));
  const C negative = pair(pick(lost, x.im, k(0)), signed_as(k(inf), x.im));
  const C by_real = pick(is(x.re, inf), positive, pick(is(x.re, -inf), negative, finite));
  return pick(test(Op::is_inf, x.im), pair(k(inf), x.im), by_real);
}

LoopValue ComplexEmitter::sinh(C x) {
  const uint16_t re = times(un(Op::sinh, x.re), un(Op::cos, x.im));
  const uint16_t im = times(un(Op::cosh, x.re), un(Op::sin, x.im));
  const uint16_t far = both(test(Op::is_inf, x.re), no(test(Op::is_finite, x.im)));
  return pair(pick(either(is(x.re, 0), far), x.re, re), pick(is(x.im, 0), x.im, im));
}

LoopValue ComplexEmitter::cosh(C x) {
  const uint16_t re = times(un(Op::cosh, x.re), un(Op::cos, x.im));
  const uint16_t im = times(un(Op::sinh, x.re), un(Op::sin, x.im));
  const uint16_t far = both(test(Op::is_inf, x.re), no(test(Op::is_finite, x.im)));
  const uint16_t zero = times(signed_as(k(0), x.re), signed_as(k(1), x.im));
  return pair(pick(far, k(inf), re), pick(either(is(x.re, 0), is(x.im, 0)), zero, im));
}

LoopValue ComplexEmitter::tanh(C x) {
  // Kahan's: sums of squares, near the poles too. Beyond |re| = 20 it is 1 to the last bit, and squares overflow.
  const uint16_t t = un(Op::tan, x.im), s = un(Op::sinh, x.re);
  const uint16_t beta = plus(k(1), times(t, t)), bs = times(beta, s), divisor = plus(k(1), times(bs, s));
  const uint16_t re = over(times(bs, un(Op::sqrt, plus(k(1), times(s, s)))), divisor);
  const uint16_t known = either(test(Op::is_finite, x.im), test(Op::is_inf, x.re));
  const uint16_t flat = both(test(Op::greater, magnitude(x.re), k(20)), known);
  const C curved = pair(pick(is(x.re, 0), x.re, re), pick(is(x.im, 0), x.im, over(t, divisor)));
  return pick(flat, pair(signed_as(k(1), x.re), signed_as(k(0), plus(x.im, x.im))), curved);
}

LoopValue ComplexEmitter::arcsin(C x) {
  const C low = sqrt(subtract(1, x)), high = sqrt(add(1, x));
  const uint16_t re = un(Op::arctan, over(x.re, minus(times(low.re, high.re), times(low.im, high.im))));
  const uint16_t im = un(Op::arcsinh, minus(times(low.re, high.im), times(low.im, high.re)));
  const C to = direction(x);
  const C far = pair(bin(Op::arctan2, to.re, magnitude(to.im)), signed_as(k(inf), x.im));
  return pick(infinite(x), far, pair(pick(is(x.re, 0), x.re, re), im));
}

LoopValue ComplexEmitter::arccos(C x) {
  const C low = sqrt(subtract(1, x)), high = sqrt(add(1, x));
  const uint16_t re = times(k(2), bin(Op::arctan2, low.re, high.re));
  const uint16_t im = un(Op::arcsinh, minus(times(high.re, low.im), times(high.im, low.re)));
  const C to = direction(x);
  const C far = pair(bin(Op::arctan2, magnitude(to.im), to.re), signed_as(k(inf), negative(x.im)));
  const uint16_t lost_on_axis = both(is(x.re, 0), test(Op::is_nan, x.im));
  return pick(infinite(x), far, pair(pick(lost_on_axis, k(half_pi), re), im));
}

LoopValue ComplexEmitter::arccosh(C x) {
  const C low = sqrt(subtract(x, 1)), high = sqrt(add(1, x));
  const uint16_t re = un(Op::arcsinh, plus(times(low.re, high.re), times(low.im, high.im)));
  const uint16_t im = times(k(2), bin(Op::arctan2, low.im, high.re));
  const C to = direction(x);
  const C far = pair(k(inf), bin(Op::arctan2, to.im, to.re));
  const uint16_t lost_on_axis = both(is(x.re, 0), test(Op::is_nan, x.im));
  return pick(infinite(x), far, pair(re, pick(lost_on_axis, k(half_pi), im)));
}

LoopValue ComplexEmitter::arctanh(C x) {
  const uint16_t a = magnitude(x.re), low = minus(k(1), a), high = plus(k(1), a), y2 = times(x.im, x.im);
  const uint16_t distance = plus(times(low, low), y2);
  const uint16_t re = signed_as(times(k(0.25), un(Op::log1p, over(times(k(4), a), distance))), x.re);
  const uint16_t im = times(k(0.5), bin(Op::arctan2, times(k(2), x.im), minus(times(low, high), y2)));
  // Where the squares would overflow, the real part is that of 1 / x.
  const uint16_t r = size(x), large = test(Op::greater, r, k(f == DType::float32 ? 1e18 : 1e150));
  const uint16_t tiny = over(over(x.re, r), r);
  const uint16_t right_angle = signed_as(k(half_pi), x.im);
  const C far = pair(signed_as(k(0), x.re), pick(test(Op::is_nan, x.im), x.im, right_angle));
  const C finite = pair(pick(is(x.re, 0), x.re, pick(large, tiny, re)), pick(large, right_angle, im));
  return pick(infinite(x), far, finite);
}

}  // namespace mx::lower
