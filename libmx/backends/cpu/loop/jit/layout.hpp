// What is decided before vector code is assembled: what is done once and what in each iteration, how many vectors an
// iteration does, which values stay in registers throughout, which loads become operands in memory.
#pragma once
#include <span>

#include "backends/cpu/loop/jit/vector_code.hpp"

namespace mx::loop::jit {

constexpr uint32_t never = UINT32_MAX;
constexpr int n_temps = 2;  // registers that hold operands for one instruction

struct Layout {
  explicit Layout(const VectorCode &code);

  std::vector<Id> before, body;  // without what nobody uses
  std::vector<bool> is_folded;   // loads that are read where they are used
  std::vector<int8_t> pinned;    // the register of a uniform value, -1 if it has none
  int unroll = 1;
  int n_registers, n_free;  // of the machine; those that change hands within an iteration, the first ones
  bool calls = false;       // lanes may be left to the level's functions

  // The first use of a value after a position in the body.
  uint32_t next_use(Id id, uint32_t after) const noexcept;

 private:
  void note_uses(const VectorCode &code);
  void fold_loads(const VectorCode &code);
  uint32_t most_alive(const VectorCode &code) const;
  void pin();

  std::vector<uint32_t> first_use_, positions_;  // [first_use_[id], first_use_[id + 1])
};

// The operands of an instruction, `none` after the last.
inline std::span<const Id, 5> operands(const Instruction &ins) { return std::span<const Id, 5>(&ins.a, 5); }
bool is_commutative(V op) noexcept;

}  // namespace mx::loop::jit
