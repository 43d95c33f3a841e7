// Complex values as pairs of real loop values, of which every complex op is made. Used by emit_complex.cpp, which says
// which op is what, and emit_complex_math.cpp, which has the functions.
#pragma once
#include "lower/emit.hpp"

namespace mx::lower {

class ComplexEmitter {
 public:
  // `part` is the dtype of the real and the imaginary part.
  ComplexEmitter(Emitter &e, DType part) : e_(e), f(part) {}
  LoopValue emit(OpCode op, DType type, std::span<const LoopValue> in);

 private:
  using Op = loop::Op;
  using C = LoopValue;
  static constexpr DType b = DType::bool_;

  uint16_t k(double x) { return e_.scalar(f, x); }
  uint16_t un(Op op, uint16_t x) { return e_.unary(op, f, x); }
  uint16_t bin(Op op, uint16_t x, uint16_t y) { return e_.binary(op, f, x, y); }
  uint16_t plus(uint16_t x, uint16_t y) { return bin(Op::add, x, y); }
  uint16_t minus(uint16_t x, uint16_t y) { return bin(Op::subtract, x, y); }
  uint16_t times(uint16_t x, uint16_t y) { return bin(Op::multiply, x, y); }
  uint16_t over(uint16_t x, uint16_t y) { return bin(Op::divide, x, y); }
  uint16_t signed_as(uint16_t x, uint16_t sign) { return bin(Op::copysign, x, sign); }
  uint16_t magnitude(uint16_t x) { return un(Op::absolute, x); }
  uint16_t negative(uint16_t x) { return un(Op::negative, x); }
  uint16_t test(Op op, uint16_t x, uint16_t y) { return e_.binary(op, b, x, y); }
  uint16_t test(Op op, uint16_t x) { return e_.unary(op, b, x); }
  uint16_t is(uint16_t x, double value) { return test(Op::equal, x, k(value)); }
  uint16_t either(uint16_t x, uint16_t y) { return test(Op::logical_or, x, y); }
  uint16_t both(uint16_t x, uint16_t y) { return test(Op::logical_and, x, y); }
  uint16_t no(uint16_t x) { return test(Op::logical_not, x); }
  uint16_t pick(uint16_t c, uint16_t x, uint16_t y) { return e_.select(f, c, x, y); }
  C pick(uint16_t c, C x, C y) { return {pick(c, x.re, y.re), pick(c, x.im, y.im), true}; }
  C pair(uint16_t re, uint16_t im) { return {re, im, true}; }
  C real(double x) { return pair(k(x), k(0)); }
  C widen(C x);

  C negate(C x) { return pair(negative(x.re), negative(x.im)); }
  C add(C x, C y) { return pair(plus(x.re, y.re), plus(x.im, y.im)); }
  C subtract(C x, C y) { return pair(minus(x.re, y.re), minus(x.im, y.im)); }
  // With real operands signs of zero stay, which decide on which side of a branch cut a value is.
  C add(double x, C y) { return pair(plus(k(x), y.re), y.im); }
  C subtract(double x, C y) { return pair(minus(k(x), y.re), negative(y.im)); }
  C subtract(C x, double y) { return pair(minus(x.re, k(y)), x.im); }
  C multiply(C x, C y);
  C scale(C x, uint16_t s) { return pair(times(x.re, s), times(x.im, s)); }
  C times_i(C x) { return pair(negative(x.im), x.re); }
  C over_i(C x) { return pair(x.im, negative(x.re)); }
  C divide(C x, C y);
  C round(Op op, C x) { return pair(un(op, x.re), un(op, x.im)); }
  C sign(C x);
  C power(C x, C y);
  C logaddexp(C x, C y);
  C quotient(C x, C y) { return round(Op::floor, divide(x, y)); }

  uint16_t size(C x) { return bin(Op::hypot, x.re, x.im); }
  uint16_t angle(C x) { return bin(Op::arctan2, x.im, x.re); }
  uint16_t infinite(C x) { return either(test(Op::is_inf, x.re), test(Op::is_inf, x.im)); }
  C direction(C x);

  C exp(C x);
  C expm1(C x);
  C log(C x);
  C log1p(C x);
  C sqrt(C x);
  C sinh(C x);
  C cosh(C x);
  C tanh(C x);
  C arcsin(C x);
  C arccos(C x);
  C arccosh(C x);
  C arctanh(C x);

  uint16_t less(C x, C y, bool or_equal);
  uint16_t equal(C x, C y) { return both(test(Op::equal, x.re, y.re), test(Op::equal, x.im, y.im)); }
  uint16_t test_parts(Op op, C x) { return either(test(op, x.re), test(op, x.im)); }
  uint16_t truth(C x) { return x.complex ? either(e_.cast(b, x.re), e_.cast(b, x.im)) : e_.cast(b, x.re); }
  C bool_value(uint16_t x) { return {x, 0, false}; }
  C emit_unary(OpCode op, C x);
  C emit_binary(OpCode op, C x, C y);

  Emitter &e_;
  const DType f;
};

}  // namespace mx::lower
