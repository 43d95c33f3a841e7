// One matrix product out of the kernels of matmul_level.hpp: which path, which tiles, on how many threads.
#pragma once
#include <memory>

#include "backends/cpu/matmul_level.hpp"
#include "runtime/memory.hpp"

namespace mx::cpu {

// Memory for one call: small amounts from the heap, larger ones from the pool, which keeps them for the next call.
class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(int64_t bytes);
  char *get() const noexcept { return pooled_ ? reinterpret_cast<char *>(pooled_->data()) : owned_.get(); }

 private:
  struct Free {
    void operator()(char *p) const noexcept;
  };
  std::unique_ptr<char, Free> owned_;
  Ref<Buffer> pooled_;
};

// out (m, n) = alpha a b + beta c, rounded once. `out` is row-major.
struct Product {
  const MatmulKernels *kernels;
  int64_t m, n, k;
  int64_t itemsize;  // of a, b, c and out
  MatrixView a, b;
  char *out;
  MatrixView c;  // data is nullptr without c
  double alpha, beta;
  // c's rows when they come from several matrices of a batch: row i lies at c.data + c_row(c_rows, i).
  const struct RowOffsets *c_rows;
  bool vector;  // to be added up as matrix times vector: m or n is 1
};

// Batch dimensions that were folded into the rows of a product, outermost first, the matrix's own rows last.
struct RowOffsets {
  static constexpr int max_dims = 33;
  int n_dims;
  int64_t dims[max_dims], strides[max_dims];
  int64_t operator()(int64_t row) const noexcept;
};

// Multiplications that one thread does before it looks for cancel: about 1 ms.
constexpr int64_t chunk_work = int64_t{1} << 24;

// Whole on the calling thread: for products of at most small_work multiplications, which are spread by batch instead.
// `scratch` is of small_scratch(p) bytes and aligned to 64.
constexpr int64_t small_work = 96 * 96 * 96;
int64_t small_scratch(const Product &p);
void multiply_small(const Product &p, char *scratch);
// Split over the pool.
void multiply_large(const Product &p);

}  // namespace mx::cpu
