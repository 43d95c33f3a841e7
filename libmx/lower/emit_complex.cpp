// Complex ops as real instructions on pairs. Formulas are the textbook ones; division scales by the larger part (R. L.
// Smith, "Algorithm 116: Complex division", CACM 1962). Functions are in emit_complex_math.cpp.
#include "lower/emit_complex.hpp"

#include "backends/loop/ir.hpp"
#include "base/status.hpp"

namespace mx::lower {

LoopValue ComplexEmitter::widen(C x) {
  if (!x.complex) return pair(e_.cast(f, x.re), k(0));
  return pair(e_.cast(f, x.re), e_.cast(f, x.im));
}

LoopValue ComplexEmitter::multiply(C x, C y) {
  return pair(minus(times(x.re, y.re), times(x.im, y.im)), plus(times(x.re, y.im), times(x.im, y.re)));
}

LoopValue ComplexEmitter::divide(C x, C y) {
  const uint16_t wide = test(Op::greater_equal, magnitude(y.re), magnitude(y.im));
  const uint16_t large = pick(wide, y.re, y.im), small = pick(wide, y.im, y.re);
  const uint16_t ratio = over(small, large);
  const uint16_t divisor = plus(large, times(small, ratio));
  const uint16_t xr = times(x.re, ratio), xi = times(x.im, ratio);
  const uint16_t re = pick(wide, plus(x.re, xi), plus(xr, x.im));
  const uint16_t im = pick(wide, minus(x.im, xr), minus(xi, x.re));
  // A real divisor, zero among them, divides the parts.
  const C by_real = pair(over(x.re, y.re), over(x.im, y.re));
  return pick(is(y.im, 0), by_real, pair(over(re, divisor), over(im, divisor)));
}

LoopValue ComplexEmitter::sign(C x) { return pick(equal(x, real(0)), real(0), scale(x, un(Op::reciprocal, size(x)))); }

LoopValue ComplexEmitter::power(C x, C y) {
  const C value = exp(multiply(y, log(x)));
  const uint16_t zero_base = both(equal(x, real(0)), test(Op::greater, y.re, k(0)));
  return pick(equal(y, real(0)), real(1), pick(zero_base, real(0), value));
}

LoopValue ComplexEmitter::logaddexp(C x, C y) {
  const uint16_t swap = less(x, y, false);
  const C large = pick(swap, y, x), small = pick(swap, x, y);
  return add(large, log(add(1, exp(subtract(small, large)))));
}

// By real parts, then by imaginary parts.
uint16_t ComplexEmitter::less(C x, C y, bool or_equal) {
  const Op last = or_equal ? Op::less_equal : Op::less;
  return either(test(Op::less, x.re, y.re), both(test(Op::equal, x.re, y.re), test(last, x.im, y.im)));
}

LoopValue ComplexEmitter::emit_unary(OpCode op, C x) {
  switch (op) {
    case OpCode::negative:
      return negate(x);
    case OpCode::conjugate:
      return pair(x.re, negative(x.im));
    case OpCode::real:
      return {x.re, 0, false};
    case OpCode::imag:
      return {x.im, 0, false};
    case OpCode::absolute:
      return {size(x), 0, false};
    case OpCode::sign:
      return sign(x);
    case OpCode::square:
      return multiply(x, x);
    case OpCode::floor:
      return round(Op::floor, x);
    case OpCode::ceil:
      return round(Op::ceil, x);
    case OpCode::trunc:
      return round(Op::trunc, x);
    case OpCode::round:
      return round(Op::round, x);
    case OpCode::sqrt:
      return sqrt(x);
    case OpCode::rsqrt:
      return divide(real(1), sqrt(x));
    case OpCode::reciprocal:
      return divide(real(1), x);
    case OpCode::exp:
      return exp(x);
    case OpCode::expm1:
      return expm1(x);
    case OpCode::log:
      return log(x);
    case OpCode::log2:
      return scale(log(x), k(1.4426950408889634));
    case OpCode::log10:
      return scale(log(x), k(0.4342944819032518));
    case OpCode::log1p:
      return log1p(x);
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
      return over_i(arcsin(times_i(x)));
    case OpCode::arccosh:
      return arccosh(x);
    case OpCode::arctanh:
      return arctanh(x);
    case OpCode::arcsin:
      return arcsin(x);
    case OpCode::arccos:
      return arccos(x);
    case OpCode::arctan:
      return over_i(arctanh(times_i(x)));
    case OpCode::sigmoid:
      return divide(real(1), add(1, exp(negate(x))));
    case OpCode::logical_not:
      return bool_value(no(truth(x)));
    case OpCode::isnan:
      return bool_value(test_parts(Op::is_nan, x));
    case OpCode::isinf:
      return bool_value(test_parts(Op::is_inf, x));
    case OpCode::isfinite:
      return bool_value(both(test(Op::is_finite, x.re), test(Op::is_finite, x.im)));
    default:
      fail(MX_ERROR_DTYPE, "%s is not defined for complex numbers", info(op).name);
  }
}

LoopValue ComplexEmitter::emit_binary(OpCode op, C x, C y) {
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
    case OpCode::logaddexp:
      return logaddexp(x, y);
    case OpCode::remainder:
      return subtract(x, multiply(quotient(x, y), y));
    case OpCode::floor_divide:
      return quotient(x, y);
    case OpCode::equal:
      return bool_value(equal(x, y));
    case OpCode::not_equal:
      return bool_value(no(equal(x, y)));
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
      fail(MX_ERROR_DTYPE, "%s is not defined for complex numbers", info(op).name);
  }
}

LoopValue ComplexEmitter::emit(OpCode op, DType type, std::span<const C> in) {
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

LoopValue emit_complex(Emitter &e, OpCode op, DType type, std::span<const LoopValue> in) {
  DType part = part_dtype(type);
  if (!is_complex(type))
    for (const LoopValue &x : in)
      if (x.complex) part = e.type(x.re);
  return ComplexEmitter(e, part).emit(op, type, in);
}

}  // namespace mx::lower
