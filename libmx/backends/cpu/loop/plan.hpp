// The iteration space of a kernel, brought into the form that the executor walks: dimensions of size 1 dropped,
// neighbours merged, and the rest divided into outer, middle and inner ones. The inner ones are walked as one range, in
// blocks; the middle ones are reduced one step at a time; the outer ones are the rest.
#pragma once
#include "backends/cpu/loop/kernel.hpp"

namespace mx::loop {

// How a block reaches the memory of a row over an inner range.
enum class Access : uint8_t {
  direct,    // dense: the tape works on the memory itself
  constant,  // one element for the whole range, copied once into a block
  staged     // anything else: packed into or unpacked from dense staging memory
};

// A row of the stride matrix: a stream, an index (whose "address" is the index itself) or the output of a reduction.
struct Row {
  enum What : uint8_t { input, output, index, result } what;
  uint8_t log2_size = 0;
  uint8_t offset = 0;    // of the part of a complex element
  uint16_t operand = 0;  // whose data it is
  Access access = Access::staged;
  bool is_tiled = false;      // staged many rows at a time, transposed
  bool may_stream = false;    // stores go past the caches if the data is aligned and nobody reads it
  int64_t low = 0, high = 0;  // the bytes between which its elements lie, from the first one's address
  int64_t staging = 0;        // where its staging memory is in a worker's buffer
};

struct Plan {
  const Kernel &kernel;
  SmallVector<Row, 8> rows;  // the streams, then the indices, then the results of the reductions
  SmallVector<int64_t, 6> sizes;
  SmallVector<int64_t, 24> strides;                 // [row][dimension]
  uint32_t n_outer = 0, n_middle = 0, n_inner = 0;  // how many dimensions
  int64_t outer = 1, middle = 1, inner = 1;         // how many elements
  bool any_staged = false;
  bool may_stream = false;                  // some row may
  bool rows_first = false;                  // short segments of neighbouring rows go together: see prefers_rows
  bool is_far = false;                      // reads more than a second level cache holds
  bool is_large = false;                    // reads more than the caches hold
  SmallVector<jit::Meeting, 8> meetings{};  // of the rows with machine code, if none is streamed
  double vm_ns = 0;                         // what all of it would take the VM
  // In a worker's buffer: the tape, the slots, scratch memory, the staging memory of each row.
  int64_t slots = 0, scratch = 0, buffer_bytes = 0;

  uint32_t n_dims() const noexcept { return static_cast<uint32_t>(sizes.size()); }
  int64_t stride(uint32_t row, uint32_t dim) const noexcept { return strides[row * n_dims() + dim]; }
  uint32_t first_inner() const noexcept { return n_outer + n_middle; }
};

// Blocks that are staged together; also the leaf of a pairwise reduction.
constexpr int64_t chunk_blocks = 16;
// What is staged together of a transposed operand.
constexpr int64_t tile_rows = 16, tile_blocks = 4;

// Which dimensions become the inner range of a reduction: the reduced ones, or kept ones with the reduced ones in the
// middle. Depends on the shape only.
enum class Reduce : uint8_t { none, rows, columns };

// With `stage_outputs`, stores wait in staging memory until all of a chunk is read. `elements` says how many there are
// in all, if the geometry is that of a part.
Plan make_plan(const Kernel &kernel, const Geometry &geometry, Reduce mode, bool stage_outputs, int64_t elements);
Reduce reduce_mode(const Kernel &kernel, const Geometry &geometry) noexcept;

// What a small run takes at most of the stack.
constexpr int64_t small_buffer_bytes = 12 * 1024;

class Prepared final : public PreparedLoop {
 public:
  Prepared(KernelRef k, const Geometry &geometry, const Geometry &whole);
  KernelRef kernel;
  Reduce mode;
  Plan plan;
  std::unique_ptr<const Plan> staged;  // for outputs on top of inputs, if the order of steps makes that matter
  bool is_small;                       // few dense blocks and nothing else
};

// A plan and what differs between runs of it.
struct Call {
  Call(const Plan &p, std::span<char *const> data, std::span<const uint64_t> scalars);
  const Plan &plan;
  SmallVector<int64_t, 8> bases;     // address, or index, of each row's first element
  SmallVector<uint64_t, 8> scalars;  // as lanes hold them
  SmallVector<bool, 8> streamed;     // rows whose stores go past the caches; empty if none does
  jit::Function function = nullptr;  // does the run in place of the tape, if there is one
};

// Notes in the plan what the choice of an executor depends on.
void prepare_choice(Plan &plan);
// The machine code for a run with these scalars, as lanes hold them, and streamed rows; null if the VM is to do it.
jit::Function function_for(const Plan &plan, std::span<const uint64_t> scalars, std::span<const bool> streamed);

bool outputs_overlap_inputs(const Call &call) noexcept;

void run_small(const Plan &plan, std::span<char *const> data, std::span<const uint64_t> scalars);
void run_elementwise(const Call &call);
void run_rows(const Call &call);
void run_columns(const Call &call);

}  // namespace mx::loop
