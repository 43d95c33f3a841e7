// Emission: a fused unit as loop IR. Complex numbers become pairs of real values here and nowhere else.
#pragma once
#include "backends/loop/ir.hpp"
#include "lower/fuse.hpp"

namespace mx::lower {

// A unit's code, and what its operands and scalars stand for.
struct Emitted {
  loop::Code code;
  std::vector<Edge> operands;     // loads first, then stores: the order of loop::Code::operands
  std::vector<int64_t> offsets;   // per operand, in bytes: that of the imaginary part of a reduced complex number
  std::vector<uint32_t> readers;  // per load: a node that reads it
  uint32_t n_loads = 0;
  std::vector<uint64_t> scalars;  // bits of an element, per scalar of the code
};

// `unit` is a loop.
Emitted emit(const Graph &graph, const Unit &unit);

// A real loop value, or a pair of them.
struct LoopValue {
  uint16_t re = 0, im = 0;
  bool complex = false;
};

// Appends instructions. Values that were made once are found again.
class Emitter {
 public:
  explicit Emitter(Emitted &out) noexcept : out_(out) {}
  uint16_t append(loop::Ins ins);
  uint16_t unary(loop::Op op, DType type, uint16_t a) { return append({op, type, 0, 0, a, 0, 0}); }
  uint16_t binary(loop::Op op, DType type, uint16_t a, uint16_t b) { return append({op, type, 0, 0, a, b, 0}); }
  uint16_t select(DType type, uint16_t condition, uint16_t a, uint16_t b) {
    return append({loop::Op::select, type, 0, 0, condition, a, b});
  }
  uint16_t cast(DType to, uint16_t a) { return type(a) == to ? a : unary(loop::Op::cast, to, a); }
  uint16_t scalar_bits(DType type, uint64_t bits);
  uint16_t scalar(DType type, double value);
  LoopValue load(Edge edge, DType type);
  DType type(uint16_t value) const noexcept { return out_.code.ins[value].type; }
  void set_reader(uint32_t node) noexcept { reader_ = node; }  // of what is loaded from now on

 private:
  uint32_t reader_ = 0;
  Emitted &out_;
};

// Elementwise ops on real and on complex values (emit_real.cpp, emit_complex.cpp). `type` is the dtype of the result.
uint16_t emit_real(Emitter &e, OpCode op, DType type, std::span<const uint16_t> in);
LoopValue emit_complex(Emitter &e, OpCode op, DType type, std::span<const LoopValue> in);
uint16_t emit_to_fp8(Emitter &e, uint16_t x);
uint16_t emit_from_fp8(Emitter &e, DType type, uint16_t x);

}  // namespace mx::lower
