// The loop IR: what a fused kernel computes for every element of an iteration space. Straight-line SSA code; a value is
// the index of the instruction that makes it. Strides, sizes and scalars are arguments of a run, not part of the code,
// so one kernel serves many shapes and constants.
#pragma once
#include <cstdint>
#include <vector>

#include "backends/loop/op.hpp"
#include "base/dtype.hpp"

namespace mx::loop {

struct Ins {
  Op op;
  DType type;        // of the result; for store and reduce, of the operand
  uint8_t part = 0;  // load/store of a complex operand: 0 real, 1 imaginary
  uint16_t arg = 0;
  uint16_t a = 0, b = 0, c = 0;
  bool operator==(const Ins &) const noexcept = default;
};

// float16 and bfloat16 values are computed in float32 and rounded (to nearest even) after every instruction, exactly as
// if stored; complex numbers are pairs of float32 or float64 values. bool values are 0 or 1.
struct Code {
  std::vector<Ins> ins;
  std::vector<DType> operands;  // the dtypes of what is loaded and stored, in the order of `arg`
  uint16_t n_scalars = 0;
  bool operator==(const Code &) const noexcept = default;
};

constexpr size_t max_instructions = 1024;
constexpr size_t max_operands = 128;

}  // namespace mx::loop
