// Matrix times vector. Memory is the limit, so the order of additions is the one that vectors like: element p of a row
// goes into partial sum p % lanes, and the partial sums are added pairwise. It is the same whichever way the matrix
// lies and on every level. Only for the per-level matmul sources.
#pragma once
#include "backends/cpu/matmul_pack.hpp"

namespace {

template <class T>
constexpr int lanes = 64 / static_cast<int>(sizeof(T));

// Adds the halves of the partial sums on to each other until one is left; `stride` elements between partial sums.
template <class T>
inline T add_pairwise(T *sums) {
  for (int half = lanes<T> / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) sums[i] += sums[i + half];
  return sums[0];
}

// R rows whose elements lie side by side.
template <class S, int R, class T = typename Element<S>::Sum>
void gemv_rows(T *y, const char *a, int64_t row, const T *x, int64_t k, bool add) {
  constexpr int w = width<T>, item = sizeof(S);
  Vec<T> sums[R][line_vectors] = {};
  int64_t p = 0;
  for (; p + lanes<T> <= k; p += lanes<T>)
#pragma GCC unroll 4
    for (int l = 0; l < line_vectors; l++) {
      const Vec<T> xs = load<T>(x + p + l * w);
#pragma GCC unroll 8
      for (int r = 0; r < R; r++)
        sums[r][l] = fma(xs, Element<S>::widen_vector(a + r * row + (p + l * w) * item), sums[r][l]);
    }
  for (int r = 0; r < R; r++) {
    T partial[lanes<T>];
    for (int l = 0; l < line_vectors; l++) store<T>(partial + l * w, sums[r][l]);
    for (int64_t q = p; q < k; q++)
      partial[q - p] = fma(x[q], T{Element<S>::widen(a + r * row + q * item)}, partial[q - p]);
    const T sum = add_pairwise(partial);
    y[r] = add ? y[r] + sum : sum;
  }
}

// Adds the multiples of N columns, each to its own partial sums. Several at once, because memory answers several
// streams faster than one; the columns after them are called for meanwhile.
template <class S, int N, class T>
inline void add_columns(T *const *partial, const char *a, int64_t col, const T *x, int rows) {
  constexpr int w = width<T>, item = sizeof(S);
  int r = 0;
  for (; r + w <= rows; r += w)
#pragma GCC unroll 4
    for (int n = 0; n < N; n++) {
      const char *from = a + n * col + r * item;
      __builtin_prefetch(from + N * col);
      store<T>(partial[n] + r, fma(splat(x[n]), Element<S>::widen_vector(from), load<T>(partial[n] + r)));
    }
  for (; r < rows; r++)
    for (int n = 0; n < N; n++) partial[n][r] = fma(x[n], T{Element<S>::widen(a + n * col + r * item)}, partial[n][r]);
}

// Columns lie side by side: a stretch of rows at a time, whose partial sums stay in the first-level cache.
template <class S, class T = typename Element<S>::Sum>
void gemv_columns(T *y, const char *a, int64_t col, const T *x, int64_t m, int64_t k, bool add) {
  constexpr int item = sizeof(S), stretch = 2048 / static_cast<int>(sizeof(T));
  T sums[lanes<T>][stretch];
  for (int64_t i = 0; i < m; i += stretch) {
    const int rows = static_cast<int>(m - i < stretch ? m - i : stretch);
    for (T(&partial)[stretch] : sums)
      for (int r = 0; r < rows; r++) partial[r] = 0;
    int64_t p = 0;
    for (; p + 4 <= k; p += 4) {
      T *partial[4];
      for (int n = 0; n < 4; n++) partial[n] = sums[p % lanes<T> + n];
      add_columns<S, 4>(partial, a + i * item + p * col, col, x + p, rows);
    }
    for (; p < k; p++) {
      T *const partial = sums[p % lanes<T>];
      add_columns<S, 1>(&partial, a + i * item + p * col, col, x + p, rows);
    }
    for (int half = lanes<T> / 2; half > 0; half /= 2)
      for (int l = 0; l < half; l++)
        for (int r = 0; r < rows; r++) sums[l][r] += sums[l + half][r];
    for (int r = 0; r < rows; r++) y[i + r] = add ? y[i + r] + sums[0][r] : sums[0][r];
  }
}

// One row of any strides.
template <class S, class T = typename Element<S>::Sum>
void gemv_strided(T *y, const char *a, int64_t col, const T *x, int64_t k, bool add) {
  T partial[lanes<T>] = {};
  for (int64_t p = 0; p < k; p++)
    partial[p % lanes<T>] = fma(x[p], T{Element<S>::widen(a + p * col)}, partial[p % lanes<T>]);
  const T sum = add_pairwise(partial);
  *y = add ? *y + sum : sum;
}

template <class S>
void gemv(void *out, const MatrixView &a, const void *vector, int64_t m, int64_t k, bool add) {
  using T = typename Element<S>::Sum;
  constexpr int group = 8 / line_vectors;  // enough chains to hide the latency of an addition
  T *y = static_cast<T *>(out);
  const T *x = static_cast<const T *>(vector);
  int64_t i = 0;
  if (a.col == sizeof(S)) {
    for (; i + group <= m; i += group) gemv_rows<S, group>(y + i, a.data + i * a.row, a.row, x, k, add);
    for (; i < m; i++) gemv_rows<S, 1>(y + i, a.data + i * a.row, a.row, x, k, add);
  } else if (a.row == sizeof(S) && m > 1) {
    gemv_columns<S>(y, a.data, a.col, x, m, k, add);
  } else {
    for (; i < m; i++) gemv_strided<S>(y + i, a.data + i * a.row, a.col, x, k, add);
  }
}

}  // namespace
