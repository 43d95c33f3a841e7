// The micro-kernel: a tile of the result held in registers, after Goto and van de Geijn, "Anatomy of High-Performance
// Matrix Multiplication" (2008), with the register tile of BLIS. Only for the per-level matmul sources.
#pragma once
#include "backends/cpu/matmul_pack.hpp"

namespace {

// Tile height: 2 vectors per row, two for B and one or two for A must fit the register file (16, with AVX-512 32).
#if defined(__AVX512F__)
constexpr int tile_rows = 12;
#else
constexpr int tile_rows = 6;
#endif

// A row of the tile is two vectors; for complex numbers one of real and one of imaginary parts.
template <class S>
constexpr int tile_columns = 2 * vector_bytes / static_cast<int>(sizeof(typename Element<S>::Sum));

// Where the elements of A are, in elements. Packed panels have row 1 and step tile_rows, known when compiling.
template <class T>
struct Rows {
  const T *data;
  int64_t row, step;
};

template <class T, int R, int V, bool packed>
inline __attribute__((always_inline)) void accumulate(Vec<T> (&sums)[R][V], const Rows<T> &a, const T *b,
                                                      int64_t b_step, int64_t k) {
  constexpr int w = width<T>, bases = (R + 2) / 3;
  constexpr int64_t ahead = 12;  // rows of B that lie apart are called for before they are needed
  const T *base[bases];          // every third row: the others are one and two strides away
  for (int i = 0; i < bases; i++) base[i] = a.data + 3 * i * a.row;
  const int64_t row = a.row, row2 = 2 * a.row;
#pragma GCC unroll 12
  for (int i = 0; i < R; i++)
    for (int v = 0; v < V; v++) sums[i][v] = Vec<T>{};
  for (int64_t p = 0; p < k; p++) {
    Vec<T> right[V];
    for (int v = 0; v < V; v++) right[v] = load<T>(b + v * w);
    if constexpr (!packed) __builtin_prefetch(b + ahead * b_step);
    b += b_step;
#pragma GCC unroll 12
    for (int i = 0; i < R; i++) {
      const T *q = packed ? base[0] + i : i % 3 == 0 ? base[i / 3] : base[i / 3] + (i % 3 == 1 ? row : row2);
      const Vec<T> x = splat(*q);
      for (int v = 0; v < V; v++) sums[i][v] = fma(x, right[v], sums[i][v]);
    }
    if constexpr (packed) {
      base[0] += tile_rows;
    } else {
#pragma GCC unroll 4
      for (int i = 0; i < bases; i++) base[i] += a.step;
    }
  }
}

// Stores or adds the m x n corner of the tile.
template <class T, int R, int V>
inline void put(T *c, int64_t ld, const Vec<T> (&sums)[R][V], int64_t m, int64_t n, bool add) {
  constexpr int w = width<T>;
#pragma GCC unroll 12
  for (int i = 0; i < R; i++) {
    if (i >= m) return;
    T *row = c + i * ld;
    if (n == V * w) {
      for (int v = 0; v < V; v++) store<T>(row + v * w, add ? load<T>(row + v * w) + sums[i][v] : sums[i][v]);
    } else {
      T edge[V * w];
      for (int v = 0; v < V; v++) store<T>(edge + v * w, sums[i][v]);
      for (int64_t j = 0; j < n; j++) row[j] = add ? row[j] + edge[j] : edge[j];
    }
  }
}

template <class T, int R, int V, bool packed>
__attribute__((noinline)) void tile(T *c, int64_t ld, const Rows<T> &a, const T *b, int64_t b_step, int64_t m,
                                    int64_t n, int64_t k, bool add) {
  Vec<T> sums[R][V];
#pragma GCC unroll 12
  for (int i = 0; i < R; i++) {  // the rows of the result are far apart: called for now, they are there at the end
    __builtin_prefetch(c + i * ld, 1);
    __builtin_prefetch(c + i * ld + V * width<T> - 1, 1);
  }
  accumulate<T, R, V, packed>(sums, a, b, b_step, k);
  put<T, R, V>(c, ld, sums, m, n, add);
}

// Both operands packed as pack_complex does.
__attribute__((noinline)) void tile_complex(mx::Complex64 *c, int64_t ld, const float *a, const float *b, int64_t m,
                                            int64_t n, int64_t k, bool add) {
  constexpr int w = width<float>;
  Vec<float> sums[tile_rows][2];
#pragma GCC unroll 12
  for (int i = 0; i < tile_rows; i++) sums[i][0] = sums[i][1] = Vec<float>{};
  for (int64_t p = 0; p < k; p++, a += 2 * tile_rows, b += 2 * w) {
    const Vec<float> re = load<float>(b), im = load<float>(b + w);
#pragma GCC unroll 12
    for (int i = 0; i < tile_rows; i++) {
      const Vec<float> x = splat(a[i]), y = splat(a[tile_rows + i]);
      sums[i][0] = fma(x, re, sums[i][0]);
      sums[i][1] = fma(x, im, sums[i][1]);
      sums[i][0] = fnma(y, im, sums[i][0]);
      sums[i][1] = fma(y, re, sums[i][1]);
    }
  }
  for (int64_t i = 0; i < m; i++) {
    float re[w], im[w];
    store<float>(re, sums[i][0]);
    store<float>(im, sums[i][1]);
    mx::Complex64 *row = c + i * ld;
    for (int64_t j = 0; j < n; j++)
      row[j] = add ? mx::Complex64{row[j].re + re[j], row[j].im + im[j]} : mx::Complex64{re[j], im[j]};
  }
}

// A block of packed panels times packed strips: a strip stays in the first-level cache while the panels pass by.
template <class S>
void multiply(void *sums, int64_t ld, const void *a, const void *b, int64_t m, int64_t n, int64_t k, bool add) {
  constexpr int nr = tile_columns<S>;
  for (int64_t j = 0; j < n; j += nr)
    for (int64_t i = 0; i < m; i += tile_rows) {
      const int64_t rows = m - i < tile_rows ? m - i : tile_rows, columns = n - j < nr ? n - j : nr;
      if constexpr (std::is_same_v<S, mx::Complex64>) {
        tile_complex(static_cast<mx::Complex64 *>(sums) + i * ld + j, ld, static_cast<const float *>(a) + i * k * 2,
                     static_cast<const float *>(b) + j * k * 2, rows, columns, k, add);
      } else {
        using T = typename Element<S>::Sum;
        const auto run = columns > width<T> ? tile<T, tile_rows, 2, true> : tile<T, tile_rows, 1, true>;
        run(static_cast<T *>(sums) + i * ld + j, ld, {static_cast<const T *>(a) + i * k, 1, tile_rows},
            static_cast<const T *>(b) + j * k, nr, rows, columns, k, add);
      }
    }
}

// Rows of A as they lie, in tiles of tile_rows and then 4, 2 and 1 rows. V: vectors that hold n columns.
template <class T, int V>
void multiply_rows(T *c, int64_t ld, Rows<T> a, const T *b, int64_t b_step, int64_t m, int64_t n, int64_t k, bool add) {
  const auto run = [&]<int R>(std::integral_constant<int, R>) {
    for (; m >= R; m -= R, a.data += R * a.row, c += R * ld) tile<T, R, V, false>(c, ld, a, b, b_step, R, n, k, add);
  };
  run(std::integral_constant<int, tile_rows>());
  run(std::integral_constant<int, 4>());
  run(std::integral_constant<int, 2>());
  run(std::integral_constant<int, 1>());
}

template <class T>
bool aligned_view(const MatrixView &x) {
  constexpr int64_t item = sizeof(T);
  return reinterpret_cast<uintptr_t>(x.data) % item == 0 && x.row % item == 0 && x.col % item == 0;
}

// One block of k for matrices that fit the caches. Strips of B are packed one at a time, unless they can be read in
// place; A is read in place unless its elements must be widened.
template <class S>
void small(void *sums, int64_t ld, const MatrixView &a, const MatrixView &b, int64_t m, int64_t n, int64_t k, bool add,
           void *scratch) {
  using Sum = typename Element<S>::Sum;
  constexpr int nr = tile_columns<S>;
  Sum *strip = static_cast<Sum *>(scratch), *panels = strip + nr * k;
  const bool in_place = std::is_same_v<S, Sum> && !std::is_same_v<S, mx::Complex64> && aligned_view<S>(a);
  if (!in_place) pack<S, tile_rows>(panels, a.data, a.row, a.col, m, k);
  for (int64_t j = 0; j < n; j += nr) {
    const int64_t columns = n - j < nr ? n - j : nr;
    const char *from = b.data + j * b.col;
    const bool whole = columns == nr || 2 * columns == nr;
    const bool direct = in_place && whole && b.col == sizeof(S) && aligned_view<S>(b);
    if (!direct) pack<S, nr>(strip, from, b.col, b.row, columns, k);
    Sum *c = static_cast<Sum *>(sums) + j;
    if constexpr (std::is_same_v<S, Sum> && !std::is_same_v<S, mx::Complex64>) {
      if (in_place) {
        constexpr int64_t item = sizeof(S);
        const Rows<S> rows{reinterpret_cast<const S *>(a.data), a.row / item, a.col / item};
        const auto run = 2 * columns > nr ? multiply_rows<S, 2> : multiply_rows<S, 1>;
        run(c, ld, rows, direct ? reinterpret_cast<const S *>(from) : strip, direct ? b.row / item : nr, m, columns, k,
            add);
        continue;
      }
    }
    multiply<S>(c, ld, panels, strip, m, columns, k, add);
  }
}

}  // namespace
