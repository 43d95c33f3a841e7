// Elementwise ops on real values: mostly one instruction, with the dtypes that the loop IR has no instruction for
// brought to ones that it has.
#include "backends/loop/ir.hpp"
#include "base/status.hpp"
#include "lower/emit.hpp"

namespace mx::lower {
namespace {

using loop::Op;
constexpr Op none = Op::load;

// The instruction behind an op, `none` if there is none of its own.
constexpr Op instruction(OpCode op) noexcept {
  switch (op) {
#define SAME(name)   \
  case OpCode::name: \
    return Op::name;
    // clang-format off
  SAME(negative) SAME(absolute) SAME(sign) SAME(square) SAME(floor) SAME(ceil) SAME(trunc) SAME(round) SAME(sqrt)
  SAME(rsqrt) SAME(reciprocal) SAME(exp) SAME(expm1) SAME(log) SAME(log2) SAME(log10) SAME(log1p) SAME(sin) SAME(cos)
  SAME(tan) SAME(arcsin) SAME(arccos) SAME(arctan) SAME(sinh) SAME(cosh) SAME(tanh) SAME(arcsinh) SAME(arccosh)
  SAME(arctanh) SAME(erf) SAME(erfinv) SAME(sigmoid) SAME(logical_not) SAME(add) SAME(subtract) SAME(multiply)
  SAME(divide) SAME(floor_divide) SAME(remainder) SAME(power) SAME(maximum) SAME(minimum) SAME(arctan2) SAME(logaddexp)
  SAME(hypot) SAME(copysign) SAME(nextafter) SAME(equal) SAME(not_equal) SAME(less) SAME(less_equal) SAME(greater)
  SAME(greater_equal) SAME(logical_and) SAME(logical_or) SAME(logical_xor)
#undef SAME
  case OpCode::bitwise_invert: return Op::bit_not;
  case OpCode::isnan: return Op::is_nan;
  case OpCode::isinf: return Op::is_inf;
  case OpCode::isfinite: return Op::is_finite;
  case OpCode::bitwise_and: return Op::bit_and;
  case OpCode::bitwise_or: return Op::bit_or;
  case OpCode::bitwise_xor: return Op::bit_xor;
  case OpCode::left_shift: return Op::shift_left;
  case OpCode::right_shift: return Op::shift_right;
  default: return none;
    // clang-format on
  }
}

// What arithmetic on bool means: the number, converted back by "is not zero".
uint16_t emit_bool(Emitter &e, OpCode op, std::span<const uint16_t> in) {
  constexpr DType b = DType::bool_;
  switch (op) {
    case OpCode::add:
    case OpCode::maximum:
    case OpCode::bitwise_or:
      return e.binary(Op::logical_or, b, in[0], in[1]);
    case OpCode::multiply:
    case OpCode::minimum:
    case OpCode::bitwise_and:
      return e.binary(Op::logical_and, b, in[0], in[1]);
    case OpCode::subtract:
    case OpCode::bitwise_xor:
      return e.binary(Op::logical_xor, b, in[0], in[1]);
    case OpCode::bitwise_invert:
      return e.unary(Op::logical_not, b, in[0]);
    default:
      break;
  }
  SmallVector<uint16_t, 2> wide;
  for (uint16_t v : in) wide.push_back(e.cast(DType::int32, v));
  return e.cast(b, emit_real(e, op, DType::int32, wide));
}

bool is_logical(OpCode op) noexcept {
  return op == OpCode::logical_not || op == OpCode::logical_and || op == OpCode::logical_or ||
         op == OpCode::logical_xor;
}

bool is_comparison(OpCode op) noexcept {
  return op == OpCode::equal || op == OpCode::not_equal || op == OpCode::less || op == OpCode::less_equal ||
         op == OpCode::greater || op == OpCode::greater_equal;
}

// Ops that return integers unchanged.
bool rounds(OpCode op) noexcept {
  return op == OpCode::floor || op == OpCode::ceil || op == OpCode::trunc || op == OpCode::round;
}

}  // namespace

uint16_t emit_real(Emitter &e, OpCode op, DType type, std::span<const uint16_t> in) {
  const DType from = e.type(in[0]);
  switch (op) {
    case OpCode::astype:
      return e.cast(type, in[0]);
    case OpCode::conjugate:
    case OpCode::real:
      return in[0];
    case OpCode::imag:
      return e.scalar(type, 0);
    case OpCode::select:
      return e.select(type, e.cast(DType::bool_, in[0]), e.cast(type, in[1]), e.cast(type, in[2]));
    case OpCode::equal_nan: {
      const uint16_t same = e.binary(Op::equal, DType::bool_, in[0], in[1]);
      if (!is_floating(from)) return same;
      const uint16_t both = e.binary(Op::logical_and, DType::bool_, e.unary(Op::is_nan, DType::bool_, in[0]),
                                     e.unary(Op::is_nan, DType::bool_, in[1]));
      return e.binary(Op::logical_or, DType::bool_, same, both);
    }
    case OpCode::isnan:
    case OpCode::isinf:
      if (!is_floating(from)) return e.scalar_bits(DType::bool_, 0);
      break;
    case OpCode::isfinite:
      if (!is_floating(from)) return e.scalar_bits(DType::bool_, 1);
      break;
    default:
      break;
  }
  if (rounds(op) && !is_floating(from)) return in[0];
  const Op ins = instruction(op);
  if (ins == none) fail(MX_ERROR_INTERNAL, "%s has no loop instruction", info(op).name);
  SmallVector<uint16_t, 2> args(in.begin(), in.end());
  if (op == OpCode::power && category(from) == 'i') {
    const uint16_t fraction = e.binary(Op::less, DType::bool_, in[1], e.scalar(from, 0));
    const uint16_t whole = e.append({ins, type, 0, 0, args[0], args[1], 0});
    return e.select(type, fraction, e.scalar(type, 0), whole);
  }
  if (is_logical(op)) {
    for (uint16_t &v : args) v = e.cast(DType::bool_, v);
  } else if (from == DType::bool_ && !is_comparison(op)) {
    return emit_bool(e, op, in);
  } else if (category(from) == 'u' && op == OpCode::absolute) {
    return in[0];
  }
  return e.append({ins, type, 0, 0, args[0], args.size() > 1 ? args[1] : uint16_t{0}, 0});
}

// float8 e4m3 (OCP 8-bit Floating Point Specification, 2023): 4 exponent bits with bias 7, no infinities, NaN is 0x7f.
// Within the binade of exponent k numbers are multiples of 2^(k-3), and codes grow by 8 from binade to binade.
uint16_t emit_to_fp8(Emitter &e, uint16_t x) {
  constexpr DType f = DType::float32, b = DType::bool_;
  const uint16_t size = e.binary(Op::minimum, f, e.unary(Op::absolute, f, x), e.scalar(f, 448));
  uint16_t step = e.scalar(f, 0x1p-9), base = e.scalar(f, 0);
  for (int k = -5; k <= 8; k++) {
    const uint16_t reached = e.binary(Op::greater_equal, b, size, e.scalar(f, __builtin_ldexp(1, k)));
    step = e.select(f, reached, e.scalar(f, __builtin_ldexp(1, k - 3)), step);
    base = e.select(f, reached, e.scalar(f, (k + 6) * 8), base);
  }
  uint16_t code = e.binary(Op::add, f, base, e.unary(Op::round, f, e.binary(Op::divide, f, size, step)));
  code = e.select(f, e.unary(Op::is_nan, b, x), e.scalar(f, 127), code);
  const uint16_t sign = e.binary(Op::copysign, f, e.scalar(f, 1), x);
  const uint16_t negative = e.binary(Op::less, b, sign, e.scalar(f, 0));
  code = e.binary(Op::add, f, code, e.select(f, negative, e.scalar(f, 128), e.scalar(f, 0)));
  return e.cast(DType::uint8, code);
}

uint16_t emit_from_fp8(Emitter &e, DType type, uint16_t code) {
  constexpr DType f = DType::float32, i = DType::int32, b = DType::bool_;
  const auto integer = [&](int64_t value) { return e.scalar_bits(i, static_cast<uint32_t>(value)); };
  const auto bits = [&](uint16_t v, int mask) { return e.binary(Op::bit_and, i, v, integer(mask)); };
  const uint16_t x = e.cast(i, code);
  const uint16_t exponent = bits(e.binary(Op::shift_right, i, x, integer(3)), 15);
  const uint16_t mantissa = e.cast(f, bits(x, 7));
  uint16_t scale = e.scalar(f, 0x1p-10);  // times 2^exponent, one bit of it at a time: exact
  for (int bit = 0; bit < 4; bit++) {
    const uint16_t set = e.cast(b, bits(exponent, 1 << bit));
    scale =
        e.binary(Op::multiply, f, scale, e.select(f, set, e.scalar(f, __builtin_ldexp(1, 1 << bit)), e.scalar(f, 1)));
  }
  const uint16_t normal = e.binary(Op::multiply, f, e.binary(Op::add, f, mantissa, e.scalar(f, 8)), scale);
  const uint16_t subnormal = e.binary(Op::multiply, f, mantissa, e.scalar(f, 0x1p-9));
  uint16_t size = e.select(f, e.cast(b, exponent), normal, subnormal);
  const uint16_t nan = e.binary(Op::equal, b, bits(x, 127), integer(127));
  size = e.select(f, nan, e.scalar(f, __builtin_nan("")), size);
  const uint16_t negative = e.cast(b, bits(x, 128));
  return e.cast(type, e.select(f, negative, e.unary(Op::negative, f, size), size));
}

}  // namespace mx::lower
