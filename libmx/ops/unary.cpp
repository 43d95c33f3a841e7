// Elementwise ops of one operand: builders and inference rules.
#include "ops/unary.hpp"

#include <cmath>
#include <limits>

#include "ops/binary.hpp"
#include "ops/create.hpp"
#include "ops/rules.hpp"

namespace mx::ops {
namespace {

ValueVector only(Value a) {
  ValueVector inputs;
  inputs.push_back(std::move(a));
  return inputs;
}

Value unary(OpCode op, Value a, const StreamRef &s) { return make(op, {}, only(std::move(a)), s); }

Value in_floats(OpCode op, Value a, const StreamRef &s) {
  const DType d = inexact(dtype_of(a));
  return unary(op, astype(std::move(a), d, s), s);
}

// Ops that change nothing on integers and bool.
Value rounding(OpCode op, Value a, const StreamRef &s) {
  return is_inexact(dtype_of(a)) ? unary(op, std::move(a), s) : a;
}

Value as_bool(const Value &a, const StreamRef &s) { return astype(a, DType::bool_, s); }

Value scaled(const Value &a, double factor, const StreamRef &s) {
  const Value x = astype(a, inexact(dtype_of(a)), s);
  return multiply(x, scalar(factor, dtype_of(x)), s);
}

// An infinity of one sign; of complex numbers in the real part.
Value is_infinity(const Value &a, double infinity, const StreamRef &s) {
  if (!is_inexact(dtype_of(a))) return zeros_like(a, DType::bool_, s);
  return equal(a, scalar(infinity, dtype_of(a)), s);
}

}  // namespace

Value astype(Value a, DType dtype, const StreamRef &s) {
  if (dtype_of(a) == dtype) return a;
  return make(OpCode::astype, Attrs().put(dtype), only(std::move(a)), s);
}

Value copy(Value a, const StreamRef &s) { return unary(OpCode::copy, std::move(a), s); }
Value stop_gradient(Value a, const StreamRef &s) { return unary(OpCode::stop_gradient, std::move(a), s); }

#define IN_FLOATS(name) \
  Value name(Value a, const StreamRef &s) { return in_floats(OpCode::name, std::move(a), s); }
IN_FLOATS(sqrt)
IN_FLOATS(rsqrt)
IN_FLOATS(reciprocal)
IN_FLOATS(exp)
IN_FLOATS(expm1)
IN_FLOATS(log)
IN_FLOATS(log2)
IN_FLOATS(log10)
IN_FLOATS(log1p)
IN_FLOATS(sin)
IN_FLOATS(cos)
IN_FLOATS(tan)
IN_FLOATS(arcsin)
IN_FLOATS(arccos)
IN_FLOATS(arctan)
IN_FLOATS(sinh)
IN_FLOATS(cosh)
IN_FLOATS(tanh)
IN_FLOATS(arcsinh)
IN_FLOATS(arccosh)
IN_FLOATS(arctanh)
IN_FLOATS(erf)
IN_FLOATS(erfinv)
IN_FLOATS(sigmoid)
#undef IN_FLOATS

Value degrees(Value a, const StreamRef &s) { return scaled(a, 180 / M_PI, s); }
Value radians(Value a, const StreamRef &s) { return scaled(a, M_PI / 180, s); }

Value absolute(Value a, const StreamRef &s) {
  const char c = category(dtype_of(a));
  return c == 'b' || c == 'u' ? a : unary(OpCode::absolute, std::move(a), s);
}

Value sign(Value a, const StreamRef &s) {
  return dtype_of(a) == DType::bool_ ? a : unary(OpCode::sign, std::move(a), s);
}

Value negative(Value a, const StreamRef &s) { return unary(OpCode::negative, std::move(a), s); }

Value square(Value a, const StreamRef &s) {
  return dtype_of(a) == DType::bool_ ? a : unary(OpCode::square, std::move(a), s);
}

Value floor(Value a, const StreamRef &s) { return rounding(OpCode::floor, a, s); }
Value ceil(Value a, const StreamRef &s) { return rounding(OpCode::ceil, a, s); }
Value trunc(Value a, const StreamRef &s) { return rounding(OpCode::trunc, a, s); }

Value round(const Value &a, int64_t decimals, const StreamRef &s) {
  const DType d = dtype_of(a);
  if (decimals == 0 || (decimals > 0 && !is_inexact(d))) return rounding(OpCode::round, a, s);
  const bool wide = itemsize(d) > 4 && !is_complex(d);
  const DType work = is_inexact(d) ? d : wide ? DType::float64 : DType::float32;
  const Value power = scalar(std::pow(10.0, static_cast<double>(decimals < 0 ? -decimals : decimals)), work);
  const Value x = astype(a, work, s);
  const Value whole = unary(OpCode::round, decimals > 0 ? multiply(x, power, s) : divide(x, power, s), s);
  return astype(decimals > 0 ? divide(whole, power, s) : multiply(whole, power, s), d, s);
}

Value isnan(Value a, const StreamRef &s) {
  if (is_complex(dtype_of(a))) return logical_or(isnan(real(a, s), s), isnan(imag(a, s), s), s);
  return is_floating(dtype_of(a)) ? unary(OpCode::isnan, a, s) : zeros_like(a, DType::bool_, s);
}

Value isinf(Value a, const StreamRef &s) {
  if (is_complex(dtype_of(a))) return logical_or(isinf(real(a, s), s), isinf(imag(a, s), s), s);
  return is_floating(dtype_of(a)) ? unary(OpCode::isinf, a, s) : zeros_like(a, DType::bool_, s);
}

Value isfinite(Value a, const StreamRef &s) {
  if (is_complex(dtype_of(a))) return logical_and(isfinite(real(a, s), s), isfinite(imag(a, s), s), s);
  return is_floating(dtype_of(a)) ? unary(OpCode::isfinite, a, s) : ones_like(a, DType::bool_, s);
}

Value signbit(Value a, const StreamRef &s) {
  const DType d = dtype_of(a);
  if (is_complex(d)) bad_dtype("signbit", d, "real numbers");
  if (category(d) == 'b' || category(d) == 'u') return zeros_like(a, DType::bool_, s);
  const Value sign = is_floating(d) ? copysign(scalar(1, d), a, s) : a;
  return less(sign, scalar(0, d), s);
}

Value isposinf(Value a, const StreamRef &s) { return is_infinity(a, INFINITY, s); }
Value isneginf(Value a, const StreamRef &s) { return is_infinity(a, -INFINITY, s); }

Value conjugate(Value a, const StreamRef &s) { return is_complex(dtype_of(a)) ? unary(OpCode::conjugate, a, s) : a; }
Value real(Value a, const StreamRef &s) { return is_complex(dtype_of(a)) ? unary(OpCode::real, a, s) : a; }
Value imag(Value a, const StreamRef &s) {
  return is_complex(dtype_of(a)) ? unary(OpCode::imag, a, s) : zeros_like(a, dtype_of(a), s);
}

Value logical_not(Value a, const StreamRef &s) { return unary(OpCode::logical_not, as_bool(a, s), s); }

Value bitwise_invert(Value a, const StreamRef &s) {
  return unary(dtype_of(a) == DType::bool_ ? OpCode::logical_not : OpCode::bitwise_invert, a, s);
}

Value to_fp8(Value a, const StreamRef &s) { return unary(OpCode::to_fp8, std::move(a), s); }
Value from_fp8(const Value &a, DType dtype, const StreamRef &s) {
  return make(OpCode::from_fp8, Attrs().put(dtype), {a}, s);
}

Value nan_to_num(const Value &a, double nan, const Value *posinf, const Value *neginf, const StreamRef &s) {
  const DType d = dtype_of(a);
  if (!is_inexact(d)) return a;
  if (is_complex(d)) bad_dtype("nan_to_num", d, "real numbers");
  const double largest = largest_finite(d);
  const Value top = posinf ? *posinf : scalar(largest, d), bottom = neginf ? *neginf : scalar(-largest, d);
  const Value numbers = where(isnan(a, s), scalar(nan, d), a, s);
  const Value below = where(isposinf(a, s), astype(top, d, s), numbers, s);
  return where(isneginf(a, s), astype(bottom, d, s), below, s);
}

}  // namespace mx::ops

namespace mx::rules {
namespace {

void same(Specs in, Outs &out, bool ok, const char *op, const char *allowed) {
  need_inputs(in, 1, 1, op);
  need_dtype(ok, in[0]->dtype, op, allowed);
  out.push_back(*in[0]);
}

}  // namespace

#define RULE(name) void infer_##name(const Attrs &, Specs in, Outs &out)
#define IN(i) (in.empty() ? DType::bool_ : in[i]->dtype)
#define SAME(name, ok, allowed) \
  RULE(name) { same(in, out, ok, #name, allowed); }
#define TO(name, type, ok, allowed)    \
  RULE(name) {                         \
    same(in, out, ok, #name, allowed); \
    out[0].dtype = type;               \
  }
#define ANY(name) SAME(name, true, "")
#define NOT_BOOL(name) SAME(name, IN(0) != DType::bool_, "numbers")
#define INEXACT(name) SAME(name, is_inexact(IN(0)), "floating and complex dtypes")
#define FLOATING(name) SAME(name, is_floating(IN(0)), "floating dtypes")

ANY(copy)
ANY(stop_gradient)
NOT_BOOL(negative)
NOT_BOOL(sign)
NOT_BOOL(square)
FLOATING(floor)
FLOATING(ceil)
FLOATING(trunc)
INEXACT(round)
INEXACT(sqrt)
INEXACT(rsqrt)
INEXACT(reciprocal)
INEXACT(exp)
INEXACT(expm1)
INEXACT(log)
INEXACT(log2)
INEXACT(log10)
INEXACT(log1p)
INEXACT(sin)
INEXACT(cos)
INEXACT(tan)
INEXACT(arcsin)
INEXACT(arccos)
INEXACT(arctan)
INEXACT(sinh)
INEXACT(cosh)
INEXACT(tanh)
INEXACT(arcsinh)
INEXACT(arccosh)
INEXACT(arctanh)
FLOATING(erf)
FLOATING(erfinv)
FLOATING(sigmoid)
SAME(logical_not, IN(0) == DType::bool_, "bool")
SAME(bitwise_invert, is_integer(IN(0)), "integers and bool")
SAME(conjugate, is_complex(IN(0)), "complex dtypes")
TO(isnan, DType::bool_, is_floating(IN(0)), "floating dtypes")
TO(isinf, DType::bool_, is_floating(IN(0)), "floating dtypes")
TO(isfinite, DType::bool_, is_floating(IN(0)), "floating dtypes")
TO(real, part_dtype(IN(0)), is_complex(IN(0)), "complex dtypes")
TO(imag, part_dtype(IN(0)), is_complex(IN(0)), "complex dtypes")
TO(to_fp8, DType::uint8, is_floating(IN(0)), "floating dtypes")

RULE(absolute) {
  same(in, out, IN(0) != DType::bool_, "absolute", "numbers");
  out[0].dtype = part_dtype(out[0].dtype);
}

void infer_astype(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 1, 1, "astype");
  put_spec(out, AttrReader(attrs).dtype(), in[0]->shape, "astype");
}

void infer_from_fp8(const Attrs &attrs, Specs in, Outs &out) {
  need_inputs(in, 1, 1, "from_fp8");
  need_dtype(in[0]->dtype == DType::uint8, in[0]->dtype, "from_fp8", "uint8");
  const DType d = AttrReader(attrs).dtype();
  need_dtype(is_floating(d), d, "from_fp8", "floating dtypes as a result");
  put_spec(out, d, in[0]->shape, "from_fp8");
}

}  // namespace mx::rules
