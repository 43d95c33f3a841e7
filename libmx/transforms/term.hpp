// Values with operators, so that rules read like formulas. What is built goes to the stream of the step that is
// differentiated. Numbers take the dtype of the other operand.
#pragma once
#include "ops/binary.hpp"
#include "ops/create.hpp"
#include "ops/unary.hpp"

namespace mx::transforms {

struct Term {
  Value value;
  const Ref<Stream> *stream;
  operator const Value &() const noexcept { return value; }
  DType dtype() const noexcept { return spec_of(value).dtype; }
  const Dims &shape() const noexcept { return spec_of(value).shape; }
  Term with(Value v) const { return {std::move(v), stream}; }
  Term number(double x) const { return with(ops::scalar(x, dtype())); }
};

#define MX_TERM_BINARY(op, name)                                                                                   \
  inline Term operator op(const Term &a, const Term &b) { return a.with(ops::name(a.value, b.value, *a.stream)); } \
  inline Term operator op(const Term &a, double b) { return a op a.number(b); }                                    \
  inline Term operator op(double a, const Term &b) { return b.number(a) op b; }
MX_TERM_BINARY(+, add)
MX_TERM_BINARY(-, subtract)
MX_TERM_BINARY(*, multiply)
MX_TERM_BINARY(/, divide)
MX_TERM_BINARY(==, equal)
MX_TERM_BINARY(<, less)
MX_TERM_BINARY(<=, less_equal)
MX_TERM_BINARY(>, greater)
MX_TERM_BINARY(>=, greater_equal)
#undef MX_TERM_BINARY

inline Term logical_and(const Term &a, const Term &b) { return a.with(ops::logical_and(a.value, b.value, *a.stream)); }

#define X(name) \
  inline Term name(const Term &x) { return x.with(ops::name(x.value, *x.stream)); }
MX_UNARY(X)
#undef X
inline Term operator-(const Term &x) { return negative(x); }
inline Term cast(const Term &x, DType d) { return x.with(ops::astype(x.value, d, *x.stream)); }
inline Term where(const Term &c, const Term &a, const Term &b) {
  return a.with(ops::where(c.value, a.value, b.value, *a.stream));
}
inline Term where(const Term &c, const Term &a, double b) { return where(c, a, a.number(b)); }
inline Term where(const Term &c, double a, const Term &b) { return where(c, b.number(a), b); }
inline Term pow(const Term &a, const Term &b) { return a.with(ops::power(a.value, b.value, *a.stream)); }

}  // namespace mx::transforms
