// Matrix times vector. Memory is the limit, so the order of additions is the one that vectors like: element p of a row
// goes into partial sum p % lanes, and the partial sums are added pairwise. It is the same whichever way the matrix
// lies and on every level. Only for the per-level matmul sources.
#pragma once
#include "backends/cpu/matmul_pack.hpp"

namespace {

template <class T>
constexpr int lanes = 64 / static_cast<int>(sizeof(T));

// Adds the halves of the partial sums on to each other until one is left.
template <class T>
inline T add_pairwise(T *sums) {
  for (int half = lanes<T> / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) sums[i] += sums[i + half];
  return sums[0];
}

// The halves of a vector of 2 * sizeof...(I) elements.
template <class V, int... I>
inline auto add_halves(V v, std::integer_sequence<int, I...>) {
  constexpr int half = sizeof...(I);
  if constexpr (half == 1)
    return v[0] + v[1];
  else
    return add_halves(__builtin_shufflevector(v, v, I...) + __builtin_shufflevector(v, v, (half + I)...),
                      std::make_integer_sequence<int, half / 2>());
}

// The same of partial sums in registers.
template <class T>
inline T add_pairwise(Vec<T> (&sums)[line_vectors]) {
  for (int half = line_vectors / 2; half > 0; half /= 2)
    for (int l = 0; l < half; l++) sums[l] += sums[l + half];
  return add_halves(sums[0], std::make_integer_sequence<int, width<T> / 2>());
}

#if defined(__AVX512F__)
// The first n elements, the others 0.
template <class S, class T = typename Element<S>::Sum>
inline Vec<T> widen_some(const char *p, int64_t n) {
  if constexpr (std::is_same_v<S, T>) {
    return load_some<T>(p, n);
  } else {
    char some[32];
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(some),
                        _mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << n) - 1), p));
    return Element<S>::widen_vector(some);
  }
}
#endif

// Adds the products of what is left of a row, n < lanes elements, to as many partial sums.
template <class S, class T = typename Element<S>::Sum>
inline void add_rest(Vec<T> (&sums)[line_vectors], const char *a, const T *x, int64_t n) {
#if defined(__AVX512F__)
  const Vec<T> as = widen_some<S>(a, n);
  const auto mask = static_cast<__mmask16>((1u << n) - 1);
  if constexpr (sizeof(T) == 4)
    sums[0] = _mm512_mask3_fmadd_ps(load_some<T>(x, n), as, sums[0], mask);
  else
    sums[0] = _mm512_mask3_fmadd_pd(load_some<T>(x, n), as, sums[0], static_cast<__mmask8>(mask));
#else
  T partial[lanes<T>];
  for (int l = 0; l < line_vectors; l++) store<T>(partial + l * width<T>, sums[l]);
  for (int64_t q = 0; q < n; q++)
    partial[q] = fma(x[q], T{Element<S>::widen(a + q * static_cast<int>(sizeof(S)))}, partial[q]);
  for (int l = 0; l < line_vectors; l++) sums[l] = load<T>(partial + l * width<T>);
#endif
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
#pragma GCC unroll 8
  for (int r = 0; r < R; r++) {
    if (p < k) add_rest<S>(sums[r], a + r * row + p * item, x + p, k - p);
    const T sum = add_pairwise<T>(sums[r]);
    y[r] = add ? y[r] + sum : sum;
  }
}

// Rows of a matrix whose columns lie side by side that are added up at once: a page of each column, because memory
// answers long runs faster. All their partial sums fit the second-level cache.
template <class T>
constexpr int stretch = 4096 / static_cast<int>(sizeof(T));

// partial[r] = or += the terms of N columns, `next` bytes apart, in order, for a stretch of rows. `soon`: the columns
// after these, called for because the CPU does not foresee the step from page to page; or nullptr.
template <class S, int N, bool is_first, class T>
void add_columns(T *partial, const char *a, int64_t next, const T *x, int rows, const char *soon) {
  constexpr int w = width<T>, item = sizeof(S);
  Vec<T> xs[N];
  for (int n = 0; n < N; n++) xs[n] = splat(x[n * lanes<T>]);
  int r = 0;
  for (; r + w <= rows; r += w) {
    Vec<T> sum = is_first ? Vec<T>{} : load<T>(partial + r);
#pragma GCC unroll 8
    for (int n = 0; n < N; n++) {
      if (soon) __builtin_prefetch(soon + n * next + r * item, 0, 2);
      sum = fma(xs[n], Element<S>::widen_vector(a + n * next + r * item), sum);
    }
    store<T>(partial + r, sum);
  }
#if defined(__AVX512F__)
  if (r < rows) {
    Vec<T> sum = is_first ? Vec<T>{} : load_some<T>(partial + r, rows - r);
    for (int n = 0; n < N; n++) sum = fma(xs[n], widen_some<S>(a + n * next + r * item, rows - r), sum);
    store_some<T>(partial + r, sum, rows - r);
    return;
  }
#endif
  for (; r < rows; r++) {
    T sum = is_first ? T{} : partial[r];
    for (int n = 0; n < N; n++) sum = fma(x[n * lanes<T>], T{Element<S>::widen(a + n * next + r * item)}, sum);
    partial[r] = sum;
  }
}

// Adds up partial sums of a stretch of rows as add_pairwise does those of one row.
template <class T>
void add_stretch_pairwise(T *y, const T (*sums)[stretch<T>], int rows, bool add) {
  constexpr int w = width<T>;
  int r = 0;
  for (; r + w <= rows; r += w) {
    Vec<T> row[lanes<T>];
    for (int l = 0; l < lanes<T>; l++) row[l] = load<T>(sums[l] + r);
    for (int half = lanes<T> / 2; half > 0; half /= 2)
      for (int l = 0; l < half; l++) row[l] += row[l + half];
    store<T>(y + r, add ? load<T>(y + r) + row[0] : row[0]);
  }
  for (; r < rows; r++) {
    T row[lanes<T>];
    for (int l = 0; l < lanes<T>; l++) row[l] = sums[l][r];
    const T sum = add_pairwise(row);
    y[r] = add ? y[r] + sum : sum;
  }
}

// Columns lie side by side.
template <class S, class T = typename Element<S>::Sum>
void gemv_columns(T *y, const char *a, int64_t col, const T *x, int64_t m, int64_t k, bool add) {
  constexpr int64_t n_lanes = lanes<T>, far_bytes = 12 << 20;  // not in a cache
  const bool is_far = (col < 0 ? -col : col) * k > far_bytes;
  T sums[lanes<T>][stretch<T>];
  for (int64_t i = 0; i < m; i += stretch<T>, a += stretch<T> * static_cast<int>(sizeof(S))) {
    const int rows = static_cast<int>(m - i < stretch<T> ? m - i : stretch<T>);
    int64_t p = 0;
    const auto run = [&]<int N>(std::integral_constant<int, N>) {
      constexpr int64_t block = N * n_lanes;
      for (; p + block <= k; p += block)
        for (int64_t l = 0; l < n_lanes; l++) {
          const int64_t after = l + 1 < n_lanes ? p + l + 1 : p + block;
          const char *const soon = is_far && after + block <= k + n_lanes ? a + after * col : nullptr;
          const auto add_to = p == 0 ? add_columns<S, N, true, T> : add_columns<S, N, false, T>;
          add_to(sums[l], a + (p + l) * col, n_lanes * col, x + p + l, rows, soon);
        }
    };
    run(std::integral_constant<int, 8>());
    run(std::integral_constant<int, 4>());
    run(std::integral_constant<int, 2>());
    if (p == 0)
      for (auto &lane : sums)
        for (int r = 0; r < rows; r++) lane[r] = 0;
    for (; p < k; p++) add_columns<S, 1, false>(sums[p % n_lanes], a + p * col, 0, x + p, rows, nullptr);
    add_stretch_pairwise<T>(y + i, sums, rows, add);
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
