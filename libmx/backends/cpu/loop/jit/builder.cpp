// Appending vector instructions; and what math.hpp leaves to the level.
#include "backends/cpu/loop/jit/builder.hpp"

#include "backends/cpu/loop/math.hpp"

namespace mx::loop::jit {
namespace {

bool is_pure(V op) noexcept { return op != V::store && op != V::accumulate && op != V::accumulated && op != V::rare; }

}  // namespace

Id Builder::constant(uint64_t value, uint8_t bits) {
  for (Id id : constants_)
    if (code.ins[id].value == value && code.ins[id].bits == bits) return id;
  Instruction ins{V::constant, bits};
  ins.value = value;
  ins.is_uniform = true;
  const Id id = put(ins);
  constants_.push_back(id);
  return id;
}

Id Builder::put(Instruction ins) {
  if (code.ins.size() >= max_vector_instructions) throw Unsupported();
  const bool is_source = ins.a == none;
  bool is_uniform = !is_source && is_pure(ins.op);
  for (Id used : {ins.a, ins.b, ins.c, ins.d, ins.e})
    if (used != none) {
      code.ins[used].uses++;
      is_uniform &= code.ins[used].is_uniform;
    }
  ins.is_uniform |= is_uniform;
  code.ins.push_back(ins);
  return static_cast<Id>(code.ins.size() - 1);
}

Id Builder::choose(uint8_t bits, Id mask, Id yes, Id no) {
  const Instruction test = at(mask);
  if (test.op != V::compare || test.bits != bits || test.is_uniform) return put(V::choose, bits, mask, yes, no);
  return put({V::choose_if, bits, test.imm, in_b32, 0, test.a, test.b, yes, no});
}

Value scale(Value y, Value n) {
  if (y.code->code.has_512) return y.with(V::scale, n);
  return ::math::scale_by_parts(y, n);
}
Value log_special(Value x, Value y) {
  if (x.code->code.has_512) return y.with(V::log_fix, x);
  return ::math::log_special_by_parts(x, y);
}
Value take_off(Value q, Value x) { return ::math::take_off_fused(q, x); }

}  // namespace mx::loop::jit
