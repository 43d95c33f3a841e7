// Facts about the instructions of the loop IR and the check that a piece of code is well formed.
#include <cstring>

#include "backends/cpu/loop/kernel.hpp"
#include "base/status.hpp"

namespace mx::loop {
namespace {

// Which types an instruction takes, as letters of dtype categories: b bool, u unsigned, i signed, f floating.
const char *accepts(Op op) noexcept {
  switch (op) {
    case Op::negative:
    case Op::absolute:
    case Op::sign:
    case Op::square:
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::floor_divide:
    case Op::remainder:
    case Op::power:
    case Op::reduce_sum:
    case Op::reduce_prod:
      return "uif";
    case Op::bit_not:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
    case Op::shift_left:
    case Op::shift_right:
      return "ui";
    case Op::logical_not:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_xor:
    case Op::reduce_all:
    case Op::reduce_any:
      return "b";
    case Op::load:
    case Op::scalar:
    case Op::store:
    case Op::cast:
    case Op::select:
    case Op::minimum:
    case Op::maximum:
    case Op::reduce_min:
    case Op::reduce_max:
    case Op::equal:
    case Op::not_equal:
    case Op::less:
    case Op::less_equal:
    case Op::greater:
    case Op::greater_equal:
      return "buif";
    case Op::iota:
      return "uif";
    default:
      return "f";
  }
}
bool gives_bool(Op op) noexcept {
  return (op >= Op::is_nan && op <= Op::is_finite) || (op >= Op::equal && op <= Op::greater_equal);
}
bool in(const char *letters, DType type) noexcept { return std::strchr(letters, category(type)) != nullptr; }

[[noreturn]] void malformed(size_t at, const char *why) {
  fail(MX_ERROR_INTERNAL, "loop kernel: instruction %zu %s", at, why);
}

void check_types(const Code &code, size_t at) {
  const Ins &ins = code.ins[at];
  const auto type = [&](uint16_t v) { return code.ins[v].type; };
  const DType a = arity(ins.op) > 0 ? type(ins.a) : ins.type;
  if (!in(accepts(ins.op), ins.op == Op::select || ins.op == Op::cast ? ins.type : a))
    malformed(at, "takes no such type");
  if (ins.op == Op::fma && kind_of(a) != kind_f64 && a != DType::float32)
    malformed(at, "is an fma of no float32 or float64");
  if (ins.op == Op::cast) {
    if (is_complex(a)) malformed(at, "casts a complex value");
  } else if (ins.op == Op::select) {
    if (a != DType::bool_ || type(ins.b) != ins.type || type(ins.c) != ins.type)
      malformed(at, "selects between other types");
  } else if (arity(ins.op) > 1 && (type(ins.b) != a || (arity(ins.op) > 2 && type(ins.c) != a))) {
    malformed(at, "mixes types");
  } else if (arity(ins.op) > 0 && ins.op != Op::store && !is_reduction(ins.op) &&
             ins.type != (gives_bool(ins.op) ? DType::bool_ : a)) {
    malformed(at, "has another type than its operands");
  }
  const bool is_memory = ins.op == Op::load || ins.op == Op::store || is_reduction(ins.op);
  if (is_memory) {
    if (ins.arg >= code.operands.size()) malformed(at, "names an unknown operand");
    const DType held = code.operands[ins.arg];
    const DType element = part_dtype(held);
    const DType value = ins.op == Op::load ? ins.type : a;
    if (value != element || ins.part > (is_complex(held) ? 1 : 0) || (is_complex(held) && is_reduction(ins.op)))
      malformed(at, "does not fit its operand");
  }
  if (ins.op == Op::scalar && ins.arg >= code.n_scalars) malformed(at, "names an unknown scalar");
}

}  // namespace

int arity(Op op) noexcept {
  if (op < Op::store) return 0;
  if (op < Op::add) return 1;
  return op < Op::select ? 2 : 3;
}

void check(const Code &code) {
  if (code.ins.size() > max_instructions || code.operands.size() > max_operands)
    fail(MX_ERROR_INTERNAL, "loop kernel: %zu instructions and %zu operands", code.ins.size(), code.operands.size());
  for (size_t i = 0; i < code.ins.size(); i++) {
    const Ins &ins = code.ins[i];
    if (ins.op >= Op::n_ops) malformed(i, "is none");
    const uint16_t used[3] = {ins.a, ins.b, ins.c};
    for (int k = 0; k < arity(ins.op); k++) {
      if (used[k] >= i) malformed(i, "uses a later value");
      const Op made_by = code.ins[used[k]].op;
      if (made_by == Op::store || is_reduction(made_by)) malformed(i, "uses a sink");
    }
    check_types(code, i);
  }
}

Kind kind_of(DType type) noexcept {
  switch (type) {
    case DType::int8:
    case DType::int16:
    case DType::int32:
      return kind_i32;
    case DType::int64:
      return kind_i64;
    case DType::uint64:
      return kind_u64;
    case DType::float64:
    case DType::complex128:
      return kind_f64;
    case DType::float16:
    case DType::bfloat16:
    case DType::float32:
    case DType::complex64:
      return kind_f32;
    default:
      return kind_u32;
  }
}

Storage storage_of(DType type) noexcept {
  switch (type) {
    case DType::bool_:
    case DType::uint8:
      return in_u8;
    case DType::int8:
      return in_i8;
    case DType::uint16:
      return in_u16;
    case DType::int16:
      return in_i16;
    case DType::float16:
      return in_f16;
    case DType::bfloat16:
      return in_bf16;
    case DType::int64:
    case DType::uint64:
    case DType::float64:
    case DType::complex128:
      return in_b64;
    default:
      return in_b32;
  }
}

int storage_log2(Storage storage) noexcept {
  switch (storage) {
    case in_u8:
    case in_i8:
      return 0;
    case in_b32:
      return 2;
    case in_b64:
      return 3;
    default:
      return 1;
  }
}

namespace {
uint32_t float_bits(float x) noexcept {
  uint32_t raw;
  std::memcpy(&raw, &x, sizeof raw);
  return raw;
}
uint32_t widened_half(uint32_t h) noexcept {
  const uint32_t sign = (h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
  if (exponent == 31) return sign | 0x7f800000 | fraction << 13;
  if (exponent != 0) return sign | (exponent + 112) << 23 | fraction << 13;
  return sign | float_bits(static_cast<float>(fraction) * 0x1p-24f);
}
}  // namespace

uint64_t lane_bits(DType type, uint64_t element) noexcept {
  switch (type) {
    case DType::bool_:
      return (element & 0xff) != 0;
    case DType::uint8:
      return element & 0xff;
    case DType::int8:
      return static_cast<uint32_t>(static_cast<int8_t>(element));
    case DType::uint16:
      return element & 0xffff;
    case DType::int16:
      return static_cast<uint32_t>(static_cast<int16_t>(element));
    case DType::float16:
      return widened_half(static_cast<uint32_t>(element & 0xffff));
    case DType::bfloat16:
      return (element & 0xffff) << 16;
    default:
      return is_wide(type) ? element : element & 0xffffffff;
  }
}

uint64_t identity(Op op, DType type) noexcept {
  const int width = 8 << storage_log2(storage_of(type));
  const uint64_t ones = type == DType::bool_ ? 1 : width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  const auto element = [&](double value, uint64_t integer) -> uint64_t {
    if (kind_of(type) == kind_f32) return float_bits(static_cast<float>(value));
    if (kind_of(type) != kind_f64) return lane_bits(type, integer);
    uint64_t raw;
    std::memcpy(&raw, &value, sizeof raw);
    return raw;
  };
  switch (op) {
    case Op::reduce_prod:
      return element(1, 1);
    case Op::reduce_all:
      return 1;
    case Op::reduce_min:
      return element(__builtin_inf(), is_signed_integer(type) ? ones >> 1 : ones);
    case Op::reduce_max:
      return element(-__builtin_inf(), is_signed_integer(type) ? (ones >> 1) + 1 : 0);
    default:
      return 0;
  }
}

}  // namespace mx::loop
