// One block of queries against a block of keys, with the running softmax of Milakov and Gimelshein (Online normalizer
// calculation for softmax, 2018): scores, their exponentials about the maximum so far, and the weighted sum of values,
// which is rescaled when the maximum grows.
//
// Few queries take dot products with the keys as they lie. For more, scores are kept transposed, (keys, queries): then
// keys need no packing, only queries do and once for all keys, and the softmax runs along vectors of queries, without
// reductions across lanes. Both products are made of register tiles.
#include "backends/cpu/rows/level.hpp"

namespace mx::cpu::rows::MX_LEVEL {
namespace {

#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int tile_rows = 8;
#elif defined(__AVX2__)
constexpr int tile_rows = 6;
#else
constexpr int tile_rows = 4;
#endif
constexpr float infinity = __builtin_inff();

MX_INLINE int64_t rounded_up(int64_t n) { return (n + width - 1) / width * width; }

// The right factor of a product: row-major, or packed into strips of two vectors' width (the last may have one), each
// of which is contiguous, so that a tile walks through neighbouring cache lines.
struct Right {
  const float *data;
  int64_t stride;  // between rows; 0: packed
};

// c (rows x 1 or 2 vectors) = or += a (rows x k) b (k x ...).
template <int rows, int vectors, bool transposed>
MX_INLINE void tile(float *c, int64_t ldc, const float *a, int64_t lda, const float *b, int64_t ldb, int64_t k,
                    bool accumulate) {
  F sum[rows][vectors];
  for (int r = 0; r < rows; r++) {
    for (int v = 0; v < vectors; v++) sum[r][v] = accumulate ? load(c + r * ldc + v * width) : F{};
  }
  for (int64_t i = 0; i < k; i++) {
    F right[vectors];
    for (int v = 0; v < vectors; v++) right[v] = load(b + i * ldb + v * width);
    for (int r = 0; r < rows; r++) {
      const F left = splat(transposed ? a[i * lda + r] : a[r * lda + i]);
      for (int v = 0; v < vectors; v++) sum[r][v] = fma(left, right[v], sum[r][v]);
    }
  }
  for (int r = 0; r < rows; r++) {
    for (int v = 0; v < vectors; v++) store(c + r * ldc + v * width, sum[r][v]);
  }
}

// All rows of one strip, in tiles of tile_rows and then 4, 2 and 1 rows.
template <int vectors, bool transposed>
void multiply_strip(float *c, int64_t ldc, const float *a, int64_t lda, const float *b, int64_t ldb, int64_t m,
                    int64_t k, bool accumulate) {
  const int64_t next = transposed ? 1 : lda;
  int64_t i = 0;
  for (; i + tile_rows <= m; i += tile_rows) {
    tile<tile_rows, vectors, transposed>(c + i * ldc, ldc, a + i * next, lda, b, ldb, k, accumulate);
  }
  if (tile_rows > 4 && i + 4 <= m) {
    tile<4, vectors, transposed>(c + i * ldc, ldc, a + i * next, lda, b, ldb, k, accumulate);
    i += 4;
  }
  if (i + 2 <= m) {
    tile<2, vectors, transposed>(c + i * ldc, ldc, a + i * next, lda, b, ldb, k, accumulate);
    i += 2;
  }
  if (i < m) tile<1, vectors, transposed>(c + i * ldc, ldc, a + i * next, lda, b, ldb, k, accumulate);
}

// c (m x n) = or += a (m x k) b (k x n), c row-major; n is a multiple of the width. `a` is row-major with lda floats
// between rows, or between columns if it is transposed.
template <bool transposed>
void multiply(float *c, int64_t ldc, const float *a, int64_t lda, const Right &right, int64_t m, int64_t n, int64_t k,
              bool accumulate) {
  for (int64_t j = 0; j < n; j += 2 * width) {
    const bool two = j + 2 * width <= n;
    const float *b = right.data + (right.stride ? j : j * k);
    const int64_t ldb = right.stride ? right.stride : two ? 2 * width : width;
    if (two) {
      multiply_strip<2, transposed>(c + j, ldc, a, lda, b, ldb, m, k, accumulate);
    } else {
      multiply_strip<1, transposed>(c + j, ldc, a, lda, b, ldb, m, k, accumulate);
    }
  }
}

// The first `whole` columns of the values (n_keys, ...) as a packed right factor.
void pack_values(float *out, int64_t whole, const float *v, int64_t stride, int64_t n_keys) {
  for (int64_t d0 = 0; d0 < whole; d0 += 2 * width) {
    const int64_t columns = whole - d0 < 2 * width ? width : 2 * width;
    for (int64_t j = 0; j < n_keys; j++) {
      for (int64_t d = 0; d < columns; d += width) store(out + d, load(v + j * stride + d0 + d));
      out += columns;
    }
  }
}

// out += weights v, where weight (i, j) lies at weights[i * ld + j], or [j * ld + i] if transposed; the columns beyond
// whole vectors by themselves. `packed` is space for n_keys * value_depth; NULL: not packed.
template <bool transposed>
void weigh_values(const AttentionBlock &b, const float *weights, int64_t ld, float *packed) {
  const int64_t whole = b.value_depth / width * width;
  Right values{b.v, b.v_stride};
  if (packed) {
    pack_values(packed, whole, b.v, b.v_stride, b.n_keys);
    values = {packed, 0};
  }
  multiply<transposed>(b.out, b.value_depth, weights, ld, values, b.n_queries, whole, b.n_keys, true);
  if (whole == b.value_depth) return;
  for (int64_t i = 0; i < b.n_queries; i++) {
    for (int64_t j = 0; j < b.n_keys; j++) {
      const float weight = transposed ? weights[j * ld + i] : weights[i * ld + j];
      for (int64_t d = whole; d < b.value_depth; d++) b.out[i * b.value_depth + d] += weight * b.v[j * b.v_stride + d];
    }
  }
}

// ---- few queries

float dot(const float *a, const float *b, int64_t n) {
  F sum[2] = {};
  int64_t i = 0;
  for (; i + 2 * width <= n; i += 2 * width) {
    sum[0] = fma(load(a + i), load(b + i), sum[0]);
    sum[1] = fma(load(a + i + width), load(b + i + width), sum[1]);
  }
  for (; i + width <= n; i += width) sum[0] = fma(load(a + i), load(b + i), sum[0]);
  float rest = 0;
  for (; i < n; i++) rest += a[i] * b[i];
  return reduce_sum(sum[0] + sum[1]) + rest;
}

// Masks one row of scores, brings the running maximum and sum up to date, and leaves the weights in its place.
void soften_row(const AttentionBlock &b, int64_t i, float *scores, int64_t ld) {
  if (b.bias) {
    for (int64_t j = 0; j < b.n_keys; j++) scores[j] += b.bias[i * b.bias_stride + j];
  }
  int64_t visible = b.n_visible ? b.n_visible[i] : b.n_keys;
  visible = visible < 0 ? 0 : visible < b.n_keys ? visible : b.n_keys;
  for (int64_t j = visible; j < ld; j++) scores[j] = -infinity;
  const float before = b.maximum[i], block = maximum(scores, static_cast<size_t>(visible));
  const float now = block > before || block != block ? block : before;
  if (now == -infinity) {  // nothing visible so far
    for (int64_t j = 0; j < ld; j++) scores[j] = 0;
    return;
  }
  if (now != before) {
    const float factor = exp_nonpositive(splat(before - now))[0];
    b.sum[i] *= factor;
    scale(b.out + i * b.value_depth, b.out + i * b.value_depth, static_cast<size_t>(b.value_depth), factor);
    b.maximum[i] = now;
  }
  b.sum[i] += exp_rows(scores, scores, static_cast<size_t>(ld), now);
}

void attend_few(const AttentionBlock &b) {
  const int64_t ld = rounded_up(b.n_keys);
  for (int64_t j = 0; j < b.n_keys; j++) {
    for (int64_t i = 0; i < b.n_queries; i++) {
      b.scores[i * ld + j] = dot(b.q + i * b.depth, b.k + j * b.k_stride, b.depth);
    }
  }
  for (int64_t i = 0; i < b.n_queries; i++) soften_row(b, i, b.scores + i * ld, ld);
  weigh_values<false>(b, b.scores, ld, nullptr);
}

// ---- many queries

// Adds a bias of its own for every query i and key j of `width` queries to their scores.
void add_bias(const AttentionBlock &b, int64_t first, float *scores, int64_t ld) {
  const int64_t n = b.n_queries - first < width ? b.n_queries - first : width;
  for (int64_t i = 0; i < n; i++) {
    const float *bias = b.bias + (first + i) * b.bias_stride;
    for (int64_t j = 0; j < b.n_keys; j++) scores[j * ld + i] += bias[j];
  }
}

// Hides keys from the queries that may not see them.
void hide_keys(const AttentionBlock &b, int64_t first, float *scores, int64_t ld) {
  I visible;
  int64_t least = b.n_keys;
  for (int64_t i = 0; i < width; i++) {
    int64_t n = first + i < b.n_queries ? b.n_visible[first + i] : b.n_keys;
    n = n < 0 ? 0 : n < b.n_keys ? n : b.n_keys;
    visible[i] = static_cast<int32_t>(n);
    least = n < least ? n : least;
  }
  for (int64_t j = least; j < b.n_keys; j++) {
    const I at = static_cast<int32_t>(j) - I{};
    store(scores + j * ld, visible > at ? load(scores + j * ld) : splat(-infinity));
  }
}

void rescale(const AttentionBlock &b, int64_t first, F factor) {
  for (int64_t i = 0; i < width && first + i < b.n_queries; i++) {
    float *out = b.out + (first + i) * b.value_depth;
    if (factor[i] != 1.0f) scale(out, out, static_cast<size_t>(b.value_depth), factor[i]);
  }
}

// As soften_row, for `width` queries at once whose scores are columns.
void soften_columns(const AttentionBlock &b, int64_t first, float *scores, int64_t ld) {
  const bool own_bias = b.bias && b.bias_stride != 0;
  if (own_bias) add_bias(b, first, scores, ld);
  if (b.bias && !own_bias) {
    for (int64_t j = 0; j < b.n_keys; j++) store(scores + j * ld, load(scores + j * ld) + b.bias[j]);
  }
  if (b.n_visible) hide_keys(b, first, scores, ld);
  const F before = load(b.maximum + first);
  F best[2] = {before, before};
  int64_t j = 0;
  for (; j + 2 <= b.n_keys; j += 2) {
    best[0] = maximum(best[0], load(scores + j * ld));
    best[1] = maximum(best[1], load(scores + (j + 1) * ld));
  }
  if (j < b.n_keys) best[0] = maximum(best[0], load(scores + j * ld));
  const F now = maximum(best[0], best[1]);
  const F centre = now == -infinity ? F{} : now;  // nothing visible so far: all weights become 0
  store(b.maximum + first, now);
  const F factor = now == before ? splat(1.0f) : exp_nonpositive(before - centre);
  rescale(b, first, factor);
  F sum[2] = {};
  for (j = 0; j + 2 <= b.n_keys; j += 2) {
    const F x = exp_nonpositive(load(scores + j * ld) - centre);
    const F y = exp_nonpositive(load(scores + (j + 1) * ld) - centre);
    store(scores + j * ld, x);
    store(scores + (j + 1) * ld, y);
    sum[0] += x;
    sum[1] += y;
  }
  if (j < b.n_keys) {
    const F x = exp_nonpositive(load(scores + j * ld) - centre);
    store(scores + j * ld, x);
    sum[0] += x;
  }
  store(b.sum + first, load(b.sum + first) * factor + (sum[0] + sum[1]));
}

void attend_many(const AttentionBlock &b) {
  const int64_t ld = rounded_up(b.n_queries);
  multiply<false>(b.scores, ld, b.k, b.k_stride, {b.q, 0}, b.n_keys, ld, b.depth, false);
  for (int64_t i = 0; i < ld; i += width) soften_columns(b, i, b.scores + i, ld);
  weigh_values<true>(b, b.scores, ld, b.scores + b.n_keys * ld);
}

}  // namespace

size_t attention_scratch(int64_t n_queries, int64_t n_keys, int64_t value_depth) {
  const bool few = n_queries <= few_queries;
  return static_cast<size_t>(few ? n_queries * rounded_up(n_keys) : n_keys * (rounded_up(n_queries) + value_depth));
}

// The queries as the packed right factor (depth, n_queries), the padding 0.
void attention_queries(float *out, const float *q, int64_t n_queries, int64_t depth) {
  const int64_t ld = rounded_up(n_queries);
  for (int64_t i0 = 0; i0 < ld; i0 += 2 * width) {
    const int64_t columns = ld - i0 < 2 * width ? width : 2 * width;
    for (int64_t i = 0; i < columns; i++) {
      const float *row = q + (i0 + i) * depth;
      const bool inside = i0 + i < n_queries;
      for (int64_t d = 0; d < depth; d++) out[d * columns + i] = inside ? row[d] : 0.0f;
    }
    out += depth * columns;
  }
}

void attention(const AttentionBlock *block) {
  if (block->n_queries <= few_queries) {
    attend_few(*block);
  } else {
    attend_many(*block);
  }
}

}  // namespace mx::cpu::rows::MX_LEVEL
