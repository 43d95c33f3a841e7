// Between the arrays of a linalg kernel, which have any strides and element type, and the column-major doubles that the
// factorisations work on. Also the loop over a batch.
#pragma once
#include <complex>
#include <vector>

#include "backends/cpu/kernel.hpp"
#include "runtime/pool.hpp"

namespace mx::cpu {

using Complex = std::complex<double>;

// The last two dimensions of one element of a batch. Vectors are matrices of one column.
struct MatrixRef {
  DType dtype;
  char *data;
  int64_t rows, columns, row, column;  // sizes and byte strides
};

// The matrix `index` of a tensor whose last `n_dims` dimensions (1 or 2) are the matrix.
MatrixRef matrix_at(const Tensor &x, int64_t index, size_t n_dims = 2);
inline MatrixRef transposed(MatrixRef x) {
  std::swap(x.rows, x.columns);
  std::swap(x.row, x.column);
  return x;
}

// All elements, column by column, widened.
std::vector<double> read_real(const MatrixRef &x);
std::vector<Complex> read_complex(const MatrixRef &x);
// Rounds to the dtype. `from` has `ld` rows per column, at least x.rows.
void write(const MatrixRef &x, const double *from, int64_t ld);
void write(const MatrixRef &x, const Complex *from, int64_t ld);

inline double *as_doubles(Complex *z) { return reinterpret_cast<double *>(z); }

// Calls body(i) for every matrix of a batch, spread over the pool; `work` is about the number of multiplications for
// one.
template <class F>
void for_each_matrix(const Tensor &x, double work, F &&body) {
  int64_t count = 1;
  for (size_t d = 0; d + 2 < x.shape.size(); d++) count *= x.shape[d];
  const int64_t grain = work >= 1e5 ? 1 : static_cast<int64_t>(1e5 / (work + 100));
  parallel_for(count, std::max<int64_t>(grain, 1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      check_cancel();
      body(i);
    }
  });
}

}  // namespace mx::cpu
