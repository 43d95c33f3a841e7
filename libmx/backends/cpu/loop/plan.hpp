// The iteration space of one run, brought into the form that the executor walks: dimensions of size 1 dropped,
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
  Access access = Access::staged;
  bool is_streamed = false;  // stores go past the caches
  int64_t base = 0;          // address, or index, of the first element
  int64_t staging = 0;       // where its staging memory is in a worker's buffer
};

struct Plan {
  const Kernel &kernel;
  const Args &args;
  SmallVector<Row, 8> rows;  // the streams, then the indices, then the results of the reductions
  SmallVector<int64_t, 6> sizes;
  SmallVector<int64_t, 24> strides;                 // [row][dimension]
  uint32_t n_outer = 0, n_middle = 0, n_inner = 0;  // how many dimensions
  int64_t outer = 1, middle = 1, inner = 1;         // how many elements
  bool any_staged = false;
  bool is_large = false;  // reads more than the caches hold
  int64_t buffer_bytes = 0;

  uint32_t n_dims() const noexcept { return static_cast<uint32_t>(sizes.size()); }
  int64_t stride(uint32_t row, uint32_t dim) const noexcept { return strides[row * n_dims() + dim]; }
  uint32_t first_inner() const noexcept { return n_outer + n_middle; }
};

// Blocks that are staged together; also the leaf of a pairwise reduction.
constexpr int64_t chunk_blocks = 16;

// Which dimensions become the inner range of a reduction: the reduced ones, or kept ones with the reduced ones in the
// middle. Depends on the shape only.
enum class Reduce : uint8_t { none, rows, columns };

Plan make_plan(const Kernel &kernel, const Args &args);
Reduce reduce_mode(const Kernel &kernel, const Args &args) noexcept;

void run_elementwise(const Plan &plan);
void run_rows(const Plan &plan);
void run_columns(const Plan &plan);

}  // namespace mx::loop
