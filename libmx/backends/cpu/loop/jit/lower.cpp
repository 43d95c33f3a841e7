// Sources, sinks, selection and the walk; see lower.hpp.
#include "backends/cpu/loop/jit/lower.hpp"

#include "backends/cpu/loop/jit/balance.hpp"

namespace mx::loop::jit {

Lowering::Lowering(const Kernel &kernel, std::vector<Meeting> rows) : kernel_(kernel), held_(kernel.code.ins.size()) {
  VectorCode &code = b_.code;
  code.is_wide = kernel.wide;
  code.level = kernel.micro_ops->level;
  code.has_512 = code.level->vector_bytes == 64;
  code.rows = std::move(rows);
  code.n_results = static_cast<uint32_t>(kernel.reductions.size());
  code.n_scalars = static_cast<uint32_t>(kernel.scalars.size());
}

VectorCode Lowering::run() {
  for (uint16_t v : schedule(kernel_.code)) lower(v);
  balance(b_.code);
  return std::move(b_.code);
}

void Lowering::lower(uint16_t v) {
  const Ins &i = ins(v);
  switch (i.op) {
    case Op::scalar:
      return scalar(v);
    case Op::load:
      return load(v);
    case Op::iota:
      return index(v);
    case Op::store:
      return store(i);
    case Op::cast:
      return cast(v);
    case Op::select:
      return select(v);
    case Op::fma:
      return set(v, b_.put(V::madd, bits_of(i.type), value(i.a), value(i.b), value(i.c)));
    default:
      break;
  }
  if (is_reduction(i.op)) return reduce(i);
  arity(i.op) == 1 ? unary(v) : binary(v);
  if (held_[v].value == none || !is_narrow(i.type)) return;
  if (!is_closed(i.op, i.type)) {
    set(v, rounded(value(v), i.type, false));
    held_[v].is_rounded = true;
  }
}

// ---- how bools are held

Id Lowering::value(uint16_t v) {
  Held &h = held_[v];
  if (h.value == none) h.value = b_.put(V::shift_right, 32, h.mask32 != none ? h.mask32 : h.mask64, none, none, 31);
  return h.value;
}

Id Lowering::mask(uint16_t v, uint8_t bits) {
  Held &h = held_[v];
  if (bits == 32 && h.mask32 == none)
    h.mask32 = h.mask64 != none ? h.mask64 : b_.put(V::int_subtract, 32, zero(32), h.value);
  if (bits == 64 && h.mask64 == none) h.mask64 = b_.put(V::low_doubled, 64, mask(v, 32));
  return bits == 64 ? h.mask64 : h.mask32;
}

// ---- sources

uint16_t Lowering::stream(uint16_t operand, uint8_t part, bool is_output) const {
  uint16_t at = 0;
  for (const Stream &s : kernel_.streams) {
    if (s.operand == operand && s.offset == 4 * part && s.is_output == is_output) return at;
    at++;
  }
  throw Unsupported();
}

void Lowering::load(uint16_t v) {
  const DType type = ins(v).type;
  const Storage storage = storage_of(type);
  Instruction load{V::load, lane_bits()};
  load.storage = storage == in_bf16 ? in_u16 : storage;
  load.row = stream(ins(v).arg, ins(v).part, false);
  load.is_uniform = b_.code.rows[load.row] == Meeting::constant;
  const Id loaded = b_.put(load);
  set(v, storage == in_bf16 ? b_.put(V::shift_left, 32, loaded, none, none, 16) : loaded);
}

void Lowering::scalar(uint16_t v) {
  const DType type = ins(v).type;
  Instruction scalar{V::scalar, bits_of(type)};
  while (kernel_.scalars[scalar.row].arg != ins(v).arg || kernel_.scalars[scalar.row].type != type)
    if (++scalar.row == kernel_.scalars.size()) throw Unsupported();
  scalar.is_uniform = true;
  set(v, b_.put(scalar));
}

void Lowering::index(uint16_t v) {
  const DType type = ins(v).type;
  uint16_t at = 0;
  while (kernel_.indices[at] != ins(v).arg) at++;
  Instruction index{V::index, lane_bits()};
  index.row = static_cast<uint16_t>(kernel_.streams.size() + at);
  const Meeting meeting = b_.code.rows[index.row];
  index.is_uniform = meeting == Meeting::constant;
  if (meeting == Meeting::packed) {
    index.op = V::load;
    index.storage = kernel_.wide ? in_b64 : in_b32;
  }
  Id x = b_.put(index);
  const Kind held = kernel_.wide ? kind_u64 : kind_u32;
  if (held != kind_of(type)) x = converted(x, held, kind_of(type));
  set(v, is_narrow(type) ? rounded(x, type, true) : x);
}

// ---- sinks

void Lowering::store(const Ins &i) {
  const DType held = kernel_.code.operands[i.arg];
  const Storage storage = storage_of(held);
  Id x = value(i.a);
  if (storage == in_bf16) x = b_.put(V::shift_right, 32, held_[i.a].is_rounded ? x : brain(x, true), none, none, 16);
  Instruction store{V::store, lane_bits()};
  store.storage = storage == in_bf16 || storage == in_i16 ? in_u16 : storage == in_i8 ? in_u8 : storage;
  store.row = stream(i.arg, i.part, true);
  store.a = x;
  b_.put(store);
}

void Lowering::reduce(const Ins &i) {
  const DType type = ins(i.a).type;
  const Kind kind = kind_of(type);
  const uint8_t bits = bits_of(type);
  Instruction node{V::accumulated, lane_bits()};
  node.row = static_cast<uint16_t>(b_.code.rows.size() + n_reduced_++);
  const Id x = value(i.a), old = b_.put(node);
  Id now;
  switch (i.op) {
    case Op::reduce_sum:
      now = b_.put(kind == kind_f32 || kind == kind_f64 ? V::add : V::int_add, bits, x, old);
      break;
    case Op::reduce_prod:
      now = kind == kind_f32 || kind == kind_f64 ? b_.put(V::multiply, bits, x, old)
                                                 : int_binary(Op::multiply, kind, x, old);
      break;
    case Op::reduce_all:
      now = b_.put(V::bit_and, bits, x, old);
      break;
    case Op::reduce_any:
      now = b_.put(V::bit_or, bits, x, old);
      break;
    default:
      now = extreme(i.op == Op::reduce_min ? Op::minimum : Op::maximum, kind, x, old);
  }
  node.op = V::accumulate;
  node.a = now;
  b_.put(node);
}

void Lowering::select(uint16_t v) {
  const Ins &i = ins(v);
  const uint8_t bits = bits_of(i.type);
  set(v, b_.choose(bits, mask(i.a, bits), value(i.b), value(i.c)));
}

VectorCode lower(const Kernel &kernel, std::vector<Meeting> rows) { return Lowering(kernel, std::move(rows)).run(); }

}  // namespace mx::loop::jit
