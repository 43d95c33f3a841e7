// Makes vector code. Typed values stand for the JIT where math.hpp says V; an operation on them appends an instruction.
#pragma once
#include <bit>

#include "backends/cpu/loop/jit/vector_code.hpp"

namespace mx::loop::jit {

class Builder {
 public:
  VectorCode code;

  Id constant(uint64_t value, uint8_t bits);
  // Appends; uniform if its operands are and it neither touches memory nor calls.
  Id put(Instruction ins);
  Id put(V op, uint8_t bits, Id a, Id b = none, Id c = none, uint8_t imm = 0) {
    return put({op, bits, imm, in_b32, 0, a, b, c});
  }
  Id choose(uint8_t bits, Id mask, Id yes, Id no);
  const Instruction &at(Id id) const { return code.ins[id]; }

 private:
  std::vector<Id> constants_;
};

template <int width>
struct Typed {
  static_assert(width == 32 || width == 64);
  static constexpr uint8_t bits = width;
  using Float = std::conditional_t<width == 32, float, double>;
  using Raw = std::conditional_t<width == 32, uint32_t, uint64_t>;
  Builder *code;
  Id id;
  Typed all(Float x) const { return {code, code->constant(std::bit_cast<Raw>(x), bits)}; }
  Typed raw(Raw x) const { return {code, code->constant(x, bits)}; }
  Typed with(V op, uint8_t imm = 0) const { return {code, code->put(op, bits, id, none, none, imm)}; }
  Typed with(V op, Typed b, uint8_t imm = 0) const { return {code, code->put(op, bits, id, b.id, none, imm)}; }
};
template <int width>
struct Mask {
  Builder *code;
  Id id;
};
using Value = Typed<32>;
using Wide = Typed<64>;

#define MX_VALUE template <int n>
#define MX_FUNCTION(name, op) \
  MX_VALUE inline Typed<n> name(Typed<n> a, Typed<n> b) { return a.with(V::op, b); }
MX_FUNCTION(operator+, add)
MX_FUNCTION(operator-, subtract)
MX_FUNCTION(operator*, multiply)
MX_FUNCTION(operator/, divide)
MX_FUNCTION(smaller, smaller)
MX_FUNCTION(larger, larger)
MX_FUNCTION(bit_and, bit_and)
MX_FUNCTION(bit_or, bit_or)
MX_FUNCTION(bit_xor, bit_xor)
MX_FUNCTION(sub_bits, int_subtract)
#undef MX_FUNCTION
#define MX_FUNCTION(name, op) \
  MX_VALUE inline Typed<n> name(Typed<n> a, typename Typed<n>::Raw b) { return a.with(V::op, a.raw(b)); }
MX_FUNCTION(bit_and, bit_and)
MX_FUNCTION(bit_or, bit_or)
MX_FUNCTION(bit_xor, bit_xor)
MX_FUNCTION(add_bits, int_add)
#undef MX_FUNCTION
MX_VALUE inline Typed<n> shift_left(Typed<n> a, uint8_t by) { return a.with(V::shift_left, by); }
MX_VALUE inline Typed<n> shift_right(Typed<n> a, uint8_t by) { return a.with(V::shift_right, by); }
MX_VALUE inline Typed<n> shift_right_signed(Typed<n> a, uint8_t by) { return a.with(V::shift_right_signed, by); }
MX_VALUE inline Typed<n> rint(Typed<n> a) { return a.with(V::round, 8); }
MX_VALUE inline Typed<n> madd(Typed<n> a, Typed<n> b, Typed<n> c) {
  return {a.code, a.code->put(V::madd, n, a.id, b.id, c.id)};
}
MX_VALUE inline Typed<n> nmadd(Typed<n> a, Typed<n> b, Typed<n> c) {
  return {a.code, a.code->put(V::nmadd, n, a.id, b.id, c.id)};
}
MX_VALUE inline Typed<n> with_sign(Typed<n> a, Typed<n> b) {
  if (a.code->code.has_512) return a.with(V::with_sign, b);
  constexpr typename Typed<n>::Raw sign = typename Typed<n>::Raw{1} << (n - 1);
  return bit_or(bit_and(a, ~sign), bit_and(b, sign));
}
MX_VALUE inline Mask<n> compared(Typed<n> a, Typed<n> b, Predicate predicate) {
  return {a.code, a.with(V::compare, b, predicate).id};
}
MX_VALUE inline Mask<n> less(Typed<n> a, Typed<n> b) { return compared(a, b, is_less); }
MX_VALUE inline Mask<n> equal(Typed<n> a, Typed<n> b) { return compared(a, b, is_equal); }
MX_VALUE inline Mask<n> not_less(Typed<n> a, Typed<n> b) { return compared(a, b, is_not_less); }
MX_VALUE inline Mask<n> not_at_least(Typed<n> a, Typed<n> b) { return compared(a, b, is_not_at_least); }
MX_VALUE inline Typed<n> choose(Mask<n> mask, Typed<n> yes, Typed<n> no) {
  return {yes.code, yes.code->choose(n, mask.id, yes.id, no.id)};
}

MX_VALUE inline Typed<n> absolute_of(Typed<n> a) { return bit_and(a, ~(typename Typed<n>::Raw{1} << (n - 1))); }

inline Value to_int(Value a) { return a.with(V::f32_to_i32); }
inline Value from_int(Value a) { return a.with(V::i32_to_f32); }
struct Halves {
  Wide low, high;
};
inline Halves widen(Value a) {
  return {{a.code, a.code->put(V::widen_low, 64, a.id)}, {a.code, a.code->put(V::widen_high, 64, a.id)}};
}
inline Value narrow(Wide low, Wide high) { return {low.code, low.code->put(V::narrow, 32, low.id, high.id)}; }
Value scale(Value y, Value n);
Value take_off(Value q, Value x);
Value log_special(Value x, Value y);

}  // namespace mx::loop::jit
