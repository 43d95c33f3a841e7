// Builders of elementwise ops of one operand. Dtypes and semantics are documented in mx/ops.h.
#pragma once
#include "ops/build.hpp"

namespace mx::ops {

// The value itself if it has the dtype already.
Value astype(Value a, DType dtype, const StreamRef &s = {});
Value copy(Value a, const StreamRef &s = {});

// clang-format off
#define MX_UNARY(X)                                                                                                   \
  X(absolute) X(sign) X(negative) X(square) X(sqrt) X(rsqrt) X(reciprocal) X(exp) X(expm1) X(log) X(log2) X(log10)    \
  X(log1p)                                                                                                            \
  X(sin) X(cos) X(tan) X(arcsin) X(arccos) X(arctan) X(sinh) X(cosh) X(tanh) X(arcsinh) X(arccosh) X(arctanh)         \
  X(degrees) X(radians) X(erf) X(erfinv) X(sigmoid) X(floor) X(ceil) X(trunc) X(isnan) X(isinf) X(isfinite)           \
  X(signbit) X(isposinf) X(isneginf) X(conjugate) X(real) X(imag) X(logical_not) X(bitwise_invert) X(stop_gradient) X(to_fp8)
// clang-format on
#define X(name) Value name(Value a, const StreamRef &s = {});
MX_UNARY(X)
#undef X

Value round(const Value &a, int64_t decimals, const StreamRef &s = {});
Value from_fp8(const Value &a, DType dtype, const StreamRef &s = {});
// Absent bounds: the largest and the lowest finite number of the dtype.
Value nan_to_num(const Value &a, double nan, const Value *posinf, const Value *neginf, const StreamRef &s = {});

}  // namespace mx::ops
