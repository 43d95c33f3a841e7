// What compile() makes and run() executes: a tape whose operands have no addresses yet, and beside it the machine code
// that the JIT makes of the same Code once that pays. Internal to the loop executors.
#pragma once
#include <memory>
#include <vector>

#include "backends/cpu/loop/jit/versions.hpp"
#include "backends/cpu/loop/loop.hpp"
#include "backends/cpu/loop/tape.hpp"

namespace mx::loop {

// A level and its micro-ops, found by (micro, kind, form); null where there is none.
struct MicroOps {
  const Level *level;
  StepFn steps[n_micros][n_kinds][n_forms];
  StepFn find(uint8_t micro, uint8_t kind, uint8_t form) const noexcept { return steps[micro][kind][form]; }
  StepFn find(Op op, uint8_t kind, uint8_t form) const noexcept { return steps[static_cast<uint8_t>(op)][kind][form]; }
};

// Those of the best level that this CPU has, capped by MX_ISA; and those of each level that it has, for the tests.
const MicroOps &micro_ops() noexcept;
std::vector<const MicroOps *> all_micro_ops();

// How values and memory of a dtype are held.
Kind kind_of(DType type) noexcept;
Storage storage_of(DType type) noexcept;
int storage_log2(Storage storage) noexcept;
inline bool is_wide(DType type) noexcept { return kind_of(type) >= kind_f64; }
// An element of `type`, given by its bits, as a lane holds it.
uint64_t lane_bits(DType type, uint64_t element) noexcept;

// Throws INTERNAL unless the code is well formed: operands defined before use, types as ir.hpp says.
void check(const Code &code);
int arity(Op op) noexcept;
inline bool is_reduction(Op op) noexcept { return op >= Op::reduce_sum && op <= Op::reduce_any; }

// The used instructions in the order of execution.
std::vector<uint16_t> schedule(const Code &code);
// Whether float16 and bfloat16 results of the op need no rounding, and small integer results no wrapping.
bool is_closed(Op op, DType type) noexcept;
inline bool is_narrow(DType type) noexcept { return type != DType::bool_ && itemsize(type) < 4; }

// The neutral element of a reduction of `type`, as a lane holds it.
uint64_t identity(Op op, DType type) noexcept;

// An operand of a step that a run fills in, by its number among the slots, rows (plan.hpp) or accumulators.
struct Patch {
  uint16_t step;
  bool is_q;
  uint16_t number;
};
// A scalar that a run fills in: the first or the second immediate of the step.
struct ScalarPatch {
  uint16_t step;
  bool is_t;
  uint16_t scalar;
};

// One way in which an operand is read or written.
struct Stream {
  uint16_t operand;
  uint8_t log2_size, offset;  // bytes of an element, and of the part of a complex one
  bool is_output;
  uint32_t first, last;  // the steps that use it
};
struct ScalarUse {
  uint16_t arg;
  DType type;
};
// A slot that holds the scalar in every lane.
struct Constant {
  uint16_t slot, scalar;
};
struct Reduction {
  Op op;
  DType type;
  uint16_t operand;
};

class Kernel final : public LoopKernel {
 public:
  Code code;
  const MicroOps *micro_ops;
  bool wide = false;
  uint16_t n_slots = 0, n_operands = 0, n_scalars = 0;
  std::vector<Step> tape;  // everything but the operands in memory and the scalars
  std::vector<Patch> slots, rows, accumulators;
  std::vector<ScalarPatch> immediates;
  std::vector<Stream> streams;
  std::vector<uint16_t> indices;  // the dimensions of the iotas
  std::vector<ScalarUse> scalars;
  std::vector<Constant> constants;
  std::vector<Reduction> reductions;
  // If all that the tape does is to reduce stream 0 into reduction 0: the step that does a whole range of it.
  StepFn range = nullptr;
  bool reads_after_writes = false;  // an operand is still read after a store, so outputs on top of inputs need care
  float block_ns = 0;               // estimated time of one block
  std::vector<uint16_t> bounds;     // the float scalars that values are compared to by minimum or maximum
  jit::Versions jitted;

  int64_t lane_bytes() const noexcept { return wide ? 8 : 4; }
  int64_t block_bytes() const noexcept { return int64_t{8} * micro_ops->level->vector_bytes; }
  int64_t block_elements() const noexcept { return block_bytes() / lane_bytes(); }
};

// Compiles for given micro-ops, without the cache.
KernelRef compile_for(const MicroOps &micro_ops, const Code &code);

}  // namespace mx::loop
