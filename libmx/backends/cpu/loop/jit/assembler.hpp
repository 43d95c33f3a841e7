// From vector code to machine code. Registers are given out while the instructions are emitted: a value keeps its
// registers until its last use; if there are too few, the value whose next use is furthest goes to the stack (L. A.
// Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5 (1966)). The code
// is a function void(const int64_t *frame, int64_t n): for n elements, rounded up to what an iteration does. The frame
// holds the address of each stream, the start of each index, the accumulators of each reduction, the mask of their
// positions, and the scalars.
#pragma once
#define XBYAK_NO_EXCEPTION_MACROS
#include <xbyak/xbyak.h>

#include "backends/cpu/loop/jit/layout.hpp"

namespace mx::loop::jit {

class Assembler : private Xbyak::CodeGenerator {
 public:
  Assembler(const VectorCode &code, const Layout &layout, void *buffer, size_t bytes);
  size_t assemble();  // the bytes of the code

 private:
  using Register = Xbyak::Xmm;
  using Memory = Xbyak::Address;
  // A value as the last operand of an instruction.
  struct Source {
    Register reg;
    Memory memory;
    bool is_memory;
    operator const Xbyak::Operand &() const {
      return is_memory ? static_cast<const Xbyak::Operand &>(memory) : static_cast<const Xbyak::Operand &>(reg);
    }
  };
  // Where the copy of a value for one vector of the iteration is.
  struct Home {
    int8_t reg = -1;
    int16_t slot = -1;
  };
  struct Owner {
    Id id = none;
    int8_t copy = 0;
  };
  struct RareCall {
    Xbyak::Label begin, back;
    int result, a, b;
    LanesFn function;
  };
  // What the opmask of a copy was last made of.
  struct Compared {
    Id a = none, b = none;
    uint8_t predicate = 0;
    bool operator==(const Compared &) const = default;
  };
  struct Vector {
    Xbyak::Label label;
    uint8_t bytes[64];
  };

  // ---- frame.cpp
  void enter();
  void leave();
  void load_pointers();
  void emit_rare_calls();
  void emit_rare_helper();
  void emit_pool();
  void give_homes_to_uniform();

  // ---- registers.cpp
  Register vec(int number) const { return has_512_ ? Register(Xbyak::Zmm(number)) : Register(Xbyak::Ymm(number)); }
  Register half(const Register &r) const {
    return has_512_ ? Register(Xbyak::Ymm(r.getIdx())) : Register(Xbyak::Xmm(r.getIdx()));
  }
  Home &home(Id id) {
    return homes_[static_cast<size_t>(id) * static_cast<size_t>(layout_.unroll) + static_cast<size_t>(copy_)];
  }
  Register temp();
  bool is_in_register(Id id);
  Register reg(Id id);   // brings it there
  Source source(Id id);  // memory if it is there
  Memory memory(Id id);
  void fill(const Register &r, Id id);    // from memory, for a uniform value
  void refill(const Register &r, Id id);  // from memory, for any
  void claim(const Register &r);          // for the result of the current instruction
  bool dies(Id id);
  void release_dying();
  Register take();  // a register for the result of the current instruction
  Register result() { return release_dying(), take(); }
  void free(Id id);
  int new_slot();
  int find_register();
  Memory slot(int number);
  Memory constant(uint64_t value, uint8_t bits, bool is_broadcast);
  int pool_entry_bytes() const { return has_512_ ? 8 : 32; }
  int frame_offset(uint32_t row, bool is_scalar = false) const {
    return static_cast<int>(8 * (row + (is_scalar ? code_.n_rows() + 1 : 0)));
  }

  // ---- operations.cpp
  void emit(Id id);
  void emit_arithmetic(const Instruction &ins);
  void binary(const Instruction &ins, const Register &d, const Register &a, const Xbyak::Operand &b);
  void binary32(V op, const Register &d, const Register &a, const Xbyak::Operand &b);
  void binary64(V op, const Register &d, const Register &a, const Xbyak::Operand &b);
  void emit_shift(const Instruction &ins);
  void emit_madd(const Instruction &ins);
  void emit_compare(const Instruction &ins);
  void emit_choose(const Instruction &ins);
  void emit_choose_if(const Instruction &ins);
  void emit_with_sign(const Instruction &ins);
  void emit_log_fix(const Instruction &ins);
  void emit_rare(const Instruction &ins);
  void compare_to(const Register &mask, const Instruction &ins, const Register &a, const Xbyak::Operand &b);
  void fused(int form, const Register &d, const Register &a, const Xbyak::Operand &b);

  // ---- conversions.cpp
  void emit_conversion(const Instruction &ins);
  void emit_wide_conversion(const Instruction &ins, const Register &d, const Register &a);
  void emit_load(const Instruction &ins);
  void emit_index(const Instruction &ins);
  void emit_store(const Instruction &ins);
  void store_narrow(const Memory &to, Storage storage, const Register &x);
  void store_wide(const Memory &to, Storage storage, const Register &x);
  Register dense(const Register &x);  // the low halves of 64-bit lanes, in a temporary
  Memory address(const Instruction &ins);
  Memory vector_constant(const uint8_t (&bytes)[64]);

  const VectorCode &code_;
  const Layout &layout_;
  const bool has_512_;
  int copy_ = 0;
  uint32_t position_ = 0;
  const Instruction *current_ = nullptr;
  Id current_id_ = none;
  int temps_ = 0;
  Compared compared_[8];
  std::vector<Home> homes_;
  std::vector<int16_t> uniform_slot_;
  std::vector<Owner> owners_;
  std::vector<int> free_slots_;
  int n_slots_ = 0;
  size_t frame_size_at_ = 0;
  std::vector<std::pair<uint64_t, uint8_t>> pool_;
  std::vector<Xbyak::Reg64> pointers_;
  std::vector<int8_t> pointer_of_;  // of a row; -1: only in the frame
  std::vector<std::unique_ptr<RareCall>> rare_;
  std::vector<std::unique_ptr<Vector>> vectors_;
  Xbyak::Label pool_label_, rare_label_;
};

}  // namespace mx::loop::jit
