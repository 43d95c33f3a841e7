// See balance.hpp.
#include "backends/cpu/loop/jit/balance.hpp"

#include <algorithm>
#include <bit>

namespace mx::loop::jit {
namespace {

// With less to do, memory is what a loop waits for.
constexpr int least_moved = 2;

struct Load {
  int adders = 0, multipliers = 0, additions = 0;  // `additions`: of the adders' instructions those that can move
};

bool is_addition(const Instruction &ins, uint8_t bits) noexcept {
  return ins.op == V::add && ins.bits == bits && !ins.is_uniform;
}

Load load_of(const VectorCode &code, uint8_t bits) {
  Load load;
  for (const Instruction &ins : code.ins) {
    if (ins.is_uniform) continue;
    load.adders += ins.op == V::add || ins.op == V::subtract || ins.op == V::smaller || ins.op == V::larger;
    load.multipliers += ins.op == V::multiply || ins.op == V::madd || ins.op == V::nmadd;
    load.additions += is_addition(ins, bits);
  }
  return load;
}

// Before all others, whose numbers go up by one.
void prepend(VectorCode &code, const Instruction &first) {
  for (Instruction &ins : code.ins)
    for (Id *used : {&ins.a, &ins.b, &ins.c, &ins.d, &ins.e})
      if (*used != none) ++*used;
  code.ins.insert(code.ins.begin(), first);
}

}  // namespace

void balance(VectorCode &code) {
  const uint8_t bits = code.is_wide ? 64 : 32;
  const Load load = load_of(code, bits);
  const int moved = std::min((load.adders - load.multipliers) / 2, load.additions);
  if (moved < least_moved || code.ins.size() >= max_vector_instructions) return;
  Instruction one{V::constant, bits};
  one.value = code.is_wide ? std::bit_cast<uint64_t>(1.0) : std::bit_cast<uint32_t>(1.0f);
  one.is_uniform = true;
  prepend(code, one);
  for (int seen = 0; Instruction &ins : code.ins) {
    if (!is_addition(ins, bits)) continue;
    // Every so many, from the first to the last.
    const bool moves = (seen + 1) * moved / load.additions > seen * moved / load.additions;
    seen++;
    if (!moves) continue;
    ins.op = V::madd;
    ins.c = ins.b;
    ins.b = 0;
  }
}

}  // namespace mx::loop::jit
