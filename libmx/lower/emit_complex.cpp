// Complex ops as real instructions on float32 pairs. Formulas are the textbook ones; division scales by the larger part
// (R. L. Smith, "Algorithm 116: Complex division", CACM 1962), sqrt avoids cancellation (W. Kahan, "Branch cuts for
// complex elementary functions", 1987), and the inverse functions are written through log as Kahan defines them.
#include "backends/cpu/loop/ir.hpp"
#include "base/status.hpp"
#include "lower/emit.hpp"

namespace mx::lower {
namespace {

using loop::Op;
constexpr DType f = DType::float32, b = DType::bool_;
using C = LoopValue;

class ComplexEmitter {
 public:
  explicit ComplexEmitter(Emitter &e) : e_(e) {}
  C emit(OpCode op, DType type, std::span<const C> in);

 private:
  uint16_t k(double x) { return e_.scalar(f, x); }
  uint16_t un(Op op, uint16_t x) { return e_.unary(op, f, x); }
  uint16_t bin(Op op, uint16_t x, uint16_t y) { return e_.binary(op, f, x, y); }
  uint16_t test(Op op, uint16_t x, uint16_t y) { return e_.binary(op, b, x, y); }
  uint16_t either(uint16_t x, uint16_t y) { return test(Op::logical_or, x, y); }
  uint16_t both(uint16_t x, uint16_t y) { return test(Op::logical_and, x, y); }
  uint16_t pick(uint16_t c, uint16_t x, uint16_t y) { return e_.select(f, c, x, y); }
  C pick(uint16_t c, C x, C y) { return {pick(c, x.re, y.re), pick(c, x.im, y.im), true}; }
  C pair(uint16_t re, uint16_t im) { return {re, im, true}; }
  C real(double x) { return pair(k(x), k(0)); }
  C widen(C x) { return x.complex ? x : pair(e_.cast(f, x.re), k(0)); }

  C negate(C x) { return pair(un(Op::negative, x.re), un(Op::negative, x.im)); }
  C add(C x, C y) { return pair(bin(Op::add, x.re, y.re), bin(Op::add, x.im, y.im)); }
  C subtract(C x, C y) { return pair(bin(Op::subtract, x.re, y.re), bin(Op::subtract, x.im, y.im)); }
  C multiply(C x, C y) {
    return pair(bin(Op::subtract, bin(Op::multiply, x.re, y.re), bin(Op::multiply, x.im, y.im)),
                bin(Op::add, bin(Op::multiply, x.re, y.im), bin(Op::multiply, x.im, y.re)));
  }
  C scale(C x, uint16_t s) { return pair(bin(Op::multiply, x.re, s), bin(Op::multiply, x.im, s)); }
  C times_i(C x) { return pair(un(Op::negative, x.im), x.re); }
  C over_i(C x) { return pair(x.im, un(Op::negative, x.re)); }
  C divide(C x, C y);
  uint16_t size(C x) { return bin(Op::hypot, x.re, x.im); }
  uint16_t angle(C x) { return bin(Op::arctan2, x.im, x.re); }
  C exp(C x) {
    const uint16_t r = un(Op::exp, x.re);
    const uint16_t im = bin(Op::multiply, r, un(Op::sin, x.im));
    const uint16_t is_real = test(Op::equal, x.im, k(0));  // inf * sin(0) would be NaN
    return pair(pick(is_real, r, bin(Op::multiply, r, un(Op::cos, x.im))), pick(is_real, x.im, im));
  }
  C log(C x) { return pair(un(Op::log, size(x)), angle(x)); }
  C sqrt(C x);
  C sinh(C x) {
    return pair(bin(Op::multiply, un(Op::sinh, x.re), un(Op::cos, x.im)),
                bin(Op::multiply, un(Op::cosh, x.re), un(Op::sin, x.im)));
  }
  C cosh(C x) {
    return pair(bin(Op::multiply, un(Op::cosh, x.re), un(Op::cos, x.im)),
                bin(Op::multiply, un(Op::sinh, x.re), un(Op::sin, x.im)));
  }
  C tanh(C x);
  C power(C x, C y);
  C arcsinh(C x) { return log(add(x, sqrt(add(multiply(x, x), real(1))))); }
  C arccosh(C x) { return log(add(x, multiply(sqrt(add(x, real(1))), sqrt(subtract(x, real(1)))))); }
  C arctanh(C x) { return scale(subtract(log(add(real(1), x)), log(subtract(real(1), x))), k(0.5)); }
  C arcsin(C x) { return over_i(log(add(times_i(x), sqrt(subtract(real(1), multiply(x, x)))))); }
  uint16_t less(C x, C y, bool or_equal) {
    const Op last = or_equal ? Op::less_equal : Op::less;
    return either(test(Op::less, x.re, y.re), both(test(Op::equal, x.re, y.re), test(last, x.im, y.im)));
  }
  uint16_t equal(C x, C y) { return both(test(Op::equal, x.re, y.re), test(Op::equal, x.im, y.im)); }
  uint16_t test_parts(Op op, C x) { return either(e_.unary(op, b, x.re), e_.unary(op, b, x.im)); }
  uint16_t negated(uint16_t x) { return e_.unary(Op::logical_not, b, x); }
  uint16_t truth(C x) { return x.complex ? either(e_.cast(b, x.re), e_.cast(b, x.im)) : e_.cast(b, x.re); }
  C bool_value(uint16_t x) { return {x, 0, false}; }
  C emit_unary(OpCode op, C x);
  C emit_binary(OpCode op, C x, C y);

  Emitter &e_;
};

C ComplexEmitter::divide(C x, C y) {
  const uint16_t wide = test(Op::greater_equal, un(Op::absolute, y.re), un(Op::absolute, y.im));
  const uint16_t large = pick(wide, y.re, y.im), small = pick(wide, y.im, y.re);
  const uint16_t ratio = bin(Op::divide, small, large);
  const uint16_t divisor = bin(Op::add, large, bin(Op::multiply, small, ratio));
  const uint16_t xr = bin(Op::multiply, x.re, ratio), xi = bin(Op::multiply, x.im, ratio);
  const uint16_t re = pick(wide, bin(Op::add, x.re, xi), bin(Op::add, xr, x.im));
  const uint16_t im = pick(wide, bin(Op::subtract, x.im, xr), bin(Op::subtract, xi, x.re));
  const C quotient = pair(bin(Op::divide, re, divisor), bin(Op::divide, im, divisor));
  // A real divisor, zero among them, divides the parts.
  const C by_real = pair(bin(Op::divide, x.re, y.re), bin(Op::divide, x.im, y.re));
  return pick(test(Op::equal, y.im, k(0)), by_real, quotient);
}

C ComplexEmitter::sqrt(C x) {
  const uint16_t r = size(x);
  const uint16_t t = un(Op::sqrt, bin(Op::multiply, k(0.5), bin(Op::add, r, un(Op::absolute, x.re))));
  const uint16_t other = bin(Op::divide, un(Op::absolute, x.im), bin(Op::multiply, k(2), t));
  const uint16_t zero = test(Op::equal, t, k(0));
  const uint16_t small = pick(zero, k(0), other);
  const uint16_t right = test(Op::greater_equal, x.re, k(0));
  return pair(pick(right, t, small), bin(Op::copysign, pick(right, small, t), x.im));
}

C ComplexEmitter::tanh(C x) {
  // (sinh 2a + i sin 2b) / (cosh 2a + cos 2b); beyond |a| = 20 it is 1 to the last bit and the quotient overflows.
  const uint16_t a = bin(Op::add, x.re, x.re), w = bin(Op::add, x.im, x.im);
  const uint16_t divisor = bin(Op::add, un(Op::cosh, a), un(Op::cos, w));
  const C value = pair(bin(Op::divide, un(Op::sinh, a), divisor), bin(Op::divide, un(Op::sin, w), divisor));
  const uint16_t flat = test(Op::greater, un(Op::absolute, x.re), k(20));
  return pair(pick(flat, bin(Op::copysign, k(1), x.re), value.re), pick(flat, bin(Op::copysign, k(0), w), value.im));
}

C ComplexEmitter::power(C x, C y) {
  const C value = exp(multiply(y, log(x)));
  const uint16_t zero_base = both(equal(x, real(0)), test(Op::greater, y.re, k(0)));
  const uint16_t zero_exponent = equal(y, real(0));
  return pick(zero_exponent, real(1), pick(zero_base, real(0), value));
}

C ComplexEmitter::emit_unary(OpCode op, C x) {
  switch (op) {
    case OpCode::negative:
      return negate(x);
    case OpCode::conjugate:
      return pair(x.re, un(Op::negative, x.im));
    case OpCode::real:
      return {x.re, 0, false};
    case OpCode::imag:
      return {x.im, 0, false};
    case OpCode::absolute:
      return {size(x), 0, false};
    case OpCode::sign: {
      const C unit = scale(x, un(Op::reciprocal, size(x)));
      return pick(equal(x, real(0)), x, unit);
    }
    case OpCode::square:
      return multiply(x, x);
    case OpCode::floor:
    case OpCode::ceil:
    case OpCode::trunc:
    case OpCode::round: {
      const Op ins = op == OpCode::floor   ? Op::floor
                     : op == OpCode::ceil  ? Op::ceil
                     : op == OpCode::trunc ? Op::trunc
                                           : Op::round;
      return pair(un(ins, x.re), un(ins, x.im));
    }
    case OpCode::sqrt:
      return sqrt(x);
    case OpCode::rsqrt:
      return divide(real(1), sqrt(x));
    case OpCode::reciprocal:
      return divide(real(1), x);
    case OpCode::exp:
      return exp(x);
    case OpCode::expm1: {
      // e^a cos b - 1 = expm1(a) cos b - 2 sin^2(b / 2)
      const uint16_t half = un(Op::sin, bin(Op::multiply, x.im, k(0.5)));
      const uint16_t re = bin(Op::subtract, bin(Op::multiply, un(Op::expm1, x.re), un(Op::cos, x.im)),
                              bin(Op::multiply, k(2), bin(Op::multiply, half, half)));
      return pair(re, bin(Op::multiply, un(Op::exp, x.re), un(Op::sin, x.im)));
    }
    case OpCode::log:
      return log(x);
    case OpCode::log2:
      return scale(log(x), k(1.4426950408889634));
    case OpCode::log10:
      return scale(log(x), k(0.4342944819032518));
    case OpCode::log1p: {
      const C y = add(x, real(1));
      return pair(un(Op::log, size(y)), angle(y));
    }
    case OpCode::sinh:
      return sinh(x);
    case OpCode::cosh:
      return cosh(x);
    case OpCode::tanh:
      return tanh(x);
    case OpCode::sin:
      return over_i(sinh(times_i(x)));
    case OpCode::cos:
      return cosh(times_i(x));
    case OpCode::tan:
      return over_i(tanh(times_i(x)));
    case OpCode::arcsinh:
      return arcsinh(x);
    case OpCode::arccosh:
      return arccosh(x);
    case OpCode::arctanh:
      return arctanh(x);
    case OpCode::arcsin:
      return arcsin(x);
    case OpCode::arccos:
      return subtract(real(1.5707963267948966), arcsin(x));
    case OpCode::arctan:
      return over_i(arctanh(times_i(x)));
    case OpCode::sigmoid:
      return divide(real(1), add(real(1), exp(negate(x))));
    case OpCode::logical_not:
      return bool_value(negated(truth(x)));
    case OpCode::isnan:
      return bool_value(test_parts(Op::is_nan, x));
    case OpCode::isinf:
      return bool_value(test_parts(Op::is_inf, x));
    case OpCode::isfinite:
      return bool_value(both(e_.unary(Op::is_finite, b, x.re), e_.unary(Op::is_finite, b, x.im)));
    default:
      fail(MX_ERROR_DTYPE, "%s is not defined for complex64", info(op).name);
  }
}

C ComplexEmitter::emit_binary(OpCode op, C x, C y) {
  switch (op) {
    case OpCode::add:
      return add(x, y);
    case OpCode::subtract:
      return subtract(x, y);
    case OpCode::multiply:
      return multiply(x, y);
    case OpCode::divide:
      return divide(x, y);
    case OpCode::power:
      return power(x, y);
    case OpCode::maximum:
    case OpCode::minimum: {
      // Lexicographic, and NaN wins.
      const uint16_t first = op == OpCode::maximum ? less(y, x, false) : less(x, y, false);
      return pick(either(first, test_parts(Op::is_nan, x)), x, y);
    }
    case OpCode::logaddexp: {
      const uint16_t swap = less(x, y, false);
      const C large = pick(swap, y, x), small = pick(swap, x, y);
      return add(large, log(add(real(1), exp(subtract(small, large)))));
    }
    case OpCode::remainder: {
      const C q = divide(x, y);
      return subtract(x, multiply(pair(un(Op::floor, q.re), un(Op::floor, q.im)), y));
    }
    case OpCode::floor_divide: {
      const C q = divide(x, y);
      return pair(un(Op::floor, q.re), un(Op::floor, q.im));
    }
    case OpCode::equal:
      return bool_value(equal(x, y));
    case OpCode::not_equal:
      return bool_value(negated(equal(x, y)));
    case OpCode::less:
      return bool_value(less(x, y, false));
    case OpCode::less_equal:
      return bool_value(less(x, y, true));
    case OpCode::greater:
      return bool_value(less(y, x, false));
    case OpCode::greater_equal:
      return bool_value(less(y, x, true));
    case OpCode::equal_nan:
      return bool_value(either(equal(x, y), both(test_parts(Op::is_nan, x), test_parts(Op::is_nan, y))));
    case OpCode::logical_and:
      return bool_value(both(truth(x), truth(y)));
    case OpCode::logical_or:
      return bool_value(either(truth(x), truth(y)));
    case OpCode::logical_xor:
      return bool_value(test(Op::logical_xor, truth(x), truth(y)));
    default:
      fail(MX_ERROR_DTYPE, "%s is not defined for complex64", info(op).name);
  }
}

C ComplexEmitter::emit(OpCode op, DType type, std::span<const C> in) {
  if (op == OpCode::astype) {
    if (is_complex(type)) return widen(in[0]);
    if (type == b) return bool_value(truth(in[0]));
    return {e_.cast(type, in[0].re), 0, false};
  }
  if (op == OpCode::select) {
    const uint16_t condition = truth(in[0]);
    if (is_complex(type)) return pick(condition, widen(in[1]), widen(in[2]));
    return {e_.select(type, condition, in[1].re, in[2].re), 0, false};
  }
  return in.size() == 1 ? emit_unary(op, widen(in[0])) : emit_binary(op, widen(in[0]), widen(in[1]));
}

}  // namespace

LoopValue emit_complex(Emitter &e, OpCode op, DType type, std::span<const LoopValue> in) {
  return ComplexEmitter(e).emit(op, type, in);
}

}  // namespace mx::lower
