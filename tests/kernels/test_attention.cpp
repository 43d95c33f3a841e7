// attention against a scalar reference in double that stores the whole score matrix.
#include "tests/kernels/kernel_test.hpp"

using namespace mx;
using namespace mx::cpu;

namespace {

struct Case {
  DType dtype;
  int64_t batch, heads, kv_heads, queries, keys, depth, value_depth;
  MaskKind mask = MaskKind::none;
  Dims mask_shape = {};
  DType mask_dtype = DType::float32;
  bool sinks = false;
  Arrangement arrangement = Arrangement::row_major;
};

double mask_value(const Case &c, const Values &mask, int64_t b, int64_t h, int64_t i, int64_t j) {
  const int64_t at[4] = {b, h, i, j};
  int64_t index = 0;
  const size_t missing = 4 - c.mask_shape.size();
  for (size_t d = 0; d < c.mask_shape.size(); d++) {
    index = index * c.mask_shape[d] + (c.mask_shape[d] == 1 ? 0 : at[missing + d]);
  }
  return mask[static_cast<size_t>(index)];
}

Values reference(const Case &c, double scale, const Values &q, const Values &k, const Values &v, const Values &mask,
                 const Values &sinks) {
  Values out(static_cast<size_t>(c.batch * c.heads * c.queries * c.value_depth));
  Values score(static_cast<size_t>(c.keys));
  for (int64_t row = 0; row < c.batch * c.heads * c.queries; row++) {
    const int64_t b = row / (c.heads * c.queries), h = row / c.queries % c.heads, i = row % c.queries;
    const int64_t kv = b * c.kv_heads + h / (c.heads / c.kv_heads);
    double max = c.sinks ? sinks[h] : -infinity, sum = 0;
    for (int64_t j = 0; j < c.keys; j++) {
      double s = 0;
      for (int64_t d = 0; d < c.depth; d++) s += q[row * c.depth + d] * k[(kv * c.keys + j) * c.depth + d];
      s *= scale;
      if (c.mask == MaskKind::array) {
        const double m = mask_value(c, mask, b, h, i, j);
        s = c.mask_dtype != DType::bool_ ? s + m : m != 0 ? s : -1e38;
      }
      if (c.mask == MaskKind::causal && j > i + c.keys - c.queries) s = -1e38;
      score[j] = s;
      max = std::max(max, s);
    }
    if (c.sinks) sum = std::exp(sinks[h] - max);
    for (double &s : score) sum += s = std::exp(s - max);
    for (int64_t j = 0; j < c.keys; j++) {
      for (int64_t d = 0; d < c.value_depth; d++) {
        out[row * c.value_depth + d] += score[j] / sum * v[(kv * c.keys + j) * c.value_depth + d];
      }
    }
  }
  return out;
}

void check(const Case &c) {
  Numbers numbers(static_cast<uint64_t>(c.queries * 7 + c.keys));
  const double scale = 0.375;
  const Dims q_shape{c.batch, c.heads, c.queries, c.depth}, k_shape{c.batch, c.kv_heads, c.keys, c.depth};
  const Dims v_shape{c.batch, c.kv_heads, c.keys, c.value_depth}, out_shape{c.batch, c.heads, c.queries, c.value_depth};
  const Values qv = numbers.eighths(product(q_shape), -2, 2), kv = numbers.eighths(product(k_shape), -2, 2);
  const Values vv = numbers.eighths(product(v_shape), -2, 2), sv = numbers.eighths(c.heads, -2, 2);
  const Values mv = c.mask_dtype == DType::bool_ ? numbers.integers(product(c.mask_shape), 0, 2)
                                                 : numbers.eighths(product(c.mask_shape), -4, 4);
  const Array q(c.dtype, q_shape, qv, c.arrangement), k(c.dtype, k_shape, kv, c.arrangement),
      v(c.dtype, v_shape, vv, c.arrangement);
  const Array mask(c.mask_dtype, c.mask_shape, mv, c.arrangement), sinks(c.dtype, {c.heads}, sv),
      out(c.dtype, out_shape);
  const Attrs attrs = Attrs().put(scale).put(static_cast<int64_t>(c.mask)).put(c.sinks);
  const bool masked = c.mask == MaskKind::array;
  if (masked && c.sinks) call(attention, attrs, {&q, &k, &v, &mask, &sinks}, out);
  if (masked && !c.sinks) call(attention, attrs, {&q, &k, &v, &mask}, out);
  if (!masked && c.sinks) call(attention, attrs, {&q, &k, &v, &sinks}, out);
  if (!masked && !c.sinks) call(attention, attrs, {&q, &k, &v}, out);
  const Values expected = reference(c, scale, qv, kv, vv, mv, sv), found = out.values();
  for (size_t i = 0; i < found.size(); i++)
    CHECK(close(found[i], expected[i], tolerance(c.dtype), 2 * tolerance(c.dtype)));
}

void test_shapes() {
  for (DType dtype : floating) {
    for (Arrangement arrangement : arrangements) {
      for (MaskKind mask : {MaskKind::none, MaskKind::causal}) {
        for (bool sinks : {false, true}) {
          check({dtype, 2, 4, 2, 5, 7, 8, 8, mask, {}, DType::float32, sinks, arrangement});
          check({dtype, 1, 3, 3, 1, 300, 16, 20, mask, {}, DType::float32, sinks, arrangement});
          check({dtype, 1, 2, 1, 70, 140, 24, 33, mask, {}, DType::float32, sinks, arrangement});
          check(
              {dtype, 1, 1, 1, 9, 4, 5, 3, mask, {}, DType::float32, sinks, arrangement});  // queries that see nothing
        }
      }
    }
  }
  for (int64_t queries : {1, 2, 3, 4, 5, 6, 7, 8, 13, 64, 65}) {
    check({DType::float32, 1, 2, 2, queries, 129, 64, 64});
    check({DType::float32, 1, 6, 2, queries, 600, 40, 40, MaskKind::causal});
  }
}

void test_masks() {
  for (DType dtype : floating) {
    for (DType mask_dtype : {DType::bool_, dtype}) {
      for (Arrangement arrangement : arrangements) {
        check({dtype, 2, 4, 2, 6, 150, 8, 8, MaskKind::array, {2, 4, 6, 150}, mask_dtype, false, arrangement});
        check({dtype, 2, 4, 2, 6, 9, 8, 8, MaskKind::array, {6, 9}, mask_dtype, true, arrangement});
        check({dtype, 2, 4, 2, 6, 9, 8, 8, MaskKind::array, {2, 1, 1, 9}, mask_dtype, false, arrangement});
        check({dtype, 2, 4, 2, 1, 9, 8, 8, MaskKind::array, {4, 1, 1}, mask_dtype, false, arrangement});
      }
    }
  }
}

// An additive mask of -inf hides keys, also a whole first block of them; a query that is hidden from all gives NaN.
void test_infinite_mask() {
  const int64_t keys = 200;
  const Array q(DType::float32, {1, 1, 2, 4}, Values(8, 1)), k(DType::float32, {1, 1, keys, 4}, Values(800, 1));
  Values values(static_cast<size_t>(keys)), hidden(static_cast<size_t>(2 * keys), -infinity);
  std::iota(values.begin(), values.end(), 0.0);
  hidden[150] = 0;
  const Array v(DType::float32, {1, 1, keys, 1}, values), mask(DType::float32, {2, keys}, hidden),
      out(DType::float32, {1, 1, 2, 1});
  call(attention, Attrs().put(1.0).put(1).put(false), {&q, &k, &v, &mask}, out);
  CHECK(out.values()[0] == 150 && std::isnan(out.values()[1]));
}

void test_empty() {
  const Array q(DType::float32, {1, 2, 0, 4}), k(DType::float32, {1, 2, 3, 4}), v(DType::float32, {1, 2, 3, 4});
  call(attention, Attrs().put(1.0).put(0).put(false), {&q, &k, &v}, q);
  const Array query(DType::float32, {1, 2, 2, 4}, Values(16, 1)), none(DType::float32, {1, 2, 0, 4}),
      sinks(DType::float32, {2}, {0, 1});
  const Array out(DType::float32, {1, 2, 2, 4});
  call(attention, Attrs().put(1.0).put(0).put(true), {&query, &none, &none, &sinks}, out);
  CHECK(same(out.values(), Values(16, 0)));
}

}  // namespace

int main() {
  test_shapes();
  test_masks();
  test_infinite_mask();
  test_empty();
}
