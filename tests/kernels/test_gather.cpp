// gather, gather_axis, scatter and scatter_axis against loops over positions, with negative, repeated and out-of-range
// indices.
#include <algorithm>

#include "tests/kernels/kernel_test.hpp"

using namespace mx;
using namespace mx::cpu;

namespace {

int64_t clipped(double index, int64_t n, int64_t size) {
  const int64_t i = static_cast<int64_t>(index);
  return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n - size);
}

double combine(ScatterMode mode, DType dtype, double a, double b) {
  const bool logical = dtype == DType::bool_;
  switch (mode) {
    case ScatterMode::add:
      return logical ? std::max(a, b) : a + b;
    case ScatterMode::multiply:
      return a * b;
    case ScatterMode::maximum:
      return std::max(a, b);
    case ScatterMode::minimum:
      return std::min(a, b);
    default:
      return b;
  }
}

constexpr ScatterMode modes[] = {ScatterMode::assign, ScatterMode::add, ScatterMode::multiply, ScatterMode::maximum,
                                 ScatterMode::minimum};

// x (a, b, c); indices for axes 0 and 2 of shapes (p, 1) and (q,); slices (1, sb, sc).
void check_gather(DType dtype, Arrangement arrangement, int64_t sb, int64_t sc, DType index_dtype) {
  Numbers numbers(7);
  const int64_t a = 4, b = 5, c = 6, p = 3, q = 7;
  const Values x = numbers.integers(a * b * c, 0, dtype == DType::bool_ ? 2 : 100);
  const int64_t low = is_signed_integer(index_dtype) ? -9 : 0;
  const Values i0 = numbers.integers(p, low, 9), i2 = numbers.integers(q, low, 9);
  const Array in(dtype, {a, b, c}, x, arrangement), first(index_dtype, {p, 1}, i0, arrangement);
  const Array second(index_dtype, {q}, i2, arrangement), out(dtype, {p, q, 1, sb, sc});
  call(gather, Attrs().put(Dims{0, 2}).put(Dims{1, sb, sc}), {&in, &first, &second}, out);
  const Values found = out.values();
  size_t at = 0;
  for (int64_t i = 0; i < p; i++) {
    for (int64_t j = 0; j < q; j++) {
      for (int64_t m = 0; m < sb; m++) {
        for (int64_t n = 0; n < sc; n++) {
          const int64_t from = (clipped(i0[i], a, 1) * b + m) * c + clipped(i2[j], c, sc) + n;
          CHECK(found[at++] == x[static_cast<size_t>(from)]);
        }
      }
    }
  }
}

void check_rows(int64_t rows, int64_t width, int64_t n) {
  Numbers numbers(8);
  const Values x = numbers.integers(rows * width, 0, 1000), index = numbers.integers(n, -rows, rows);
  const Array in(DType::float32, {rows, width}, x), at(DType::int32, {n}, index), out(DType::float32, {n, 1, width});
  call(gather, Attrs().put(Dims{0}).put(Dims{1, width}), {&in, &at}, out);
  const Values found = out.values();
  for (int64_t i = 0; i < n * width; i++) {
    CHECK(found[i] == x[clipped(index[i / width], rows, 1) * width + i % width]);
  }
}

void check_gather_axis(DType dtype, Arrangement arrangement, int64_t axis, bool broadcast) {
  Numbers numbers(9);
  const Dims shape{3, 4, 5};
  Dims index_shape = shape, out_shape = shape;
  index_shape[static_cast<size_t>(axis)] = out_shape[static_cast<size_t>(axis)] = 6;
  if (broadcast) index_shape[axis == 0 ? 1 : 0] = 1;
  const int64_t n = shape[static_cast<size_t>(axis)];
  const Values x = numbers.integers(60, 0, dtype == DType::bool_ ? 2 : 100);
  const Array in(dtype, shape, x, arrangement), out(dtype, out_shape);
  const Array index(DType::int32, index_shape, numbers.integers(product(index_shape), -7, 7), arrangement);
  call(gather_axis, Attrs().put(axis), {&in, &index}, out);
  Walker<3> walker(out_shape);
  walker.operand(0, in.tensor.strides);
  walker.operand(1, broadcast_strides(index.tensor, out_shape));
  walker.operand(2, out.tensor.strides);
  walker.seek(0);
  for (int64_t i = 0; i < product(out_shape); i++, walker.next()) {
    const int64_t k = clipped(get(index.tensor.data + walker.offset[1], DType::int32), n, 1);
    const int64_t stride = in.tensor.strides[static_cast<size_t>(axis)];
    const char *from = in.tensor.data + walker.offset[0] + (k - walker.at()[static_cast<size_t>(axis)]) * stride;
    CHECK(get(out.tensor.data + walker.offset[2], dtype) == get(from, dtype));
  }
}

// x (a, b, c); indices for axes 0 and 1 of shapes (p, 1) and (q,); updates (p, q, 1, sb, c).
void check_scatter(DType dtype, Arrangement arrangement, ScatterMode mode, int64_t a, int64_t b, int64_t sb, int64_t c,
                   int64_t p, int64_t q) {
  Numbers numbers(10);
  const int64_t high = dtype == DType::bool_ ? 2 : mode == ScatterMode::multiply ? 2 : 5;
  Values x = numbers.integers(a * b * c, 0, high);
  const Values u = numbers.integers(p * q * sb * c, 0, high), i0 = numbers.integers(p, -a - 1, a + 1),
               i1 = numbers.integers(q, -b - 1, b + 1);
  const Array out(dtype, {a, b, c}, x), updates(dtype, {p, q, 1, sb, c}, u, arrangement);
  const Array first(DType::int32, {p, 1}, i0, arrangement), second(DType::int64, {q}, i1, arrangement);
  call(scatter, Attrs().put(Dims{0, 1}).put(static_cast<int64_t>(mode)), {&out, &updates, &first, &second}, out);
  for (int64_t i = 0; i < p * q; i++) {
    const int64_t k0 = static_cast<int64_t>(i0[i / q]), k1 = static_cast<int64_t>(i1[i % q]);
    const int64_t row = k0 < 0 ? k0 + a : k0, column = k1 < 0 ? k1 + b : k1;
    if (row < 0 || row >= a || column < 0 || column + sb > b) continue;
    for (int64_t e = 0; e < sb * c; e++) {
      double &slot = x[static_cast<size_t>((row * b + column) * c + e)];
      slot = combine(mode, dtype, slot, u[static_cast<size_t>(i * sb * c + e)]);
    }
  }
  CHECK(same(out.values(), x));
}

void check_scatter_axis(DType dtype, Arrangement arrangement, ScatterMode mode, int64_t axis) {
  Numbers numbers(11);
  const int64_t high = dtype == DType::bool_ || mode == ScatterMode::multiply ? 2 : 5;
  const Dims shape{3, 4, 5};
  Dims index_shape = shape, value_shape;
  index_shape[static_cast<size_t>(axis)] = 6;
  value_shape = index_shape;
  value_shape[axis == 0 ? 1 : 0] = 1;
  const int64_t n = shape[static_cast<size_t>(axis)];
  const Array out(dtype, shape, numbers.integers(60, 0, high)), expected(dtype, shape, out.values());
  const Array index(DType::int32, index_shape, numbers.integers(product(index_shape), -7, 7), arrangement);
  const Array values(dtype, value_shape, numbers.integers(product(value_shape), 0, high), arrangement);
  call(scatter_axis, Attrs().put(axis).put(static_cast<int64_t>(mode)), {&out, &index, &values}, out);
  Walker<3> walker(index_shape);
  walker.operand(0, expected.tensor.strides);
  walker.operand(1, index.tensor.strides);
  walker.operand(2, broadcast_strides(values.tensor, index_shape));
  walker.seek(0);
  for (int64_t i = 0; i < product(index_shape); i++, walker.next()) {
    int64_t k = static_cast<int64_t>(get(index.tensor.data + walker.offset[1], DType::int32));
    k += k < 0 ? n : 0;
    if (k < 0 || k >= n) continue;
    char *slot = expected.tensor.data + walker.offset[0] +
                 (k - walker.at()[static_cast<size_t>(axis)]) * expected.tensor.strides[static_cast<size_t>(axis)];
    put(slot, dtype, combine(mode, dtype, get(slot, dtype), get(values.tensor.data + walker.offset[2], dtype)));
  }
  CHECK(same(out.values(), expected.values()));
}

void test_zero_sizes() {
  const Array x(DType::float32, {3, 2}, Values(6, 1)), none(DType::int32, {0}), out(DType::float32, {0, 1, 2});
  call(gather, Attrs().put(Dims{0}).put(Dims{1, 2}), {&x, &none}, out);
  call(scatter, Attrs().put(Dims{0}).put(1), {&x, &out, &none}, x);
  CHECK(same(x.values(), Values(6, 1)));
  const Array empty(DType::float32, {0, 2}), one(DType::int32, {1}, {0}), row(DType::float32, {1, 1, 2});
  bool refused = false;
  try {
    call(gather, Attrs().put(Dims{0}).put(Dims{1, 2}), {&empty, &one}, row);
  } catch (const Error &e) {
    refused = e.status() == MX_ERROR_INDEX;
  }
  CHECK(refused);
}

}  // namespace

// Divided work: few and many rows, one that is hit most of the time, indices that are dropped; the order of additions
// is seen in the rounding.
void test_large_scatter() {
  const int before = num_threads();
  Numbers numbers(9);
  for (int64_t columns : {1, 3, 100})
    for (int64_t rows : {2, 3000})
      for (bool skewed : {false, true}) {
        const int64_t n = 20'000;
        Values at = numbers.integers(n, -rows - 5, rows + 5), x = numbers.integers(n * columns, 1, 1 << 20);
        if (skewed)
          for (size_t i = 0; i < at.size(); i++) at[i] = i % 5 ? 1 : at[i];
        for (double &v : x) v = 1 / v;
        const Array index(DType::int32, {n}, at), updates(DType::float32, {n, 1, columns}, x);
        const Values values = updates.values();
        std::vector<float> expected(static_cast<size_t>(rows * columns), 0.0f);
        for (int64_t i = 0; i < n; i++) {
          const auto row =
              static_cast<int64_t>(at[static_cast<size_t>(i)]) + (at[static_cast<size_t>(i)] < 0 ? rows : 0);
          for (int64_t c = 0; row >= 0 && row < rows && c < columns; c++)
            expected[static_cast<size_t>(row * columns + c)] +=
                static_cast<float>(values[static_cast<size_t>(i * columns + c)]);
        }
        for (int threads : {0, 1, 2, 8}) {
          set_num_threads(threads);
          const Array out(DType::float32, {rows, columns}, Values(static_cast<size_t>(rows * columns), 0));
          call(scatter, Attrs().put(Dims{0}).put(static_cast<int64_t>(ScatterMode::add)), {&out, &updates, &index},
               out);
          CHECK(std::memcmp(out.tensor.data, expected.data(), expected.size() * 4) == 0);
        }
      }
  set_num_threads(before);
}

int main() {
  test_large_scatter();
  for (DType dtype : all_dtypes) {
    for (Arrangement arrangement : arrangements) {
      for (int64_t sb : {1, 3, 5}) {
        for (int64_t sc : {1, 2}) check_gather(dtype, arrangement, sb, sc, DType::int32);
      }
      for (DType index : {DType::uint8, DType::int8, DType::uint32, DType::int64})
        check_gather(dtype, arrangement, 5, 1, index);
      for (int64_t axis : {0, 1, 2}) {
        check_gather_axis(dtype, arrangement, axis, false);
        check_gather_axis(dtype, arrangement, axis, true);
      }
      for (ScatterMode mode : modes) {
        check_scatter(dtype, arrangement, mode, 4, 3, 1, 5, 6, 4);
        check_scatter(dtype, arrangement, mode, 4, 5, 2, 3, 3, 4);
        for (int64_t axis : {0, 1, 2}) check_scatter_axis(dtype, arrangement, mode, axis);
      }
    }
  }
  for (ScatterMode mode : modes) {
    check_scatter(DType::float32, Arrangement::row_major, mode, 10, 8, 1, 100, 30, 20);  // divided by columns
    check_scatter(DType::int32, Arrangement::gaps, mode, 10, 8, 1, 3, 100, 90);          // divided by place
  }
  check_rows(50, 384, 300);
  check_rows(5, 20000, 7);
  check_rows(1000, 1, 5000);
  test_zero_sizes();
}
