// The paths of a matrix product: small (nothing packed that can be read in place), matrix times vector, grouped (one
// operand is small) and blocked (Goto's loops over packed panels, which the threads share). Relies on the kernels'
// promise that the path and the tiles do not show in the result.
#include "backends/cpu/matmul_driver.hpp"

#include <algorithm>
#include <new>

#include "runtime/pool.hpp"

namespace mx::cpu {
namespace {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

// Blocks of equal length, so that the last one is not a stub.
int64_t k_block(int64_t k) {
  return k <= max_k_block ? std::max<int64_t>(k, 1) : round_up(ceil_div(k, ceil_div(k, max_k_block)), 8);
}

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

// ---- grouped

// An output of few rows is cut into groups of columns, one of few columns into groups of rows. The operand that all
// groups need fits the second-level cache and is packed once; a group's own part is packed by the thread that
// multiplies it. So threads do not wait for each other, and what they pack stays in their caches.
struct Grouping {
  bool columns;          // are cut; else rows
  int64_t cut, held;     // sizes of the output
  int64_t padded;        // held, as packed
  int64_t width, grain;  // lanes of a group, groups of a range
};

Grouping choose_groups(const Product &p) {
  const MatmulKernels &kernels = *p.kernels;
  const bool columns = p.m <= p.n;
  const int64_t lanes = columns ? kernels.nr : kernels.mr, other = columns ? kernels.mr : kernels.nr;
  Grouping g{columns, std::max(p.m, p.n), std::min(p.m, p.n), 0, 0, 0};
  g.padded = round_up(g.held, other);
  constexpr int64_t widest = 64, least_ns = 20'000;
  const int64_t groups = 4 * std::max(1, num_threads());
  g.width = round_up(std::clamp<int64_t>(ceil_div(g.cut, groups), 1, widest), lanes);
  const int64_t ns = g.width * p.k / 4 + g.width * g.held / 8 * p.k / 5;
  g.grain = std::max<int64_t>(1, least_ns / std::max<int64_t>(1, ns));
  return g;
}

bool is_grouped(const Product &p) {
  constexpr int64_t most_bytes = 256 << 10, most_blocks = 16;
  const int64_t depth = k_block(p.k);
  return std::min(p.m, p.n) <= most_bytes / (depth * p.kernels->item) && p.k <= most_blocks * depth;
}

MatrixView part(const MatrixView &x, int64_t row, int64_t column) {
  return {x.data + row * x.row + column * x.col, x.row, x.col};
}

// The shared operand, block after block of k.
void pack_held(const Product &p, const Grouping &g, char *to) {
  const MatmulKernels &kernels = *p.kernels;
  const int64_t depth = k_block(p.k), blocks = ceil_div(p.k, depth);
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 17) / (g.padded * depth));
  parallel_for(blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin * depth; k < std::min(end * depth, p.k); k += depth) {
      char *block = to + g.padded * k * kernels.item;
      if (g.columns)
        kernels.pack_a(block, part(p.a, 0, k), p.m, std::min(depth, p.k - k));
      else
        kernels.pack_b(block, part(p.b, k, 0), std::min(depth, p.k - k), p.n);
    }
  });
}

// One group: rows [i, i + m) and columns [j, j + n) of the output, of which one is everything. `held` is the packed
// operand, or nullptr where the operands are read as they lie.
void multiply_group(const Product &p, const Grouping &g, int64_t index, const char *held, char *own, char *buffer) {
  const MatmulKernels &kernels = *p.kernels;
  const int64_t at = index * g.width, size = std::min(g.width, g.cut - at), block = k_block(p.k);
  const int64_t i = g.columns ? 0 : at, j = g.columns ? at : 0, m = g.columns ? p.m : size, n = g.columns ? size : p.n;
  char *sums = in_place(p) ? p.out + (i * p.n + j) * kernels.item : buffer;
  const int64_t ld = in_place(p) ? p.n : n;
  for (int64_t k = 0; k < p.k; k += block) {
    const int64_t depth = std::min(block, p.k - k);
    const MatrixView a = part(p.a, i, k), b = part(p.b, k, j);
    if (!held) {
      kernels.small(sums, ld, a, b, m, n, depth, k > 0, own);
      continue;
    }
    const char *shared = held + g.padded * k * kernels.item;
    if (g.columns) {
      kernels.pack_b(own, b, depth, n);
      kernels.multiply(sums, ld, shared, own, m, n, depth, k > 0);
    } else {
      kernels.pack_a(own, a, m, depth);
      kernels.multiply(sums, ld, own, shared, m, n, depth, k > 0);
    }
  }
  if (!(in_place(p) && plain(p))) finish(p, sums, ld, 1, i, j, m, n);
}

void multiply_grouped(const Product &p) {
  const MatmulKernels &kernels = *p.kernels;
  const Grouping g = choose_groups(p);
  const int64_t block = k_block(p.k);
  // One tile in the direction that is held: each element of the other operand is used once, packing would not pay.
  const bool once = g.columns ? p.m <= kernels.mr : p.n <= kernels.nr && p.a.col == p.itemsize;
  const Scratch held = once ? Scratch() : Scratch(g.padded * p.k * kernels.item);
  if (!once) pack_held(p, g, held.get());
  const int64_t lanes = round_up(g.columns && once ? p.m : g.width, kernels.mr) + kernels.nr;
  parallel_for(ceil_div(g.cut, g.width), g.grain, [&](int64_t begin, int64_t end) {
    const Scratch own(std::max(lanes, g.width) * block * kernels.item);
    const Scratch sums = in_place(p) ? Scratch() : Scratch(g.held * g.width * kernels.item);
    for (int64_t i = begin; i < end; i++) {
      check_cancel();
      multiply_group(p, g, i, once ? nullptr : held.get(), own.get(), sums.get());
    }
  });
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

Scratch::Scratch(int64_t bytes) {
  constexpr int64_t small = 32 << 10;
  if (bytes > small)
    pooled_ = allocate(static_cast<size_t>(bytes));
  else
    owned_.reset(static_cast<char *>(::operator new(static_cast<size_t>(bytes), std::align_val_t{64})));
}

void Scratch::Free::operator()(char *p) const noexcept { ::operator delete(p, std::align_val_t{64}); }

// Panels and a strip of one block of k, then the sums.
int64_t small_scratch(const Product &p) {
  const MatmulKernels &kernels = *p.kernels;
  if (is_gemv(p)) return 0;
  return round_up((round_up(p.m, kernels.mr) + kernels.nr) * k_block(p.k) * kernels.item, 64) +
         (in_place(p) ? 0 : p.m * p.n * kernels.item);
}

void multiply_small(const Product &p, char *scratch) {
  const MatmulKernels &kernels = *p.kernels;
  if (is_gemv(p)) return multiply_vector(p, false);
  const int64_t block = k_block(p.k);
  char *sums = in_place(p) ? p.out : scratch + small_scratch(p) - p.m * p.n * kernels.item;
  for (int64_t k = 0; k < p.k; k += block)
    kernels.small(sums, p.n, part(p.a, 0, k), part(p.b, k, 0), p.m, p.n, std::min(block, p.k - k), k > 0, scratch);
  if (p.k == 0) std::fill_n(sums, p.m * p.n * kernels.item, char{0});
  if (!(in_place(p) && plain(p))) finish(p, sums, p.n, 1, 0, 0, p.m, p.n);
}

void multiply_large(const Product &p) {
  if (is_gemv(p)) return multiply_vector(p, true);
  if (p.k == 0) return multiply_small(p, Scratch(small_scratch(p)).get());
  if (is_grouped(p)) return multiply_grouped(p);
  multiply_blocked(p);
}

}  // namespace mx::cpu
