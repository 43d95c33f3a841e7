// The instructions of the loop IR. A header of its own, free of inline code, because the sources that are compiled once
// per instruction set level include it too.
#pragma once
#include <cstdint>

namespace mx::loop {

enum class Op : uint8_t {
  // Sources. `arg` is the operand, scalar or dimension.
  load,    // operand `arg` of Kernel::operands; a complex operand is loaded by part (0 real, 1 imaginary)
  scalar,  // scalar `arg`, given at run time as an element of `type`
  iota,    // the index along dimension `arg` of the iteration space, as `type` (an integer or float type)
  // Sinks. `a` is the value, `arg` the operand.
  store,
  reduce_sum,
  reduce_prod,
  reduce_min,
  reduce_max,  // into an operand that has stride 0 along the reduced dimensions
  reduce_all,
  reduce_any,  // of bool
  // Conversion of `a` to `type`: C semantics between numbers; float to integer truncates, out of range and NaN give the
  // value that the x86 conversion of the widest type wrapped to the target gives (defined, no trap); to bool is x != 0.
  cast,
  // Unary, `type` = type of a, unless said otherwise. Floating only unless said "any" (bool excluded) or "int".
  negative,
  absolute,
  sign,
  square,  // any; integers wrap; sign of NaN is NaN
  floor,
  ceil,
  trunc,
  round,  // round: half to even
  sqrt,
  rsqrt,
  reciprocal,
  exp,
  expm1,
  exp2,
  log,
  log2,
  log10,
  log1p,
  sin,
  cos,
  tan,
  arcsin,
  arccos,
  arctan,
  sinh,
  cosh,
  tanh,
  arcsinh,
  arccosh,
  arctanh,
  erf,
  erfinv,
  sigmoid,
  logical_not,  // bool -> bool
  bit_not,      // int
  is_nan,
  is_inf,
  is_finite,  // floating -> bool
  // Binary; a and b have the same type.
  add,
  subtract,
  multiply,  // any; integers wrap
  divide,    // floating
  floor_divide,
  remainder,  // any: round towards -inf, remainder has the divisor's sign
              // integers: x // 0 = 0, x % 0 = 0, INT_MIN // -1 = INT_MIN
  power,      // any; integers: wrap, negative exponents give 0 (1 for base 1, +-1 for -1)
  minimum,
  maximum,  // any, bool; NaN if either is NaN
  arctan2,
  logaddexp,
  hypot,
  copysign,
  nextafter,  // floating; logaddexp(-inf, -inf) = -inf
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,  // any, bool -> bool
  logical_and,
  logical_or,
  logical_xor,  // bool
  bit_and,
  bit_or,
  bit_xor,  // int
  shift_left,
  shift_right,  // int; arithmetic for signed; shifts >= width give 0 (or -1)
  // Ternary.
  select,  // a ? b : c; a is bool, b and c have `type`
  fma,     // a * b + c rounded once; float32, float64
  n_ops
};

}  // namespace mx::loop
