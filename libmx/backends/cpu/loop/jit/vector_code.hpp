// What the JIT assembles: straight-line SSA code of vector instructions, near to those of the machine. A value is the
// index of the instruction that makes it and fills one register. In a kernel with 64-bit lanes a value of at most 32
// bits sits in the low half of its lane and the high half is junk, as in the VM (tape.hpp).
#pragma once
#include <cstdint>
#include <exception>
#include <vector>

#include "backends/cpu/loop/kernel.hpp"

namespace mx::loop::jit {

using Id = uint16_t;
constexpr Id none = 0xffff;

enum class V : uint8_t {
  // Sources; `row` is a stream, index or result of plan.hpp, or a scalar.
  constant,
  scalar,
  load,
  index,
  accumulated,
  // Sinks, of value a.
  store,
  accumulate,
  // Floating; a * b + c and c - a * b are rounded once; smaller and larger give b if either is NaN.
  add,
  subtract,
  multiply,
  divide,
  smaller,
  larger,
  square_root,
  round,
  madd,
  nmadd,
  exponent,
  mantissa,   // of a, in [1, 2)
  log_fix,    // a, but for the special values of b what ::math::log_fixes says
  with_sign,  // a with the sign of b
  scale,      // a * 2^b
  // Integer.
  int_add,
  int_subtract,
  int_multiply,
  int_smaller,
  int_larger,
  uint_smaller,
  uint_larger,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  shift_right_signed,  // by `imm`
  shift_left_by,
  shift_right_by,
  shift_right_signed_by,  // by b
  // Masks: all or no bits of a lane.
  compare,  // floats by the predicate `imm`
  int_equal,
  int_greater,
  uint_greater,
  choose,     // a ? b : c
  choose_if,  // a compared to b by `imm` ? c : d
  // Conversions. Those between lanes of different widths take and give the low halves of 64-bit lanes.
  i32_to_f32,
  u32_to_f32,
  f32_to_i32,
  round_to_half,
  f32_to_f64,
  i32_to_f64,
  u32_to_f64,
  f64_to_f32,
  i64_to_f32,
  f32_to_i64,
  f64_to_i64,
  i64_to_f64,
  i32_to_i64,
  low_doubled,  // the low half of each 64-bit lane in both halves
  widen_low,
  widen_high,  // half of the float32 lanes as float64
  narrow,      // and back, from two values
  rare,        // a; but if a lane of d compares to e by `imm`, what the level's function `row` makes of (a, b, c)
};

constexpr size_t max_vector_instructions = 8192;

// Predicates of compare, as the machine numbers them.
enum Predicate : uint8_t {
  is_equal = 0,
  is_less = 1,
  is_less_equal = 2,
  is_unordered = 3,
  is_not_equal = 4,
  is_not_less = 5,
  is_not_less_equal = 6,
  is_not_at_least = 25
};

struct Instruction {
  V op;
  uint8_t bits = 32;  // of a lane
  uint8_t imm = 0;
  Storage storage = in_b32;  // of memory, for load and store
  uint16_t row = 0;
  Id a = none, b = none, c = none, d = none, e = none;
  bool is_uniform = false;  // the same in every iteration
  uint32_t uses = 0;
  uint64_t value = 0;  // of a constant
};

// Thrown where only the VM can do a kernel.
struct Unsupported : std::exception {};

struct VectorCode {
  bool is_wide = false;  // 64-bit lanes
  bool has_512 = false;  // x86-64-v4, else v3
  std::vector<Instruction> ins;
  std::vector<Meeting> rows;
  uint32_t n_results = 0, n_scalars = 0;
  const Level *level = nullptr;

  int vector_bytes() const noexcept { return has_512 ? 64 : 32; }
  int lane_bytes() const noexcept { return is_wide ? 8 : 4; }
  int lanes() const noexcept { return vector_bytes() / lane_bytes(); }
  uint32_t n_rows() const noexcept { return static_cast<uint32_t>(rows.size()) + n_results; }
};

// Throws Unsupported.
VectorCode lower(const Kernel &kernel, std::vector<Meeting> rows);

}  // namespace mx::loop::jit
