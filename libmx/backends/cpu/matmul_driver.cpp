// The paths of a matrix product: small (nothing packed that can be read in place) and matrix times vector here, grouped
// in matmul_groups.cpp. Relies on the kernels' promise that the path and the tiles do not show in the result.
#include "backends/cpu/matmul_driver.hpp"

#include <algorithm>
#include <new>

#include "runtime/pool.hpp"

namespace mx::cpu {
namespace {

// ---- matrix times vector

// out[i] = row i of `matrix` times x, for all elements of the output.
struct Gemv {
  MatrixView matrix;
  const char *x;
  int64_t step, rows, c_step;
};

Gemv as_gemv(const Product &p) {
  if (p.m == 1) return {{p.b.data, p.b.col, p.b.row}, p.a.data, p.a.col, p.n, p.c.col};
  return {p.a, p.b.data, p.b.row, p.m, p.c.row};
}

// Rows [begin, end).
void gemv_range(const Product &p, const Gemv &g, const char *x, int64_t begin, int64_t end) {
  constexpr int64_t stretch = int64_t{1} << 20;  // of k: how far to go before a look at cancel
  const MatmulKernels &kernels = *p.kernels;
  const int64_t rows = end - begin;
  const Scratch buffer = in_place(p) ? Scratch() : Scratch(rows * kernels.item);
  char *sums = in_place(p) ? p.out + begin * kernels.item : buffer.get();
  for (int64_t k = 0; k < p.k; k += stretch) {
    if (k > 0) check_cancel();
    kernels.gemv(sums, {g.matrix.data + begin * g.matrix.row + k * g.matrix.col, g.matrix.row, g.matrix.col},
                 x + k * kernels.item, rows, std::min(stretch, p.k - k), k > 0);
  }
  if (p.m == 1 && p.n > 1) return complete(p, sums, 0, 1, 0, begin, 1, rows);
  if (p.c_rows) return complete(p, sums, 1, 1, begin, 0, rows, 1);
  if (!in_place(p) || !plain(p)) {
    const char *c = p.c.data ? p.c.data + begin * g.c_step : nullptr;
    kernels.finish(p.out + begin * p.itemsize, sums, 1, rows, p.alpha, p.beta, c, g.c_step);
  }
  if (p.after) p.after->run(p.first_row + begin, 0, rows, 1);
}

void multiply_vector(const Product &p, bool split) {
  const MatmulKernels &kernels = *p.kernels;
  const Gemv g = as_gemv(p);
  const bool as_it_lies = !kernels.rounds && (g.step == kernels.item || p.k == 1) &&
                          reinterpret_cast<uintptr_t>(g.x) % static_cast<uintptr_t>(kernels.item) == 0;
  const Scratch copy = as_it_lies ? Scratch() : Scratch(p.k * kernels.item);
  if (!as_it_lies) kernels.widen(copy.get(), g.x, g.step, p.k);
  const char *x = as_it_lies ? g.x : copy.get();
  if (!split) return gemv_range(p, g, x, 0, g.rows);
  // Where columns lie side by side, long pieces of them are read faster.
  const bool by_columns = g.matrix.row == p.itemsize && g.matrix.col != p.itemsize;
  const int64_t each = by_columns ? round_up(ceil_div(g.rows, 2 * std::max(1, num_threads())), 16) : 0;
  const int64_t grain = std::max(round_up(ceil_div(chunk_work / 64, p.k), 16), std::min<int64_t>(each, 2048));
  parallel_for(g.rows, grain, [&](int64_t begin, int64_t end) {
    const int64_t rows = std::max(round_up(ceil_div(chunk_work / 16, p.k), 16), std::min<int64_t>(each, 2048));
    for (int64_t i = begin; i < end; i += rows) {
      if (i > begin) check_cancel();
      gemv_range(p, g, x, i, std::min(i + rows, end));
    }
  });
}

}  // namespace

void complete(const Product &p, const char *sums, int64_t row_step, int64_t step, int64_t i, int64_t j, int64_t rows,
              int64_t columns) {
  const MatmulKernels &kernels = *p.kernels;
  if (!in_place(p) || !plain(p))
    for (int64_t at = i; at < i + rows; at++) {
      const char *c = p.c.data ? p.c.data + (p.c_rows ? (*p.c_rows)(at) : at * p.c.row) + j * p.c.col : nullptr;
      kernels.finish(p.out + (at * p.n + j) * p.itemsize, sums + (at - i) * row_step * kernels.item, step, columns,
                     p.alpha, p.beta, c, p.c.col);
    }
  if (p.after) p.after->run(p.first_row + i, j, rows, columns);
}

bool is_gemv(const Product &p) noexcept { return p.vector && p.kernels->gemv && p.k > 0; }

int64_t k_block(const MatmulKernels &kernels, int64_t k) noexcept {
  const int64_t most = kernels.max_k_block, unit = std::max<int64_t>(8, kernels.k_unit);
  return k <= most ? std::max<int64_t>(k, 1) : round_up(ceil_div(k, ceil_div(k, most)), unit);
}

int64_t RowOffsets::operator()(int64_t row) const noexcept {
  int64_t offset = 0;
  for (int d = n_dims - 1; d >= 0; d--) {
    offset += row % dims[d] * strides[d];
    row /= dims[d];
  }
  return offset;
}

Scratch::Scratch(int64_t bytes) {
  constexpr int64_t small = 32 << 10;
  if (bytes > small)
    pooled_ = allocate(static_cast<size_t>(bytes));
  else
    owned_.reset(static_cast<char *>(::operator new(static_cast<size_t>(bytes), std::align_val_t{64})));
}

void Scratch::Free::operator()(char *p) const noexcept { ::operator delete(p, std::align_val_t{64}); }

namespace {

int64_t packed_bytes(const Product &p, int64_t lanes, int64_t unit) noexcept {
  return round_up(round_up(lanes, unit) * round_up(p.k, p.kernels->k_unit) * p.kernels->packed_item, 64);
}

// For kernels that read packed panels only.
void multiply_packed(const Product &p, char *scratch) {
  const MatmulKernels &kernels = *p.kernels;
  char *const b = scratch + packed_bytes(p, p.m, kernels.mr);
  kernels.pack_a(scratch, p.a, p.m, p.k);
  kernels.pack_b(b, p.b, p.k, p.n);
  kernels.multiply_rounded(p.out, p.n, scratch, b, p.m, p.n, p.k);
  if (p.after) p.after->run(p.first_row, 0, p.m, p.n);
}

}  // namespace

// Panels and a strip of one block of k, then the sums; or all panels.
int64_t small_scratch(const Product &p) {
  const MatmulKernels &kernels = *p.kernels;
  if (is_gemv(p)) return 0;
  if (!kernels.small && rounds_at_once(p)) return packed_bytes(p, p.m, kernels.mr) + packed_bytes(p, p.n, kernels.nr);
  if (!kernels.small && p.k > 0) return 0;
  return round_up((round_up(p.m, kernels.mr) + kernels.nr) * k_block(kernels, p.k) * kernels.item, 64) +
         (in_place(p) ? 0 : p.m * p.n * kernels.item);
}

namespace {

// A dense matrix from its first byte to its last; nothing of any other.
Ahead::Piece piece(const MatrixView &x, int64_t rows, int64_t columns, int64_t item) {
  const bool dense = x.col == item && x.row == columns * item;
  return {x.data, dense ? x.data + rows * x.row : x.data};
}

}  // namespace

void multiply_small(const Product &p, char *scratch, const Product *next) {
  const MatmulKernels &kernels = *p.kernels;
  if (is_gemv(p)) return multiply_vector(p, false);
  if (!kernels.small && rounds_at_once(p)) return multiply_packed(p, scratch);
  if (!kernels.small && p.k > 0) return multiply_grouped(p);
  const int64_t block = k_block(kernels, p.k);
  Ahead ahead;
  if (next)
    ahead = {{piece(next->a, p.m, p.k, p.itemsize),
              piece(next->b, p.k, p.n, p.itemsize),
              {next->out, next->out + p.m * p.n * p.itemsize}},
             nullptr};
  char *sums = in_place(p) ? p.out : scratch + small_scratch(p) - p.m * p.n * kernels.item;
  for (int64_t k = 0; k < p.k; k += block)
    kernels.small(sums, p.n, part(p.a, 0, k), part(p.b, k, 0), p.m, p.n, std::min(block, p.k - k), k > 0, scratch,
                  next ? &ahead : nullptr);
  if (p.k == 0) std::fill_n(sums, p.m * p.n * kernels.item, char{0});
  complete(p, sums, p.n, 1, 0, 0, p.m, p.n);
}

void multiply_large(const Product &p) {
  if (is_gemv(p)) return multiply_vector(p, true);
  if (p.k == 0) return multiply_small(p, Scratch(small_scratch(p)).get());
  multiply_grouped(p);
}

}  // namespace mx::cpu
