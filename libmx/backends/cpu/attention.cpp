// attention: softmax(q k^T * scale + mask) v over (batch, heads, length, depth). Query heads that share a key-value
// head are one set of rows, so that keys are read once for all of them; blocks of rows meet blocks of keys in
// rows/attention.cpp, and nothing larger than such a tile is ever stored. float16 and bfloat16 are computed in float32.
//
// A boolean mask adds the lowest float where it is false and a causal one hides keys beyond i + Lk - Lq, so a query
// that may see nothing gets the mean of all values (zero if there are sinks), as in MLX's composed form.
#include <cfloat>
#include <optional>

#include "backends/cpu/float_rows.hpp"
#include "backends/cpu/kernels.hpp"
#include "base/status.hpp"
#include "ops/kinds.hpp"

namespace mx::cpu {
namespace {

constexpr int64_t query_block = 64, key_block = 128;

struct Attention {
  double scale;
  MaskKind mask_kind;
  const Tensor *q, *k, *v, *mask = nullptr, *sinks = nullptr, *out;
  Dims mask_strides;  // broadcast to (batch, query heads, queries, keys)
  int64_t batch, heads, kv_heads, group, queries, keys, depth, value_depth;
  // The key from which on query i of a head sees nothing.
  int64_t limit(int64_t i) const noexcept { return mask_kind == MaskKind::causal ? i + 1 + keys - queries : keys; }
};

Attention describe(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  Attention a;
  a.scale = attrs.real();
  a.mask_kind = static_cast<MaskKind>(attrs.integer());
  const bool has_sinks = attrs.boolean();
  a.q = &call.inputs[0], a.k = &call.inputs[1], a.v = &call.inputs[2], a.out = &call.outputs[0];
  size_t next = 3;
  if (a.mask_kind == MaskKind::array) a.mask = &call.inputs[next++];
  if (has_sinks) a.sinks = &call.inputs[next];
  a.batch = a.q->shape[0], a.heads = a.q->shape[1], a.queries = a.q->shape[2], a.depth = a.q->shape[3];
  a.kv_heads = a.k->shape[1], a.keys = a.k->shape[2], a.value_depth = a.v->shape[3];
  a.group = a.heads / std::max<int64_t>(a.kv_heads, 1);
  if (a.mask) a.mask_strides = broadcast_strides(*a.mask, Dims{a.batch, a.heads, a.queries, a.keys});
  return a;
}

float element(const char *p, DType dtype) noexcept {
  float x;
  to_floats(&x, p, dtype, 1);
  return x;
}

// What one thread needs for a block of rows.
struct Space {
  Space(const Attention &a, int64_t rows, int64_t keys)
      : q(rows * a.depth),
        packed(rows > rows::few_queries ? (rows + 15) / 16 * 16 * a.depth : 0),
        out(rows * a.value_depth),
        k(a.k->dtype == DType::float32 ? 0 : keys * a.depth),
        v(a.v->dtype == DType::float32 ? 0 : keys * a.value_depth),
        bias(a.mask ? rows * keys : 0),
        scores(static_cast<int64_t>(rows::table().attention_scratch(rows, keys, a.value_depth))) {}
  FloatScratch q, packed, out, k, v, bias, scores;
  float maximum[query_block] = {}, sum[query_block] = {};
  int64_t limit[query_block], visible[query_block];
};

// Rows of the group that shares key-value head `h`: row r is query r % queries of query head h * group + r / queries.
struct RowBlock {
  int64_t b, h, first, n;
};

void load_queries(const Attention &a, const RowBlock &block, Space &space) {
  const Tensor &q = *a.q;
  for (int64_t i = 0; i < block.n; i++) {
    const int64_t r = block.first + i, head = block.h * a.group + r / a.queries, at = r % a.queries;
    const char *row = q.data + block.b * q.strides[0] + head * q.strides[1] + at * q.strides[2];
    float *to = space.q.data() + i * a.depth;
    to_floats(to, row, q.dtype, a.depth);
    float scale = static_cast<float>(a.scale);
    space.limit[i] = a.limit(at);
    if (space.limit[i] <= 0 && !a.sinks) {  // sees nothing: equal scores for all keys
      scale = 0;
      space.limit[i] = a.keys;
    }
    rows::table().scale(to, to, static_cast<size_t>(a.depth), scale);
    space.maximum[i] = a.sinks ? element(a.sinks->data + head * a.sinks->strides[0], a.sinks->dtype)
                               : -std::numeric_limits<float>::infinity();
    space.sum[i] = a.sinks ? 1.0f : 0.0f;
  }
  if (block.n > rows::few_queries)
    rows::table().attention_queries(space.packed.data(), space.q.data(), block.n, a.depth);
  std::fill_n(space.out.data(), block.n * a.value_depth, 0.0f);
}

// One row of the mask as what is added to the scores.
void load_mask_row(float *out, const char *in, int64_t stride, DType dtype, int64_t n) {
  const int64_t size = itemsize(dtype);
  if (dtype == DType::bool_) {
    for (int64_t j = 0; j < n; j++) out[j] = in[j * stride] ? 0.0f : -FLT_MAX;
  } else if (stride == size) {
    to_floats(out, in, dtype, n);
  } else {
    for (int64_t j = 0; j < n; j++) out[j] = element(in + j * stride, dtype);
  }
}

// Returns the floats between the rows of the bias: 0 if all queries have the same.
int64_t load_mask(const Attention &a, const RowBlock &block, int64_t key, int64_t n_keys, Space &space) {
  const Dims &s = a.mask_strides;
  const bool same = s[2] == 0 && (s[1] == 0 || a.group == 1);
  for (int64_t i = 0; i < (same ? 1 : block.n); i++) {
    const int64_t r = block.first + i, head = block.h * a.group + r / a.queries;
    const char *row = a.mask->data + block.b * s[0] + head * s[1] + r % a.queries * s[2] + key * s[3];
    load_mask_row(space.bias.data() + i * n_keys, row, s[3], a.mask->dtype, n_keys);
  }
  return same ? 0 : n_keys;
}

// Rows of k or v as floats: where they lie if they are float32, else converted.
const float *load_rows(const Tensor &t, const RowBlock &block, int64_t key, int64_t n_keys, float *space,
                       int64_t *stride) {
  const char *rows = t.data + block.b * t.strides[0] + block.h * t.strides[1] + key * t.strides[2];
  if (t.dtype == DType::float32) {
    *stride = t.strides[2] / 4;
    return reinterpret_cast<const float *>(rows);
  }
  *stride = t.shape[3];
  for (int64_t j = 0; j < n_keys; j++) to_floats(space + j * *stride, rows + j * t.strides[2], t.dtype, *stride);
  return space;
}

void store_outputs(const Attention &a, const RowBlock &block, Space &space) {
  const int64_t row_bytes = a.value_depth * itemsize(a.out->dtype);
  for (int64_t i = 0; i < block.n; i++) {
    // Heads of a group and their queries are neighbours, so are the rows of the output.
    const int64_t row = (block.b * a.heads + block.h * a.group) * a.queries + block.first + i;
    float *values = space.out.data() + i * a.value_depth;
    rows::table().scale(values, values, static_cast<size_t>(a.value_depth), 1.0f / space.sum[i]);
    from_floats(a.out->data + row * row_bytes, values, a.out->dtype, a.value_depth);
  }
}

void run_block(const Attention &a, const RowBlock &block, int64_t keys_per_block, Space &space) {
  load_queries(a, block, space);
  const int64_t last = std::min(a.keys, *std::max_element(space.limit, space.limit + block.n));
  for (int64_t key = 0; key < last; key += keys_per_block) {
    check_cancel();
    rows::AttentionBlock tile{};
    tile.n_queries = block.n, tile.n_keys = std::min(keys_per_block, last - key);
    tile.depth = a.depth, tile.value_depth = a.value_depth;
    tile.q = block.n > rows::few_queries ? space.packed.data() : space.q.data();
    tile.k = load_rows(*a.k, block, key, tile.n_keys, space.k.data(), &tile.k_stride);
    tile.v = load_rows(*a.v, block, key, tile.n_keys, space.v.data(), &tile.v_stride);
    if (a.mask) {
      tile.bias_stride = load_mask(a, block, key, tile.n_keys, space);
      tile.bias = space.bias.data();
    }
    if (a.mask_kind == MaskKind::causal) {
      for (int64_t i = 0; i < block.n; i++) space.visible[i] = space.limit[i] - key;
      tile.n_visible = space.visible;
    }
    tile.scores = space.scores.data();
    tile.maximum = space.maximum, tile.sum = space.sum, tile.out = space.out.data();
    rows::table().attention(&tile);
  }
  store_outputs(a, block, space);
}

void run_floats(Attention a) {
  std::optional<RowMajor> q, k, v;
  const auto with_contiguous_rows = [](const Tensor *&t, std::optional<RowMajor> &copied) {
    const bool even = t->dtype != DType::float32 || t->strides[2] % 4 == 0;
    if ((t->strides[3] != itemsize(t->dtype) && t->shape[3] != 1) || !even) t = &copied.emplace(*t).tensor();
  };
  with_contiguous_rows(a.q, q), with_contiguous_rows(a.k, k), with_contiguous_rows(a.v, v);
  const int64_t rows = a.group * a.queries, per_block = std::min(rows, query_block);
  const int64_t blocks = (rows + per_block - 1) / per_block;
  const int64_t keys_per_block = std::min(a.keys, per_block <= 4 ? 4 * key_block : key_block);
  const double cost = 200 + static_cast<double>(per_block * a.keys * (a.depth + a.value_depth)) / 30;
  const int64_t units = a.batch * a.kv_heads * blocks;
  parallel_for(units, Cost{cost}, [&](int64_t begin, int64_t end) {
    Space space(a, per_block, keys_per_block);
    for (int64_t u = begin; u < end; u++) {
      const int64_t first = u % blocks * per_block, head = u / blocks;
      const RowBlock block{head / a.kv_heads, head % a.kv_heads, first, std::min(per_block, rows - first)};
      run_block(a, block, keys_per_block, space);
    }
  });
}

// float64: one query at a time.
void run_double_row(const Attention &a, const double *q, const double *k, const double *v, int64_t row,
                    double *scores) {
  const int64_t b = row / (a.heads * a.queries), head = row / a.queries % a.heads, i = row % a.queries;
  const int64_t kv = b * a.kv_heads + head / a.group, limit = a.limit(i);
  double max = a.sinks ? *reinterpret_cast<const double *>(a.sinks->data + head * a.sinks->strides[0])
                       : -std::numeric_limits<double>::infinity();
  const double sink = max;
  for (int64_t j = 0; j < a.keys; j++) {
    double score = 0;
    for (int64_t d = 0; d < a.depth; d++) score += q[row * a.depth + d] * k[(kv * a.keys + j) * a.depth + d];
    score *= a.scale;
    if (a.mask) {
      const Dims &s = a.mask_strides;
      const char *at = a.mask->data + b * s[0] + head * s[1] + i * s[2] + j * s[3];
      if (a.mask->dtype != DType::bool_) {
        score += *reinterpret_cast<const double *>(at);
      } else if (!*at) {
        score = -DBL_MAX;
      }
    }
    scores[j] = j < limit ? score : -DBL_MAX;
    max = Maximum()(max, scores[j]);
  }
  double sum = a.sinks ? std::exp(sink - max) : 0;
  double *out = reinterpret_cast<double *>(a.out->data) + row * a.value_depth;
  std::fill_n(out, a.value_depth, 0.0);
  for (int64_t j = 0; j < a.keys; j++) {
    const double weight = std::exp(scores[j] - max);
    sum += weight;
    for (int64_t d = 0; d < a.value_depth; d++) out[d] += weight * v[(kv * a.keys + j) * a.value_depth + d];
  }
  for (int64_t d = 0; d < a.value_depth; d++) out[d] /= sum;
}

void run_doubles(Attention a) {
  const RowMajor q(*a.q), k(*a.k), v(*a.v);
  std::optional<RowMajor> mask, sinks;
  if (a.sinks) a.sinks = &sinks.emplace(*a.sinks, DType::float64).tensor();
  if (a.mask && a.mask->dtype != DType::bool_) {
    a.mask = &mask.emplace(*a.mask, DType::float64).tensor();
    a.mask_strides = broadcast_strides(*a.mask, Dims{a.batch, a.heads, a.queries, a.keys});
  }
  const double cost = static_cast<double>(a.keys * (a.depth + a.value_depth));
  parallel_for(a.batch * a.heads * a.queries, Cost{cost}, [&](int64_t begin, int64_t end) {
    const Ref<Buffer> scores = allocate(static_cast<size_t>(a.keys) * sizeof(double));
    for (int64_t i = begin; i < end; i++) {
      run_double_row(a, q.as<double>(), k.as<double>(), v.as<double>(), i, reinterpret_cast<double *>(scores->data()));
    }
  });
}

}  // namespace

void attention(const KernelCall &call) {
  Attention a = describe(call);
  if (size_of(*a.out) == 0) return;
  std::optional<RowMajor> mask;
  if (a.q->dtype == DType::float64) return run_doubles(std::move(a));
  const auto is_known = [](DType d) { return is_floating(d) && d != DType::float64; };
  if (a.mask && a.mask->dtype != DType::bool_ && !is_known(a.mask->dtype)) {
    a.mask = &mask.emplace(*a.mask, DType::float32).tensor();
    a.mask_strides = broadcast_strides(*a.mask, Dims{a.batch, a.heads, a.queries, a.keys});
  }
  run_floats(std::move(a));
}

}  // namespace mx::cpu
