// Arithmetic, comparison and functions; see lower.hpp.
#include "backends/cpu/loop/jit/lower.hpp"
#include "backends/cpu/loop/math.hpp"

namespace mx::loop::jit {

// Found by ::math beside Value.
static ::math::Split<Value> split(Value x) {
  if (!x.code->code.has_512) return ::math::split_bits(x);
  return ::math::split_parts(x.with(V::exponent), x.with(V::mantissa));
}

namespace {

bool is_float(Kind kind) noexcept { return kind == kind_f32 || kind == kind_f64; }
uint8_t width(Kind kind) noexcept { return kind >= kind_f64 ? 64 : 32; }
constexpr float to_infinity = __builtin_inff();
constexpr uint8_t round_down = 9, round_up = 10, round_to_zero = 11, round_to_even = 8;

}  // namespace

void Lowering::unary(uint16_t v) {
  const Ins &i = ins(v);
  const Kind kind = kind_of(ins(i.a).type);
  if (i.op == Op::logical_not) {
    if (held_[i.a].value == none) return set_mask(v, inverted(mask(i.a, 32), 32), 32);
    return set(v, b_.put(V::bit_xor, 32, value(i.a), b_.constant(1, 32)));
  }
  if (kind == kind_f32) {
    if (!float_test(v, narrow_value(i.a))) set(v, float_unary(v, narrow_value(i.a)));
  } else if (kind == kind_f64) {
    if (!float_test(v, wide_value(i.a))) set(v, float_unary(v, wide_value(i.a)));
  } else {
    set(v, int_unary(i.op, kind, value(i.a)));
  }
}

template <int n>
bool Lowering::float_test(uint16_t v, Typed<n> x) {
  switch (ins(v).op) {
    case Op::is_nan:
      set_mask(v, compared(x, x, is_unordered).id, n);
      return true;
    case Op::is_inf:
      set_mask(v, equal(absolute_of(x), x.all(to_infinity)).id, n);
      return true;
    case Op::is_finite:
      set_mask(v, less(absolute_of(x), x.all(to_infinity)).id, n);
      return true;
    default:
      return false;
  }
}

template <int n>
Id Lowering::float_unary(uint16_t v, Typed<n> x) {
  using T = Typed<n>;
  constexpr typename T::Raw sign = typename T::Raw{1} << (n - 1);
  const T one = x.all(1), nought = x.all(0);
  const auto root = [&] { return x.with(V::square_root); };
  switch (ins(v).op) {
    case Op::negative:
      return bit_xor(x, sign).id;
    case Op::absolute:
      return absolute_of(x).id;
    case Op::square:
      return (x * x).id;
    case Op::sign:
      return choose(less(nought, x), one,
                    choose(less(x, nought), bit_xor(one, sign), choose(equal(x, nought), nought, x)))
          .id;
    case Op::floor:
      return x.with(V::round, round_down).id;
    case Op::ceil:
      return x.with(V::round, round_up).id;
    case Op::trunc:
      return x.with(V::round, round_to_zero).id;
    case Op::round:
      return x.with(V::round, round_to_even).id;
    case Op::sqrt:
      return root().id;
    case Op::rsqrt:
      return (one / root()).id;
    case Op::reciprocal:
      return (one / x).id;
    default:
      if constexpr (n == 32)
        return float_function(ins(v).op, x);
      else
        throw Unsupported();
  }
}

Id Lowering::float_function(Op op, Value x) {
  namespace m = ::math;
  const bool has_512 = b_.code.has_512;  // which scales by powers of two in one instruction
  switch (op) {
    case Op::exp:
      if (has_512) return m::exp(x).id;
      return rare(rare_exp, m::exp_within(x).id, x.id, none, m::absolute(x), m::exp_limit, is_not_less_equal);
    case Op::exp2:
      return m::exp2(x).id;
    case Op::expm1:
      return m::expm1(x).id;
    case Op::sigmoid:
      if (has_512) return m::sigmoid(x).id;
      return rare(rare_sigmoid, m::sigmoid_within(x).id, x.id, none, m::absolute(x), m::exp_limit, is_not_less_equal);
    case Op::tanh:
      return m::tanh(x).id;
    case Op::erf:
      return m::erf(x).id;
    case Op::log:
      return m::log(x).id;
    case Op::log2:
      return m::log2(x).id;
    case Op::log10:
      return m::log10(x).id;
    case Op::log1p:
      return m::log1p(x).id;
    case Op::sin:
      return rare(rare_sin, m::sin(x).id, x.id, none, m::absolute(x), m::trig_limit, is_not_less_equal);
    case Op::cos:
      return rare(rare_cos, m::cos(x).id, x.id, none, m::absolute(x), m::trig_limit, is_not_less_equal);
    default:
      throw Unsupported();
  }
}

Id Lowering::rare(Rare function, Id y, Id a, Id b, Value tested, float limit, Predicate predicate) {
  return b_.put({V::rare, 32, predicate, in_b32, function, y, a, b, tested.id, tested.all(limit).id});
}

// A mask is 0 or, as a float, NaN: not at most 0.
Id Lowering::power(Value a, Value b) {
  const Value inf = a.all(to_infinity), nought = a.all(0);
  const Mask<32> wrong[] = {compared(::math::absolute(a), inf, is_not_less), equal(a, nought),
                            compared(::math::absolute(b), inf, is_not_less)};
  const Id any = b_.put(V::bit_or, 32, b_.put(V::bit_or, 32, wrong[0].id, wrong[1].id), wrong[2].id);
  return rare(rare_power, ::math::power(a, b).id, a.id, b.id, {&b_, any}, 0, is_not_less_equal);
}

Id Lowering::int_unary(Op op, Kind kind, Id x) {
  const uint8_t bits = width(kind);
  const bool is_signed = kind == kind_i32 || kind == kind_i64;
  const Id nought = zero(bits), one = b_.constant(1, bits);
  switch (op) {
    case Op::negative:
      return b_.put(V::int_subtract, bits, nought, x);
    case Op::square:
      return int_binary(Op::multiply, kind, x, x);
    case Op::bit_not:
      return inverted(x, bits);
    case Op::absolute:
      return is_signed ? b_.choose(bits, greater(kind, nought, x), b_.put(V::int_subtract, bits, nought, x), x) : x;
    case Op::sign: {
      if (!is_signed) return b_.choose(bits, b_.put(V::int_equal, bits, x, nought), nought, one);
      return b_.choose(bits, greater(kind, x, nought), one, greater(kind, nought, x));
    }
    default:
      throw Unsupported();
  }
}

// ---- binary

void Lowering::binary(uint16_t v) {
  const Ins &i = ins(v);
  if (i.op >= Op::equal && i.op <= Op::greater_equal) return compare(v);
  if (i.op >= Op::logical_and && i.op <= Op::logical_xor) return logical(v);
  const Kind kind = kind_of(ins(i.a).type);
  if (i.op == Op::minimum || i.op == Op::maximum) {
    // As in the VM a lone scalar is the second operand.
    const bool swapped = ins(i.a).op == Op::scalar && ins(i.b).op != Op::scalar;
    const uint16_t a = swapped ? i.b : i.a, b = swapped ? i.a : i.b;
    const bool may_be_nan = ins(b).op != Op::scalar || ins(a).op == Op::scalar;
    if (is_float(kind) && !may_be_nan)
      return set(v, b_.put(i.op == Op::minimum ? V::smaller : V::larger, width(kind), value(b), value(a)));
    return set(v, extreme(i.op, kind, value(a), value(b)));
  }
  if (kind == kind_f32)
    set(v, float_binary(i.op, narrow_value(i.a), narrow_value(i.b)));
  else if (kind == kind_f64)
    set(v, float_binary(i.op, wide_value(i.a), wide_value(i.b)));
  else
    set(v, int_binary(i.op, kind, value(i.a), value(i.b)));
}

template <int n>
Id Lowering::float_binary(Op op, Typed<n> a, Typed<n> b) {
  switch (op) {
    case Op::add:
      return (a + b).id;
    case Op::subtract:
      return (a - b).id;
    case Op::multiply:
      return (a * b).id;
    case Op::divide:
      return (a / b).id;
    case Op::floor_divide:
      return (a / b).with(V::round, round_down).id;
    case Op::copysign:
      return with_sign(a, b).id;
    case Op::power:
      if constexpr (n == 32) return power(a, b);
      [[fallthrough]];
    default:
      throw Unsupported();
  }
}

Id Lowering::extreme(Op op, Kind kind, Id a, Id b) {
  const bool is_minimum = op == Op::minimum;
  if (kind == kind_f32) return float_extreme(is_minimum, Value{&b_, a}, Value{&b_, b});
  if (kind == kind_f64) return float_extreme(is_minimum, Wide{&b_, a}, Wide{&b_, b});
  const bool is_signed = kind == kind_i32 || kind == kind_i64;
  const uint8_t bits = width(kind);
  if (bits == 64 && !b_.code.has_512)
    return b_.choose(bits, is_minimum ? greater(kind, b, a) : greater(kind, a, b), a, b);
  const V signed_op = is_minimum ? V::int_smaller : V::int_larger;
  return b_.put(is_signed ? signed_op : is_minimum ? V::uint_smaller : V::uint_larger, bits, a, b);
}

// b if it is NaN; else smaller and larger give a if that is.
template <int n>
Id Lowering::float_extreme(bool is_minimum, Typed<n> a, Typed<n> b) {
  const Typed<n> y = is_minimum ? smaller(b, a) : larger(b, a);
  return choose(compared(b, b, is_unordered), b, y).id;
}

Id Lowering::int_binary(Op op, Kind kind, Id a, Id b) {
  const uint8_t bits = width(kind);
  switch (op) {
    case Op::add:
      return b_.put(V::int_add, bits, a, b);
    case Op::subtract:
      return b_.put(V::int_subtract, bits, a, b);
    case Op::multiply:
      if (bits == 64 && !b_.code.has_512) throw Unsupported();
      return b_.put(V::int_multiply, bits, a, b);
    case Op::bit_and:
      return b_.put(V::bit_and, bits, a, b);
    case Op::bit_or:
      return b_.put(V::bit_or, bits, a, b);
    case Op::bit_xor:
      return b_.put(V::bit_xor, bits, a, b);
    case Op::shift_left:
    case Op::shift_right:
      return shift(op, kind, a, b);
    default:
      throw Unsupported();
  }
}

// The machine shifts everything out too if the count is not below the width.
Id Lowering::shift(Op op, Kind kind, Id a, Id b) {
  const bool is_signed = kind == kind_i32 || kind == kind_i64;
  const uint8_t bits = width(kind);
  V v = op == Op::shift_left ? V::shift_left_by : is_signed ? V::shift_right_signed_by : V::shift_right_by;
  if (v == V::shift_right_signed_by && bits == 64 && !b_.code.has_512) throw Unsupported();
  return b_.put(v, bits, a, b);
}

// ---- comparison

Id Lowering::greater(Kind kind, Id a, Id b) {
  const uint8_t bits = width(kind);
  if (kind == kind_i32 || kind == kind_i64) return b_.put(V::int_greater, bits, a, b);
  if (b_.code.has_512) return b_.put(V::uint_greater, bits, a, b);
  const Id sign = b_.constant(uint64_t{1} << (bits - 1), bits);
  return b_.put(V::int_greater, bits, b_.put(V::bit_xor, bits, a, sign), b_.put(V::bit_xor, bits, b, sign));
}

void Lowering::compare(uint16_t v) {
  const Ins &i = ins(v);
  const Kind kind = kind_of(ins(i.a).type);
  const uint8_t bits = width(kind);
  Id a = value(i.a), b = value(i.b);
  if (is_float(kind)) {
    const bool swapped = i.op == Op::greater || i.op == Op::greater_equal;
    const Predicate predicate = i.op == Op::equal                         ? is_equal
                                : i.op == Op::not_equal                   ? is_not_equal
                                : i.op == Op::less || i.op == Op::greater ? is_less
                                                                          : is_less_equal;
    return set_mask(v, b_.put(V::compare, bits, swapped ? b : a, swapped ? a : b, none, predicate), bits);
  }
  const bool is_equality = i.op == Op::equal || i.op == Op::not_equal;
  const bool is_inverted = i.op == Op::not_equal || i.op == Op::less_equal || i.op == Op::greater_equal;
  if (i.op == Op::less || i.op == Op::greater_equal) std::swap(a, b);
  const Id m = is_equality ? b_.put(V::int_equal, bits, a, b) : greater(kind, a, b);
  set_mask(v, is_inverted ? inverted(m, bits) : m, bits);
}

void Lowering::logical(uint16_t v) {
  const Ins &i = ins(v);
  const V op = i.op == Op::logical_and ? V::bit_and : i.op == Op::logical_or ? V::bit_or : V::bit_xor;
  const Held &a = held_[i.a], &b = held_[i.b];
  if (a.mask32 != none && b.mask32 != none) return set_mask(v, b_.put(op, 32, a.mask32, b.mask32), 32);
  if (a.mask64 != none && b.mask64 != none) return set_mask(v, b_.put(op, 64, a.mask64, b.mask64), 64);
  set(v, b_.put(op, 32, value(i.a), value(i.b)));
}

}  // namespace mx::loop::jit
