// The paths of a matrix product: small (nothing packed that can be read in place), matrix times vector and
// blocked (Goto's loops over packed panels, which the threads share). Relies on the kernels' promise that the path and
// the tiles do not show in the result.
#include "backends/cpu/matmul_driver.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "runtime/memory.hpp"
#include "runtime/pool.hpp"

namespace mx::cpu {
namespace {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

// Blocks of equal length, so that the last one is not a stub.
int64_t k_block(int64_t k) {
  return k <= max_k_block ? std::max<int64_t>(k, 1) : round_up(ceil_div(k, ceil_div(k, max_k_block)), 8);
}

// Memory for one call: small amounts from the heap, larger ones from the pool, which keeps them for the next call.
class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(int64_t bytes) {
    constexpr int64_t small = 32 << 10;
    if (bytes > small)
      pooled_ = allocate(static_cast<size_t>(bytes));
    else
      owned_.reset(static_cast<char *>(::operator new(static_cast<size_t>(bytes), std::align_val_t{64})));
  }
  char *get() const noexcept { return pooled_ ? reinterpret_cast<char *>(pooled_->data()) : owned_.get(); }

 private:
  struct Free {
    void operator()(char *p) const noexcept { ::operator delete(p, std::align_val_t{64}); }
  };
  std::unique_ptr<char, Free> owned_;
  Ref<Buffer> pooled_;
};

// Whether the sums can be added up in the output itself.
bool in_place(const Product &p) { return !p.kernels->rounds; }
bool plain(const Product &p) { return p.alpha == 1 && !p.c.data; }

// Turns sums into elements of the output; `sums` points at element (i, j).
void finish(const Product &p, const char *sums, int64_t row_step, int64_t step, int64_t i, int64_t j, int64_t rows,
            int64_t columns) {
  const MatmulKernels &kernels = *p.kernels;
  for (int64_t r = 0; r < rows; r++) {
    const int64_t at = i + r;
    const char *c = p.c.data ? p.c.data + (p.c_rows ? (*p.c_rows)(at) : at * p.c.row) + j * p.c.col : nullptr;
    kernels.finish(p.out + (at * p.n + j) * p.itemsize, sums + r * row_step * kernels.item, step, columns, p.alpha,
                   p.beta, c, p.c.col);
  }
}

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
  if (in_place(p) && plain(p)) return;
  if (p.c_rows && p.n == 1) return finish(p, sums, 1, 1, begin, 0, rows, 1);
  const char *c = p.c.data ? p.c.data + begin * g.c_step : nullptr;
  kernels.finish(p.out + begin * p.itemsize, sums, 1, rows, p.alpha, p.beta, c, g.c_step);
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
  const int64_t grain = std::max<int64_t>(16, round_up(chunk_work / 64 / p.k, 256));
  parallel_for(g.rows, grain, [&](int64_t begin, int64_t end) {
    const int64_t rows = std::max<int64_t>(16, round_up(chunk_work / 16 / p.k, 16));
    for (int64_t i = begin; i < end; i += rows) {
      if (i > begin) check_cancel();
      gemv_range(p, g, x, i, std::min(i + rows, end));
    }
  });
}

bool is_gemv(const Product &p) { return p.vector && p.kernels->gemv && p.k > 0; }

// ---- blocked

struct Blocks {
  int64_t m, n;  // the size of a tile: multiples of the register tile
};

// Tiles of the result that threads take. They get smaller until there are enough of them, while each is still worth it.
Blocks choose_blocks(const Product &p, int64_t m, int64_t n, int64_t k) {
  const int64_t mr = p.kernels->mr, nr = p.kernels->nr;
  constexpr int64_t enough = 16, least_work = int64_t{1} << 20, rows = 240, columns = 512;
  Blocks b{round_up(ceil_div(m, ceil_div(m, rows)), mr), round_up(ceil_div(n, ceil_div(n, columns)), nr)};
  while (ceil_div(m, b.m) * ceil_div(n, b.n) < enough && b.m * b.n * k > 2 * least_work) {
    int64_t &larger = b.m >= b.n || b.n == nr ? b.m : b.n;
    const int64_t unit = &larger == &b.m ? mr : nr;
    if (larger == unit) break;
    larger = round_up(larger / 2, unit);
  }
  return b;
}

// One block of the output of at most max_rows x max_columns, all of k.
struct Block {
  const Product &p;
  int64_t row, column, m, n;  // the part of the output
  char *sums;                 // element (0, 0) of this part
  int64_t ld;
  char *a, *b;  // packed
  Blocks tile;
};

void pack_block(const Block &x, int64_t k, int64_t depth) {
  const Product &p = x.p;
  const MatmulKernels &kernels = *p.kernels;
  const int64_t panels = ceil_div(x.m, kernels.mr), strips = ceil_div(x.n, kernels.nr);
  const MatrixView a{p.a.data + x.row * p.a.row + k * p.a.col, p.a.row, p.a.col};
  const MatrixView b{p.b.data + x.column * p.b.col + k * p.b.row, p.b.row, p.b.col};
  const auto pack = [&](int64_t begin, int64_t end) {
    if (begin < panels) {
      const int64_t from = begin * kernels.mr, to = std::min(std::min(end, panels) * kernels.mr, x.m);
      kernels.pack_a(x.a + from * depth * kernels.item, {a.data + from * a.row, a.row, a.col}, to - from, depth);
    }
    if (end > panels) {
      const int64_t from = std::max<int64_t>(begin - panels, 0) * kernels.nr,
                    to = std::min((end - panels) * kernels.nr, x.n);
      kernels.pack_b(x.b + from * depth * kernels.item, {b.data + from * b.col, b.row, b.col}, depth, to - from);
    }
  };
  parallel_for(panels + strips, std::max<int64_t>(1, chunk_work / 256 / (depth * kernels.nr)), pack);
}

void multiply_block(const Block &x) {
  const Product &p = x.p;
  const MatmulKernels &kernels = *p.kernels;
  const int64_t block = k_block(p.k), down = ceil_div(x.m, x.tile.m), across = ceil_div(x.n, x.tile.n);
  for (int64_t k = 0; k < p.k; k += block) {
    const int64_t depth = std::min(block, p.k - k);
    const bool last = k + depth == p.k;
    pack_block(x, k, depth);
    parallel_for(down * across, 1, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; t++) {
        const int64_t i = t % down * x.tile.m, j = t / down * x.tile.n;
        const int64_t m = std::min(x.tile.m, x.m - i), n = std::min(x.tile.n, x.n - j);
        char *sums = x.sums + (i * x.ld + j) * kernels.item;
        kernels.multiply(sums, x.ld, x.a + i * depth * kernels.item, x.b + j * depth * kernels.item, m, n, depth,
                         k > 0);
        if (last && !(in_place(p) && plain(p))) finish(p, sums, x.ld, 1, x.row + i, x.column + j, m, n);
      }
    });
  }
}

void multiply_blocked(const Product &p) {
  // What is packed at once: 4 MB of float32 for each operand, shared by the threads in the last-level cache.
  constexpr int64_t most_rows = 4080, most_columns = 4096;
  const MatmulKernels &kernels = *p.kernels;
  const int64_t depth = k_block(p.k), rows = std::min(p.m, most_rows), columns = std::min(p.n, most_columns);
  const Scratch a(round_up(rows, kernels.mr) * depth * kernels.item);
  const Scratch b(round_up(columns, kernels.nr) * depth * kernels.item);
  const Scratch sums = in_place(p) ? Scratch() : Scratch(rows * columns * kernels.item);
  for (int64_t j = 0; j < p.n; j += most_columns)
    for (int64_t i = 0; i < p.m; i += most_rows) {
      const int64_t m = std::min(most_rows, p.m - i), n = std::min(most_columns, p.n - j);
      char *to = in_place(p) ? p.out + (i * p.n + j) * kernels.item : sums.get();
      multiply_block({p, i, j, m, n, to, in_place(p) ? p.n : n, a.get(), b.get(), choose_blocks(p, m, n, depth)});
    }
}

}  // namespace

int64_t RowOffsets::operator()(int64_t row) const noexcept {
  int64_t offset = 0;
  for (int d = n_dims - 1; d >= 0; d--) {
    offset += row % dims[d] * strides[d];
    row /= dims[d];
  }
  return offset;
}

void multiply_small(const Product &p) {
  const MatmulKernels &kernels = *p.kernels;
  if (is_gemv(p)) return multiply_vector(p, false);
  const int64_t block = k_block(p.k);
  const int64_t panels = (round_up(p.m, kernels.mr) + kernels.nr) * block * kernels.item,
                sums_at = round_up(panels, 64);
  const Scratch buffer = Scratch(sums_at + (in_place(p) ? 0 : p.m * p.n * kernels.item));
  char *sums = in_place(p) ? p.out : buffer.get() + sums_at;
  for (int64_t k = 0; k < p.k; k += block)
    kernels.small(sums, p.n, {p.a.data + k * p.a.col, p.a.row, p.a.col}, {p.b.data + k * p.b.row, p.b.row, p.b.col},
                  p.m, p.n, std::min(block, p.k - k), k > 0, buffer.get());
  if (p.k == 0) std::fill_n(sums, p.m * p.n * kernels.item, char{0});
  if (!(in_place(p) && plain(p))) finish(p, sums, p.n, 1, 0, 0, p.m, p.n);
}

void multiply_large(const Product &p) {
  if (is_gemv(p)) return multiply_vector(p, true);
  multiply_blocked(p);
}

}  // namespace mx::cpu
