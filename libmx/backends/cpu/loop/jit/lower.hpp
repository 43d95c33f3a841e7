// From loop IR to vector code, one instruction after the other in the order of the VM, with the results of the VM.
#pragma once
#include "backends/cpu/loop/jit/builder.hpp"

namespace mx::loop::jit {

class Lowering {
 public:
  Lowering(const Kernel &kernel, std::vector<Meeting> rows);
  VectorCode run();

 private:
  // A value of the IR: a bool can be held as 0 or 1, as a mask of lanes, or both.
  struct Held {
    Id value = none, mask32 = none, mask64 = none;
    bool is_rounded = false;  // a bfloat16 that came out of a rounding
  };

  const Ins &ins(uint16_t v) const { return kernel_.code.ins[v]; }
  uint8_t lane_bits() const { return kernel_.wide ? 64 : 32; }
  static uint8_t bits_of(DType type) { return is_wide(type) ? 64 : 32; }

  Id value(uint16_t v);
  Id mask(uint16_t v, uint8_t bits);
  Value narrow_value(uint16_t v) { return {&b_, value(v)}; }
  Wide wide_value(uint16_t v) { return {&b_, value(v)}; }
  Id zero(uint8_t bits) { return b_.constant(0, bits); }
  Id inverted(Id mask, uint8_t bits) { return b_.put(V::bit_xor, bits, mask, b_.constant(~uint64_t{0}, bits)); }
  void set(uint16_t v, Id value) { held_[v].value = value; }
  void set_mask(uint16_t v, Id mask, uint8_t bits) { (bits == 64 ? held_[v].mask64 : held_[v].mask32) = mask; }

  void lower(uint16_t v);
  void load(uint16_t v);
  void index(uint16_t v);
  void store(const Ins &ins);
  void reduce(const Ins &ins);
  void scalar(uint16_t v);
  void select(uint16_t v);
  void unary(uint16_t v);
  void binary(uint16_t v);
  void cast(uint16_t v);

  Id converted(Id x, Kind from, Kind to);
  // To the range of a narrow type. A NaN may be a signalling one unless it comes out of arithmetic.
  Id rounded(Id x, DType type, bool may_signal);
  Id brain(Id x, bool may_signal);
  Id to_bool_mask(Id x, Kind kind);
  template <int n>
  Id float_unary(uint16_t v, Typed<n> x);
  template <int n>
  bool float_test(uint16_t v, Typed<n> x);
  Id float_function(Op op, Value x);
  Id int_unary(Op op, Kind kind, Id x);
  Id extreme(Op op, Kind kind, Id a, Id b);
  template <int n>
  Id float_extreme(bool is_minimum, Typed<n> a, Typed<n> b);
  Id greater(Kind kind, Id a, Id b);
  void compare(uint16_t v);
  void logical(uint16_t v);
  template <int n>
  Id float_binary(Op op, Typed<n> a, Typed<n> b);
  Id int_binary(Op op, Kind kind, Id a, Id b);
  Id shift(Op op, Kind kind, Id a, Id b);
  Id power(Value a, Value b);
  Id rare(Rare function, Id y, Id a, Id b, Value tested, float limit, Predicate predicate);
  uint16_t stream(uint16_t operand, uint8_t part, bool is_output) const;

  const Kernel &kernel_;
  Builder b_;
  std::vector<Held> held_;
  uint16_t n_reduced_ = 0;
};

}  // namespace mx::loop::jit
