// Conversions; see lower.hpp. Where AVX2 has no instruction, the VM takes the kernel.
#include "backends/cpu/loop/jit/lower.hpp"
#include "backends/cpu/loop/math.hpp"

namespace mx::loop::jit {

void Lowering::cast(uint16_t v) {
  const Ins &i = ins(v);
  const DType from = ins(i.a).type, to = i.type;
  if (from == to || (from == DType::bool_ && to == DType::bool_)) {
    held_[v] = held_[i.a];
    return;
  }
  if (to == DType::bool_) return set_mask(v, to_bool_mask(value(i.a), kind_of(from)), bits_of(from));
  if (from == DType::float64 && is_floating(to) && is_narrow(to)) throw Unsupported();  // rounds twice
  Id x = converted(value(i.a), kind_of(from), kind_of(to));
  const bool rounds = is_narrow(to) && from != DType::bool_;
  if (rounds) x = rounded(x, to, true);
  set(v, x);
  held_[v].is_rounded = rounds;
}

Id Lowering::to_bool_mask(Id x, Kind kind) {
  const uint8_t bits = kind >= kind_f64 ? 64 : 32;
  if (kind == kind_f32 || kind == kind_f64) return b_.put(V::compare, bits, x, zero(bits), none, is_not_equal);
  return inverted(b_.put(V::int_equal, bits, x, zero(bits)), bits);
}

Id Lowering::converted(Id x, Kind from, Kind to) {
  const bool has_512 = b_.code.has_512;
  const Value narrow_x{&b_, x};
  const auto by = [&](V op, uint8_t bits, bool is_available) {
    if (!is_available) throw Unsupported();
    return b_.put(op, bits, x);
  };
  const auto is_int32 = [](Kind kind) { return kind == kind_i32 || kind == kind_u32; };
  const auto is_int64 = [](Kind kind) { return kind == kind_i64 || kind == kind_u64; };
  if (from == to || (is_int32(to) && (is_int32(from) || is_int64(from))) || (is_int64(from) && is_int64(to))) return x;
  if (from == kind_i32 && is_int64(to)) return by(V::i32_to_i64, 64, true);
  if (from == kind_u32 && is_int64(to)) return b_.put(V::bit_and, 64, x, b_.constant(0xffffffff, 64));
  if (from == kind_i32 && to == kind_f32) return by(V::i32_to_f32, 32, true);
  if (from == kind_i32 && to == kind_f64) return by(V::i32_to_f64, 64, true);
  if (from == kind_u32 && to == kind_f32) {
    if (has_512) return by(V::u32_to_f32, 32, true);
    // Both parts are exact; their sum rounds once.
    return (from_int(shift_right(narrow_x, 16)) * narrow_x.all(65536) + from_int(bit_and(narrow_x, 0xffffu))).id;
  }
  if (from == kind_u32 && to == kind_f64) {
    if (has_512) return by(V::u32_to_f64, 64, true);
    // Under the implicit bit of 2^52.
    const Wide low = bit_and(Wide{&b_, x}, uint64_t{0xffffffff});
    return (bit_or(low, uint64_t{0x4330000000000000}) - low.all(0x1p52)).id;
  }
  if (from == kind_f32 && is_int32(to))
    return rare(rare_to_int, to_int(narrow_x).id, x, none, ::math::absolute(narrow_x), 0x1p31f, is_not_less);
  if (from == kind_f32 && to == kind_f64) return by(V::f32_to_f64, 64, true);
  if (from == kind_f64 && to == kind_f32) return by(V::f64_to_f32, 32, true);
  if (from == kind_f32 && to == kind_i64) return by(V::f32_to_i64, 64, has_512);
  if (from == kind_f64 && to != kind_u64) return by(V::f64_to_i64, 64, has_512);
  if (from == kind_i64 && to == kind_f32) return by(V::i64_to_f32, 32, has_512);
  if (from == kind_i64 && to == kind_f64) return by(V::i64_to_f64, 64, has_512);
  throw Unsupported();
}

Id Lowering::rounded(Id x, DType type, bool may_signal) {
  const Value narrow_x{&b_, x};
  switch (storage_of(type)) {
    case in_u8:
      return bit_and(narrow_x, 0xffu).id;
    case in_u16:
      return bit_and(narrow_x, 0xffffu).id;
    case in_i8:
      return shift_right_signed(shift_left(narrow_x, 24), 24).id;
    case in_i16:
      return shift_right_signed(shift_left(narrow_x, 16), 16).id;
    case in_f16:
      return b_.put(V::round_to_half, 32, x);
    default:
      return brain(x, may_signal);
  }
}

// To nearest even on the upper 16 bits. NaN stays one, and becomes quiet if it is not.
Id Lowering::brain(Id id, bool may_signal) {
  const Value x{&b_, id}, odd = bit_and(shift_right(x, 16), 1u);
  const Value sum = add_bits(x.with(V::int_add, odd), 0x7fffu);
  const Value kept = may_signal ? bit_or(x, 0x400000u) : x;
  return bit_and(choose(compared(x, x, is_unordered), kept, sum), 0xffff0000u).id;
}

}  // namespace mx::loop::jit
