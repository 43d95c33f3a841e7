// The function around the instructions: entry, loop, exit, what is rarely executed, constants; see assembler.hpp.
#include "backends/cpu/loop/jit/assembler.hpp"

namespace mx::loop::jit {

using namespace Xbyak::util;

namespace {

// rdi holds the frame, rsi the number of elements, rdx the position, r11 that in the accumulators, rax is scratch.
const Xbyak::Reg64 pointer_registers[] = {rcx, r8, r9, r10, rbx, r12, r13, r14, r15};
const Xbyak::Reg64 kept[] = {rbx, r12, r13, r14, r15};                  // for the caller
const Xbyak::Reg64 passing[] = {rcx, rdx, rsi, rdi, r8, r9, r10, r11};  // over a call
constexpr int n_arguments = 3;
constexpr int max_stack_bytes = 64 * 1024;

}  // namespace

Assembler::Assembler(const VectorCode &code, const Layout &layout, void *buffer, size_t bytes)
    : CodeGenerator(bytes, buffer),
      code_(code),
      layout_(layout),
      has_512_(code.has_512),
      homes_(code.ins.size() * static_cast<size_t>(layout.unroll)),
      uniform_slot_(code.ins.size(), -1),
      owners_(static_cast<size_t>(layout.n_registers)),
      pointers_(std::begin(pointer_registers), std::end(pointer_registers)),
      pointer_of_(code.n_rows(), -1) {}

size_t Assembler::assemble() {
  give_homes_to_uniform();
  enter();
  for (Id id : layout_.before) emit(id);
  load_pointers();
  for (Compared &compared : compared_) compared = {};
  xor_(edx, edx);
  Xbyak::Label loop;
  align(32);
  L(loop);
  if (code_.n_results > 0) {
    mov(r11, rdx);
    and_(r11, ptr[rdi + frame_offset(code_.n_rows())]);
  }
  for (position_ = 0; position_ < layout_.body.size(); position_++)
    for (copy_ = 0; copy_ < layout_.unroll; copy_++) emit(layout_.body[position_]);
  copy_ = 0;
  add(rdx, layout_.unroll * code_.lanes());
  cmp(rdx, rsi);
  jl(loop, T_NEAR);
  leave();
  emit_rare_calls();
  emit_pool();
  return getSize();
}

void Assembler::give_homes_to_uniform() {
  for (Id id : layout_.before) {
    const V op = code_.ins[id].op;
    if (layout_.pinned[id] < 0 && op != V::constant && !(op == V::scalar && has_512_))
      uniform_slot_[id] = static_cast<int16_t>(n_slots_++);
  }
}

// The stack: slots, the arguments of a rare call, what is kept over it. How many slots there are is known in the end.
void Assembler::enter() {
  endbr64();
  push(rbp);
  mov(rbp, rsp);
  for (const Xbyak::Reg64 &r : kept) push(r);
  mov(eax, INT32_MAX);  // set by leave()
  frame_size_at_ = getSize() - 4;
  sub(rsp, rax);
  and_(rsp, -64);
}

void Assembler::leave() {
  const int vectors = n_slots_ + n_arguments + (layout_.calls ? layout_.n_registers : 0);
  const int bytes = vectors * code_.vector_bytes() + static_cast<int>(8 * std::size(passing)) + 64;
  if (bytes > max_stack_bytes) throw Unsupported();
  rewrite(frame_size_at_, static_cast<uint64_t>(bytes), 4);
  lea(rsp, ptr[rbp - 8 * static_cast<int>(std::size(kept))]);
  for (size_t i = std::size(kept); i-- > 0;) pop(kept[i]);
  pop(rbp);
  vzeroupper();
  ret();
}

// Rows that move get the registers that there are; more stay in the frame.
void Assembler::load_pointers() {
  size_t n = 0;
  for (Id id : layout_.body) {
    const Instruction &ins = code_.ins[id];
    const bool is_row = ins.op == V::load || ins.op == V::store || ins.op == V::accumulated || ins.op == V::accumulate;
    if (!is_row || pointer_of_[ins.row] >= 0 || n == pointers_.size()) continue;
    pointer_of_[ins.row] = static_cast<int8_t>(n);
    mov(pointers_[n++], ptr[rdi + frame_offset(ins.row)]);
  }
}

void Assembler::emit_rare_calls() {
  if (rare_.empty()) return;
  const int bytes = code_.vector_bytes(), arguments = n_slots_ * bytes;
  for (const auto &call : rare_) {
    L(call->begin);
    vmovups(ptr[rsp + arguments], vec(call->result));
    vmovups(ptr[rsp + arguments + bytes], vec(call->a));
    vmovups(ptr[rsp + arguments + 2 * bytes], vec(call->b));
    mov(rax, reinterpret_cast<size_t>(call->function));
    Xbyak::CodeGenerator::call(rare_label_);
    vmovups(vec(call->result), ptr[rsp + arguments]);
    jmp(call->back, T_NEAR);
  }
  emit_rare_helper();
}

// Calls the function at rax with the arguments on the stack and keeps everything else.
void Assembler::emit_rare_helper() {
  const int bytes = code_.vector_bytes(), arguments = n_slots_ * bytes + 8;  // behind the return address
  const int vectors = arguments + n_arguments * bytes, others = vectors + layout_.n_registers * bytes;
  L(rare_label_);
  for (int i = 0; i < layout_.n_registers; i++) vmovups(ptr[rsp + vectors + i * bytes], vec(i));
  for (size_t i = 0; i < std::size(passing); i++) mov(ptr[rsp + others + static_cast<int>(8 * i)], passing[i]);
  lea(rdi, ptr[rsp + arguments]);
  lea(rsi, ptr[rsp + arguments + bytes]);
  lea(rdx, ptr[rsp + arguments + 2 * bytes]);
  vzeroupper();
  sub(rsp, 8);
  call(rax);
  add(rsp, 8);
  for (int i = 0; i < layout_.n_registers; i++) vmovups(vec(i), ptr[rsp + vectors + i * bytes]);
  for (size_t i = 0; i < std::size(passing); i++) mov(passing[i], ptr[rsp + others + static_cast<int>(8 * i)]);
  ret();
}

void Assembler::emit_pool() {
  align(64);
  for (const auto &vector : vectors_) {
    L(vector->label);
    for (uint8_t byte : vector->bytes) db(byte);
  }
  L(pool_label_);
  for (const auto &[value, bits] : pool_) {
    const uint64_t lanes = bits == 64 ? value : (value & 0xffffffff) | value << 32;
    for (int i = 0; i < pool_entry_bytes(); i += 8) dq(lanes);
  }
}

}  // namespace mx::loop::jit
