// Who holds which register; see assembler.hpp.
#include "backends/cpu/loop/jit/assembler.hpp"

namespace mx::loop::jit {

using Xbyak::util::rdi;
using Xbyak::util::rip;
using Xbyak::util::rsp;

Assembler::Register Assembler::temp() {
  if (temps_ == n_temps) throw Unsupported();
  return vec(layout_.n_registers - 1 - temps_++);
}

Assembler::Memory Assembler::slot(int number) { return ptr[rsp + number * code_.vector_bytes()]; }

int Assembler::new_slot() {
  if (free_slots_.empty()) return n_slots_++;
  const int found = free_slots_.back();
  free_slots_.pop_back();
  return found;
}

Assembler::Memory Assembler::constant(uint64_t value, uint8_t bits, bool is_broadcast) {
  const std::pair<uint64_t, uint8_t> wanted{value, bits};
  size_t at = 0;
  while (at < pool_.size() && pool_[at] != wanted) at++;
  if (at == pool_.size()) pool_.push_back(wanted);
  const int offset = static_cast<int>(at) * pool_entry_bytes();
  return (is_broadcast ? ptr_b : ptr)[rip + pool_label_ + offset];
}

// Where a value that is in no register can be read: one lane of it for a broadcast, else all.
Assembler::Memory Assembler::memory(Id id) {
  const Instruction &ins = code_.ins[id];
  if (!ins.is_uniform) return layout_.is_folded[id] ? address(ins) : slot(home(id).slot);
  if (uniform_slot_[id] >= 0) return slot(uniform_slot_[id]);
  if (ins.op == V::constant) return constant(ins.value, ins.bits, has_512_);
  return ptr_b[rdi + frame_offset(ins.row, true)];
}

void Assembler::fill(const Register &r, Id id) {
  const Instruction &ins = code_.ins[id];
  if (ins.op == V::constant && ins.value == 0) return has_512_ ? vpxord(r, r, r) : vpxor(r, r, r);
  const bool is_whole = uniform_slot_[id] >= 0 || (ins.op == V::constant ? !has_512_ : ins.op != V::scalar);
  if (is_whole) return vmovups(r, memory(id));
  const Memory lane =
      ins.op == V::constant ? constant(ins.value, ins.bits, false) : Memory(ptr[rdi + frame_offset(ins.row, true)]);
  ins.bits == 64 ? vbroadcastsd(Xbyak::Ymm(r.getIdx(), r.getKind(), r.getBit()), lane) : vbroadcastss(r, lane);
}

void Assembler::refill(const Register &r, Id id) { code_.ins[id].is_uniform ? fill(r, id) : vmovups(r, memory(id)); }

bool Assembler::is_in_register(Id id) { return code_.ins[id].is_uniform ? layout_.pinned[id] >= 0 : home(id).reg >= 0; }

Assembler::Register Assembler::reg(Id id) {
  if (code_.ins[id].is_uniform && layout_.pinned[id] >= 0) return vec(layout_.pinned[id]);
  if (!code_.ins[id].is_uniform && home(id).reg >= 0) return vec(home(id).reg);
  if (code_.ins[id].is_uniform || layout_.is_folded[id]) {
    const Register r = temp();
    refill(r, id);
    return r;
  }
  const int number = find_register();
  home(id).reg = static_cast<int8_t>(number);
  owners_[static_cast<size_t>(number)] = {id, static_cast<int8_t>(copy_)};
  vmovups(vec(number), slot(home(id).slot));
  return vec(number);
}

Assembler::Source Assembler::source(Id id) {
  if (is_in_register(id)) return {reg(id), ptr[rsp], false};
  const Memory m = memory(id);
  // A broadcast has the width of the lanes that it was made for.
  if (m.isBroadcast() && code_.ins[id].bits != current_->bits) return {reg(id), m, false};
  return {vec(0), m, true};
}

bool Assembler::dies(Id id) {
  return !code_.ins[id].is_uniform && !layout_.is_folded[id] && layout_.next_use(id, position_) == never;
}

void Assembler::free(Id id) {
  Home &h = home(id);
  if (h.reg >= 0) owners_[static_cast<size_t>(h.reg)] = {};
  if (h.slot >= 0) free_slots_.push_back(h.slot);
  h = {};
}

void Assembler::release_dying() {
  for (Id used : operands(*current_))
    if (used != none && dies(used)) free(used);
}

// A free register, made free if need be.
int Assembler::find_register() {
  int victim = -1;
  uint32_t furthest = 0;
  for (int number = 0; number < layout_.n_free; number++) {
    const Owner &owner = owners_[static_cast<size_t>(number)];
    if (owner.id == none) return number;
    bool is_needed = owner.id == current_id_;
    for (Id used : operands(*current_)) is_needed |= used == owner.id && owner.copy == copy_;
    if (is_needed) continue;
    const uint32_t next = layout_.next_use(owner.id, position_ - (owner.copy > copy_ ? 1 : 0));
    if (victim < 0 || next > furthest) victim = number, furthest = next;
  }
  if (victim < 0) throw Unsupported();
  const Owner owner = owners_[static_cast<size_t>(victim)];
  const int kept = copy_;
  copy_ = owner.copy;
  Home &h = home(owner.id);
  if (h.slot < 0) {
    h.slot = static_cast<int16_t>(new_slot());
    vmovups(slot(h.slot), vec(victim));
  }
  h.reg = -1;
  copy_ = kept;
  owners_[static_cast<size_t>(victim)] = {};
  return victim;
}

Assembler::Register Assembler::take() {
  // Without a register of its own a uniform value is made in the first one, and stored.
  const Register r = vec(current_->is_uniform ? std::max<int>(layout_.pinned[current_id_], 0) : find_register());
  claim(r);
  return r;
}

void Assembler::claim(const Register &r) {
  if (current_->is_uniform) return;
  owners_[static_cast<size_t>(r.getIdx())] = {current_id_, static_cast<int8_t>(copy_)};
  home(current_id_).reg = static_cast<int8_t>(r.getIdx());
}

}  // namespace mx::loop::jit
