// Builders of elementwise ops of two and three operands. Dtypes and semantics are documented in mx/ops.h.
#pragma once
#include "ops/build.hpp"

namespace mx::ops {

// clang-format off
#define MX_BINARY(X)                                                                                                  \
  X(add) X(subtract) X(multiply) X(divide) X(floor_divide) X(remainder) X(power) X(maximum) X(minimum) X(hypot)        \
  X(copysign)                                                                                                         \
  X(nextafter) X(arctan2) X(logaddexp) X(equal) X(not_equal) X(less) X(less_equal) X(greater) X(greater_equal)        \
  X(logical_and) X(logical_or) X(logical_xor) X(bitwise_and) X(bitwise_or) X(bitwise_xor) X(left_shift)               \
  X(right_shift)
// clang-format on
#define X(name) Value name(Value a, Value b, const StreamRef &s = {});
MX_BINARY(X)
#undef X

// Equal, and NaN equals NaN.
Value equal_nan(Value a, Value b, const StreamRef &s = {});
Value array_equal(const Value &a, const Value &b, bool nan_too, const StreamRef &s = {});
Value isclose(const Value &a, const Value &b, double rtol, double atol, bool nan_too, const StreamRef &s = {});
Value allclose(const Value &a, const Value &b, double rtol, double atol, bool nan_too, const StreamRef &s = {});
Value where(const Value &condition, const Value &a, const Value &b, const StreamRef &s = {});
// A null bound is left out, not both.
Value clip(const Value &a, const Value *low, const Value *high, const StreamRef &s = {});

// Brings values to their joint dtype.
DType joint_dtype(Values values);

}  // namespace mx::ops
