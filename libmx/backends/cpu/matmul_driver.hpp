// One matrix product out of the kernels of matmul_level.hpp: which path, which tiles, on how many threads.
#pragma once
#include <memory>

#include "backends/cpu/matmul_level.hpp"
#include "backends/epilogue.hpp"
#include "base/dtype.hpp"
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

struct Product;

// A right operand that is no matrix in memory: makes the packed form of parts of it.
class PanelSource {
 public:
  // Columns [column, column + columns) of [k, k + depth), as p.kernels->pack_b would. Any thread.
  virtual void pack(const Product &p, void *to, int64_t k, int64_t depth, int64_t column, int64_t columns) const = 0;

 protected:
  ~PanelSource() = default;
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
  bool vector;                            // to be added up as matrix times vector: m or n is 1
  const char *packed_b;                   // b as pack_whole packs it, or nullptr
  const Epilogue *after;                  // or nullptr
  int64_t first_row;                      // of `out` among the rows that `after` counts
  const PanelSource *b_source = nullptr;  // instead of b; for multiply_grouped only
};

// Batch dimensions that were folded into the rows of a product, outermost first, the matrix's own rows last.
struct RowOffsets {
  static constexpr int max_dims = 33;
  int n_dims;
  int64_t dims[max_dims], strides[max_dims];
  int64_t operator()(int64_t row) const noexcept;
};

// The kernels for a product of so many rows, or nullptr for a dtype without; `rows` counts those of the batch that
// could become rows of a, whether its strides allow it or not: the choice shows in the bits.
const MatmulKernels *matmul_kernels(DType dtype, int64_t rows, int64_t n, int64_t k);

// Whether the sums can be added up in the output itself.
inline bool in_place(const Product &p) noexcept { return !p.kernels->rounds; }
// Whether the elements are the rounded sums.
inline bool plain(const Product &p) noexcept { return p.alpha == 1 && !p.c.data; }
// Turns sums into the elements of a block of the output, and does to them what comes after the product. `sums` points
// at element (i, j); between rows and elements lie `row_step` and `step` of them.
void complete(const Product &p, const char *sums, int64_t row_step, int64_t step, int64_t i, int64_t j, int64_t rows,
              int64_t columns);

constexpr int64_t ceil_div(int64_t a, int64_t b) noexcept { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) noexcept { return ceil_div(a, b) * b; }
// Blocks of k of equal length, so that the last one is not a stub.
int64_t k_block(const MatmulKernels &kernels, int64_t k) noexcept;

// Whether the micro-kernel can round its sums to elements of the output: then they need no memory.
inline bool rounds_at_once(const Product &p) noexcept {
  return p.kernels->multiply_rounded && plain(p) && p.k > 0 && p.k <= k_block(*p.kernels, p.k);
}

inline MatrixView part(const MatrixView &x, int64_t row, int64_t column) noexcept {
  return {x.data + row * x.row + column * x.col, x.row, x.col};
}

// Multiplications that one thread does before it looks for cancel: about 1 ms.
constexpr int64_t chunk_work = int64_t{1} << 24;

// Whole on the calling thread: for products of at most small_work multiplications, which are spread by batch instead;
// half as many where an element of the sums has 8 bytes. `scratch` is of small_scratch(p) bytes and aligned to 64.
constexpr int64_t small_work = 96 * 96 * 96;
int64_t small_scratch(const Product &p);
// `next` is what this thread multiplies after that, or nullptr.
void multiply_small(const Product &p, char *scratch, const Product *next = nullptr);
// Split over the pool.
void multiply_large(const Product &p);
bool is_gemv(const Product &p) noexcept;

// Packed panels of one large operand, split over the pool (matmul_groups.cpp).
void multiply_grouped(const Product &p);
// All of b, for products that come again with the same b.
int64_t packed_bytes(const Product &p) noexcept;
void pack_whole(const Product &p, char *to);

}  // namespace mx::cpu
