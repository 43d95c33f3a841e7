// One block of queries against one block of keys, with the running softmax of Milakov and Gimelshein (Online normalizer
// calculation for softmax, 2018): scores, their exponentials about the maximum so far, and the weighted sum of values,
// which is rescaled when the maximum grows.
//
// Few queries take dot products with the keys as they lie. More queries pay for packed copies of keys and values, and
// both products become matrix products of register tiles.
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
constexpr int64_t few_queries = 4;

MX_INLINE int64_t rounded_up(int64_t n) { return (n + width - 1) / width * width; }

// c (rows x 1 or 2 vectors) = or += a (rows x k) b (k x ...).
template <int rows, int vectors>
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
      const F left = splat(a[r * lda + i]);
      for (int v = 0; v < vectors; v++) sum[r][v] = fma(left, right[v], sum[r][v]);
    }
  }
  for (int r = 0; r < rows; r++) {
    for (int v = 0; v < vectors; v++) store(c + r * ldc + v * width, sum[r][v]);
  }
}

// The right factor of a product: row-major, or packed into strips of two vectors' width (the last may have one), each
// of which is contiguous, so that a tile walks through neighbouring cache lines.
struct Right {
  const float *data;
  int64_t stride;  // between rows; 0: packed
};

template <int rows>
MX_INLINE void strip(float *c, int64_t ldc, const float *a, int64_t lda, const float *b, int64_t ldb, bool two,
                     int64_t k, bool accumulate) {
  if (two) {
    tile<rows, 2>(c, ldc, a, lda, b, ldb, k, accumulate);
  } else {
    tile<rows, 1>(c, ldc, a, lda, b, ldb, k, accumulate);
  }
}

// c (m x n) = or += a (m x k) b (k x n), c and a row-major; n is a multiple of the width.
void multiply(float *c, int64_t ldc, const float *a, int64_t lda, const Right &right, int64_t m, int64_t n, int64_t k,
              bool accumulate) {
  for (int64_t j = 0; j < n; j += 2 * width) {
    const bool two = j + 2 * width <= n;
    const float *b = right.data + (right.stride ? j : j * k);
    const int64_t ldb = right.stride ? right.stride : two ? 2 * width : width;
    int64_t i = 0;
    for (; i + tile_rows <= m; i += tile_rows) {
      strip<tile_rows>(c + i * ldc + j, ldc, a + i * lda, lda, b, ldb, two, k, accumulate);
    }
    if (tile_rows > 4 && i + 4 <= m) {
      strip<4>(c + i * ldc + j, ldc, a + i * lda, lda, b, ldb, two, k, accumulate);
      i += 4;
    }
    if (i + 2 <= m) {
      strip<2>(c + i * ldc + j, ldc, a + i * lda, lda, b, ldb, two, k, accumulate);
      i += 2;
    }
    if (i < m) strip<1>(c + i * ldc + j, ldc, a + i * lda, lda, b, ldb, two, k, accumulate);
  }
}

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

// The keys (n_keys, depth) as the packed right factor (depth, ld), the padding keys 0.
void pack_keys(float *out, int64_t ld, const float *k, int64_t stride, int64_t n_keys, int64_t depth) {
  for (int64_t j0 = 0; j0 < ld; j0 += 2 * width) {
    const int64_t columns = ld - j0 < 2 * width ? width : 2 * width;
    for (int64_t j = 0; j < columns; j++) {
      const float *key = k + (j0 + j) * stride;
      if (j0 + j < n_keys) {
        for (int64_t d = 0; d < depth; d++) out[d * columns + j] = key[d];
      } else {
        for (int64_t d = 0; d < depth; d++) out[d * columns + j] = 0;
      }
    }
    out += depth * columns;
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

// out += weights v; the columns beyond whole vectors by themselves. `packed` is space for n_keys * value_depth.
void weigh_values(const AttentionBlock &b, const float *weights, int64_t ld, float *packed) {
  const int64_t whole = b.value_depth / width * width;
  Right values{b.v, b.v_stride};
  if (b.n_queries > few_queries) {
    pack_values(packed, whole, b.v, b.v_stride, b.n_keys);
    values = {packed, 0};
  }
  multiply(b.out, b.value_depth, weights, ld, values, b.n_queries, whole, b.n_keys, true);
  if (whole == b.value_depth) return;
  for (int64_t i = 0; i < b.n_queries; i++) {
    for (int64_t j = 0; j < b.n_keys; j++) {
      const float weight = weights[i * ld + j];
      for (int64_t d = whole; d < b.value_depth; d++) b.out[i * b.value_depth + d] += weight * b.v[j * b.v_stride + d];
    }
  }
}

// Masks one row of scores, brings the running maximum and sum up to date, and leaves the weights in its place.
void soften(const AttentionBlock &b, int64_t i, float *scores, int64_t ld) {
  constexpr float infinity = __builtin_inff();
  if (b.bias) {
    for (int64_t j = 0; j < b.n_keys; j++) scores[j] += b.bias[i * b.n_keys + j];
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

}  // namespace

size_t attention_scratch(int64_t n_queries, int64_t n_keys, int64_t depth, int64_t value_depth) {
  const int64_t ld = rounded_up(n_keys);
  return static_cast<size_t>(n_queries * ld + (depth > value_depth ? depth : value_depth) * ld);
}

void attention(const AttentionBlock *block) {
  const AttentionBlock &b = *block;
  const int64_t ld = rounded_up(b.n_keys);
  float *scores = b.scores, *packed = scores + b.n_queries * ld;
  if (b.n_queries <= few_queries) {
    for (int64_t j = 0; j < b.n_keys; j++) {
      for (int64_t i = 0; i < b.n_queries; i++)
        scores[i * ld + j] = dot(b.q + i * b.depth, b.k + j * b.k_stride, b.depth);
    }
  } else {
    pack_keys(packed, ld, b.k, b.k_stride, b.n_keys, b.depth);
    multiply(scores, ld, b.q, b.depth, {packed, 0}, b.n_queries, ld, b.depth, false);
  }
  for (int64_t i = 0; i < b.n_queries; i++) soften(b, i, scores + i * ld, ld);
  weigh_values(b, scores, ld, packed);
}

}  // namespace mx::cpu::rows::MX_LEVEL
