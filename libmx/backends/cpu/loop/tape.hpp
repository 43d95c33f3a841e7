// The tape: the form in which a loop kernel is executed, and the table of micro-ops that each instruction set level
// exports. Shared by the compiler, the driver and the per-level sources, so plain types only: inline code or templates
// here would be merged by the linker into one level's copy.
//
// A tape is threaded code. Each step works on one block, eight vectors that stay in registers (the accumulator), and
// tail-calls the next step; the last one returns to the level's loop over blocks. A tape has 32-bit or 64-bit lanes.
// In 64-bit lanes a value of at most 32 bits sits in the low half and the high half is junk, so that the 32-bit
// micro-ops serve both widths. 8- and 16-bit integers are held extended in 32-bit lanes, bool as 0 or 1, float16 and
// bfloat16 as float32.
#pragma once
#include <cstdint>

#include "backends/loop/op.hpp"

namespace mx::loop {

enum Kind : uint8_t {
  kind_f32,
  kind_i32,
  kind_u32,
  kind_f64,
  kind_i64,
  kind_u64,
  n_kinds
};  // how a lane is computed with
enum Storage : uint8_t {
  in_u8,
  in_i8,
  in_u16,
  in_i16,
  in_b32,
  in_b64,
  in_f16,
  in_bf16,
  n_storages
};  // how memory holds it

// Where the operands of a binary micro-op are: a in the accumulator (A) or in memory (M), b likewise or a scalar (S).
enum Form : uint8_t { form_am, form_ma, form_as, form_sa, n_forms = 8 };
// Where the operands of select are: the one in the accumulator; of fma: in (a * p + q) or (p * q + a).
enum SelectForm : uint8_t { select_condition, select_first, select_second };
// reduce_range is a tape of its own: it combines the dense elements at p, q_mask bytes of whole blocks, into the
// accumulators at q.
enum ReduceForm : uint8_t { reduce_combine, reduce_fold, reduce_fold_wide, reduce_range };
enum NextafterForm : uint8_t { nextafter_f16 = 2, nextafter_bf16 = 4 };  // and the swapped ones after each
enum FmaForm : uint8_t { fma_product, fma_addend };
enum ScaledForm : uint8_t { scaled_add, scaled_subtract, scaled_subtract_from, scaled_multiply };

// Micro-ops that are no instruction of the IR; they follow the instructions in the numbering.
enum Micro : uint8_t {
  micro_get = static_cast<uint8_t>(Op::n_ops),  // form_am from memory, form_as a scalar; kind gives the lane width
  micro_put,                                    // to memory, lane-sized
  micro_put_stream,                             // the same past the caches; aligned to a vector
  micro_load,                                   // from memory of storage `form`
  micro_store,                                  // to memory of storage `form`
  micro_normalise,   // to the range of storage `form`: wrap a small integer, round a float32 to float16 or bfloat16
  micro_index,       // the lane's position in the run times (p_mask != 0), plus the scalar
  micro_to_bool,     // x != 0
  micro_to_f32_odd,  // float64 to float32 rounded to odd, so that a second rounding to float16 or bfloat16 is exact
  micro_scaled,      // float32: the accumulator and a product of memory and the scalar, by ScaledForm
  micro_end,
  n_micros
};

struct Step;
using StepFn = void (*)();  // really void (*)(const Step *, int64_t offset, V, V, V, V, V, V, V, V)

// An operand in memory is at p + (offset & p_mask), for narrower storage scaled; offset counts lane bytes since the
// start of the run. A slot has mask 0. `scratch` is one block of memory for micro-ops that work lane by lane.
struct Step {
  StepFn fn;
  const char *p;
  int64_t p_mask;
  const char *q;
  int64_t q_mask;
  uint64_t s, t;  // scalars: the first and the second immediate; a 32-bit one in the low half
  char *scratch;
};

// One micro-op of a level. For cast, `kind` is the source's kind and `form` the target's.
struct Entry {
  uint8_t micro, kind, form;
  StepFn fn;
};

// Simple float32 steps that can be fused in pairs: the first takes p and s, the second q and t. Columns and rows are
// the same list; get appears as a first step only.
enum Simple : uint8_t {
  simple_add_m,
  simple_add_s,
  simple_sub_m,
  simple_sub_s,
  simple_rsub_m,
  simple_rsub_s,
  simple_mul_m,
  simple_mul_s,
  simple_max_s,
  simple_min_s,
  simple_get_m,
  n_simple,
  n_second = simple_get_m
};

// What a level does lane by lane for the JIT, on a vector of each: y = f(a, b) in the rare lanes, y elsewhere.
enum Rare : uint8_t { rare_sin, rare_cos, rare_exp, rare_sigmoid, rare_power, rare_to_int, n_rares };
using LanesFn = void (*)(void *y, const void *a, const void *b);

struct Part {
  const Entry *entries;
  uint32_t n;
};

struct Level {
  const char *name;
  uint32_t vector_bytes;
  // Runs the tape for offsets begin, begin + block, ... below end.
  void (*run)(const Step *tape, int64_t begin, int64_t end);
  // Copies n elements of 1 << log2_size bytes from a strided place to a dense one, and the reverse.
  void (*pack[4])(char *dense, const char *strided, int64_t stride, int64_t n);
  void (*unpack[4])(char *strided, const char *dense, int64_t stride, int64_t n);
  // Element (r, i) at strided + r elements + i * stride goes to element i of row r, whose start is at dense + r *
  // pitch.
  void (*transpose[4])(char *dense, int64_t pitch, const char *strided, int64_t stride, int64_t rows, int64_t n);
  void (*fence)();                  // orders streamed stores
  const StepFn (*pairs)[n_second];  // [n_simple][n_second]
  const LanesFn *rare;              // [n_rares]
  const Part *const *parts;
  uint32_t n_parts;
};

}  // namespace mx::loop
