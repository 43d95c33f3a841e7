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

// Rows of a matrix whose columns lie side by side that are added up at once: a whole page or two of each column,
// because memory answers long runs faster.
template <class T>
constexpr int stretch = 8192 / static_cast<int>(sizeof(T));

// partial[r] = the terms of columns first, first + lanes, ... for a stretch of rows. Four columns are added at a time.
template <class S, class T>
void add_columns(T *partial, const char *a, int64_t col, const T *x, int first, int64_t k, int rows) {
  constexpr int w = width<T>, item = sizeof(S);
  for (int r = 0; r < rows; r++) partial[r] = 0;
  int64_t p = first;
  const auto add = [&]<int N>(std::integral_constant<int, N>) {
    for (; p + (N - 1) * lanes<T> < k; p += N * lanes<T>) {
      const char *from = a + p * col;
      const int64_t next = lanes<T> * col;
      int r = 0;
      for (; r + w <= rows; r += w) {
        Vec<T> sum = load<T>(partial + r);
#pragma GCC unroll 4
        for (int n = 0; n < N; n++)
          sum = fma(splat(x[p + n * lanes<T>]), Element<S>::widen_vector(from + n * next + r * item), sum);
        store<T>(partial + r, sum);
      }
      for (; r < rows; r++)
        for (int n = 0; n < N; n++)
          partial[r] = fma(x[p + n * lanes<T>], T{Element<S>::widen(from + n * next + r * item)}, partial[r]);
    }
  };
  add(std::integral_constant<int, 4>());
  add(std::integral_constant<int, 1>());
}

// sums[0] = the partial sums lane, lane + step, ... added pairwise as add_pairwise does; the other arrays are scratch.
template <class S, int step, class T>
void add_lanes(T (*sums)[stretch<T>], const char *a, int64_t col, const T *x, int lane, int64_t k, int rows) {
  if constexpr (step == lanes<T>) {
    add_columns<S>(sums[0], a, col, x, lane, k, rows);
  } else {
    add_lanes<S, 2 * step>(sums, a, col, x, lane, k, rows);
    add_lanes<S, 2 * step>(sums + 1, a, col, x, lane + step, k, rows);
    for (int r = 0; r < rows; r++) sums[0][r] += sums[1][r];
  }
}

// Columns lie side by side.
template <class S, class T = typename Element<S>::Sum>
void gemv_columns(T *y, const char *a, int64_t col, const T *x, int64_t m, int64_t k, bool add) {
  T sums[5][stretch<T>];  // 1 + log2(lanes)
  for (int64_t i = 0; i < m; i += stretch<T>) {
    const int rows = static_cast<int>(m - i < stretch<T> ? m - i : stretch<T>);
    add_lanes<S, 1>(sums, a + i * static_cast<int>(sizeof(S)), col, x, 0, k, rows);
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
