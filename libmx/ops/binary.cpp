// Elementwise ops of two and three operands: builders and inference rules. bool arithmetic becomes logic here, so that
// kernels need no arithmetic on bool.
#include "ops/binary.hpp"

#include "ops/create.hpp"
#include "ops/reduce.hpp"
#include "ops/rules.hpp"
#include "ops/unary.hpp"

namespace mx::ops {
namespace {

// Operands are moved along: a copy of a reference costs as much as all else that a builder does.
Value binary(OpCode op, Value &&a, Value &&b, DType d, const StreamRef &s) {
  ValueVector inputs;
  inputs.push_back(dtype_of(a) == d ? std::move(a) : astype(std::move(a), d, s));
  inputs.push_back(dtype_of(b) == d ? std::move(b) : astype(std::move(b), d, s));
  return make(op, {}, std::move(inputs), s);
}

DType joint(const Value &a, const Value &b) { return promote(dtype_of(a), dtype_of(b)); }

// In the joint dtype; on two bools `logic` does the same.
Value arithmetic(OpCode op, OpCode logic, Value &&a, Value &&b, const StreamRef &s) {
  const DType d = joint(a, b);
  return binary(d == DType::bool_ ? logic : op, std::move(a), std::move(b), d, s);
}

Value in_floats(OpCode op, Value &&a, Value &&b, const StreamRef &s) {
  const DType d = inexact(joint(a, b));
  return binary(op, std::move(a), std::move(b), d, s);
}

Value comparison(OpCode op, Value &&a, Value &&b, const StreamRef &s) {
  const DType d = joint(a, b);
  return binary(op, std::move(a), std::move(b), d, s);
}

Value logic(OpCode op, Value &&a, Value &&b, const StreamRef &s) {
  return binary(op, std::move(a), std::move(b), DType::bool_, s);
}

Value shift(OpCode op, Value &&a, Value &&b, const StreamRef &s) {
  const DType d = joint(a, b);
  return binary(op, std::move(a), std::move(b), d == DType::bool_ ? DType::uint8 : d, s);
}

}  // namespace

DType joint_dtype(Values values) {
  DType d = values.empty() ? DType::float32 : dtype_of(values[0]);
  for (const Value &v : values) d = promote(d, dtype_of(v));
  return d;
}

#define BINARY(name, build, ...) \
  Value name(Value a, Value b, const StreamRef &s) { return build(__VA_ARGS__, std::move(a), std::move(b), s); }
#define ARITHMETIC(name, op) BINARY(name, arithmetic, OpCode::name, OpCode::op)
#define IN_FLOATS(name) BINARY(name, in_floats, OpCode::name)
#define COMPARISON(name) BINARY(name, comparison, OpCode::name)
#define LOGIC(name) BINARY(name, logic, OpCode::name)

ARITHMETIC(add, logical_or)
ARITHMETIC(subtract, logical_xor)
ARITHMETIC(multiply, logical_and)
ARITHMETIC(maximum, logical_or)
ARITHMETIC(minimum, logical_and)
ARITHMETIC(floor_divide, logical_and)
ARITHMETIC(bitwise_and, logical_and)
ARITHMETIC(bitwise_or, logical_or)
ARITHMETIC(bitwise_xor, logical_xor)
ARITHMETIC(equal, equal)
ARITHMETIC(not_equal, not_equal)
IN_FLOATS(divide)
IN_FLOATS(hypot)
IN_FLOATS(copysign)
IN_FLOATS(nextafter)
IN_FLOATS(arctan2)
IN_FLOATS(logaddexp)
COMPARISON(less)
COMPARISON(less_equal)
COMPARISON(greater)
COMPARISON(greater_equal)
LOGIC(logical_and)
LOGIC(logical_or)
LOGIC(logical_xor)
BINARY(left_shift, shift, OpCode::left_shift)
BINARY(right_shift, shift, OpCode::right_shift)

Value power(Value a, Value b, const StreamRef &s) {
  const DType d = joint(a, b);
  if (d == DType::bool_) return logical_or(a, logical_not(b, s), s);  // 0^0 is 1
  return binary(OpCode::power, std::move(a), std::move(b), d, s);
}

Value remainder(Value a, Value b, const StreamRef &s) {
  const DType d = joint(a, b);
  if (d == DType::bool_) return astype(binary(OpCode::remainder, std::move(a), std::move(b), DType::uint8, s), d, s);
  return binary(OpCode::remainder, std::move(a), std::move(b), d, s);
}

Value equal_nan(Value a, Value b, const StreamRef &s) {
  const DType d = joint(a, b);
  return binary(is_inexact(d) ? OpCode::equal_nan : OpCode::equal, std::move(a), std::move(b), d, s);
}

Value array_equal(const Value &a, const Value &b, bool nan_too, const StreamRef &s) {
  if (shape_of(a) != shape_of(b)) return scalar(0, DType::bool_);
  return all(nan_too ? equal_nan(a, b, s) : equal(a, b, s), {}, false, s);
}

Value isclose(const Value &a, const Value &b, double rtol, double atol, bool nan_too, const StreamRef &s) {
  const DType d = inexact(joint(a, b)), real_dtype = part_dtype(d);
  const Value x = astype(a, d, s), y = astype(b, d, s);
  const Value slack = add(scalar(atol, real_dtype), multiply(scalar(rtol, real_dtype), absolute(y, s), s), s);
  const Value near = less_equal(absolute(subtract(x, y, s), s), slack, s);
  // an infinite b has infinite slack: it is close to its equal only
  const Value close = logical_and(near, isfinite(y, s), s);
  return logical_or(close, nan_too ? equal_nan(a, b, s) : equal(a, b, s), s);
}

Value allclose(const Value &a, const Value &b, double rtol, double atol, bool nan_too, const StreamRef &s) {
  return all(isclose(a, b, rtol, atol, nan_too, s), {}, false, s);
}

Value where(const Value &condition, const Value &a, const Value &b, const StreamRef &s) {
  const DType d = joint(a, b);
  return make(OpCode::select, {}, {astype(condition, DType::bool_, s), astype(a, d, s), astype(b, d, s)}, s);
}

Value clip(const Value &a, const Value *low, const Value *high, const StreamRef &s) {
  if (!low && !high) fail(MX_ERROR_INVALID_ARGUMENT, "clip: a_min and a_max are both left out");
  Value x = low ? maximum(a, *low, s) : a;
  return high ? minimum(x, *high, s) : x;
}

}  // namespace mx::ops

namespace mx::rules {
namespace {

void broadcast(Specs in, Outs &out, DType d, const char *op) {
  const Dims *shape = &in[0]->shape;
  Dims wider;
  for (const Spec *spec : in.subspan(1)) {
    if (spec->shape == *shape) continue;
    wider = broadcast_shapes(*shape, spec->shape, op);
    shape = &wider;
  }
  if (shape == &in[0]->shape && d == in[0]->dtype)
    out.push_back(*in[0]);  // which was checked when it was made
  else
    put_spec(out, d, *shape, op);
}

void same(Specs in, Outs &out, bool (*ok)(DType), const char *op, const char *allowed) {
  need_inputs(in, 2, 2, op);
  need_same_dtype(in, 0, op);
  need_dtype(ok(in[0]->dtype), in[0]->dtype, op, allowed);
  broadcast(in, out, in[0]->dtype, op);
}

bool any(DType) { return true; }
bool number(DType d) { return d != DType::bool_; }
bool real_number(DType d) { return d != DType::bool_ && !is_complex(d); }
bool boolean(DType d) { return d == DType::bool_; }

}  // namespace

#define RULE(name, ok, allowed) \
  void infer_##name(const Attrs &, Specs in, Outs &out) { same(in, out, ok, #name, allowed); }
#define PREDICATE(name, ok, allowed)                      \
  void infer_##name(const Attrs &, Specs in, Outs &out) { \
    same(in, out, ok, #name, allowed);                    \
    out[0].dtype = DType::bool_;                          \
  }

RULE(add, number, "numbers")
RULE(subtract, number, "numbers")
RULE(multiply, number, "numbers")
RULE(divide, is_inexact, "floating and complex dtypes")
RULE(floor_divide, real_number, "real numbers")
RULE(remainder, real_number, "real numbers")
RULE(power, number, "numbers")
RULE(maximum, number, "numbers")
RULE(minimum, number, "numbers")
RULE(hypot, is_floating, "floating dtypes")
RULE(copysign, is_floating, "floating dtypes")
RULE(nextafter, is_floating, "floating dtypes")
RULE(arctan2, is_floating, "floating dtypes")
RULE(logaddexp, is_inexact, "floating and complex dtypes")
RULE(logical_and, boolean, "bool")
RULE(logical_or, boolean, "bool")
RULE(logical_xor, boolean, "bool")
RULE(bitwise_and, is_integer, "integers and bool")
RULE(bitwise_or, is_integer, "integers and bool")
RULE(bitwise_xor, is_integer, "integers and bool")
RULE(left_shift, is_integer, "integers and bool")
RULE(right_shift, is_integer, "integers and bool")
PREDICATE(equal, any, "")
PREDICATE(not_equal, any, "")
PREDICATE(less, any, "")
PREDICATE(less_equal, any, "")
PREDICATE(greater, any, "")
PREDICATE(greater_equal, any, "")
PREDICATE(equal_nan, is_inexact, "floating and complex dtypes")

void infer_select(const Attrs &, Specs in, Outs &out) {
  need_inputs(in, 3, 3, "where");
  need_dtype(in[0]->dtype == DType::bool_, in[0]->dtype, "where", "bool as a condition");
  need_same_dtype(in, 1, "where");
  broadcast(in, out, in[1]->dtype, "where");
}

}  // namespace mx::rules
