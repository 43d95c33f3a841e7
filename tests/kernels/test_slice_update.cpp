// slice_update, dynamic_slice, dynamic_slice_update, masked_scatter, concatenate, arange and the strided copies.
#include <algorithm>

#include "backends/cpu/strided_copy.hpp"
#include "tests/kernels/kernel_test.hpp"

using namespace mx;
using namespace mx::cpu;

namespace {

// The positions that Python's range-like slice selects.
std::vector<int64_t> positions(int64_t n, int64_t start, int64_t stop, int64_t step) {
  const auto place = [&](int64_t at) {
    if (at == INT64_MIN) return step < 0 ? int64_t{-1} : int64_t{0};
    if (at < 0) at += n;
    return step < 0 ? std::clamp<int64_t>(at, -1, n - 1) : std::clamp<int64_t>(at, 0, n);
  };
  std::vector<int64_t> out;
  for (int64_t i = place(start); step < 0 ? i > place(stop) : i < place(stop); i += step) out.push_back(i);
  return out;
}

struct Range {
  int64_t start, stop, step;
};
constexpr Range ranges[] = {{0, 100, 1}, {1, -1, 1}, {-1, INT64_MIN, -1}, {0, 100, 2},
                            {4, 1, -2},  {3, 3, 1},  {-3, 100, 1},        {5, -100, -1}};

void check_slice_update(DType dtype, Arrangement arrangement, ScatterMode mode, const Range &a, const Range &b) {
  Numbers numbers(5);
  const int64_t high = dtype == DType::bool_ || mode == ScatterMode::multiply ? 2 : 9;
  const auto rows = positions(5, a.start, a.stop, a.step), columns = positions(7, b.start, b.stop, b.step);
  Values x = numbers.integers(35, 0, high);
  const auto n_columns = static_cast<int64_t>(columns.size());
  const Values u = numbers.integers(n_columns, 0, high);  // broadcast over the rows
  const Array out(dtype, {5, 7}, x), update(dtype, {1, n_columns}, u, arrangement);
  const Attrs attrs = Attrs()
                          .put(Dims{a.start, b.start})
                          .put(Dims{a.stop, b.stop})
                          .put(Dims{a.step, b.step})
                          .put(static_cast<int64_t>(mode));
  call(slice_update, attrs, {&out, &update}, out);
  for (int64_t r : rows) {
    for (size_t c = 0; c < columns.size(); c++) {
      double &slot = x[static_cast<size_t>(r * 7 + columns[c])];
      const double other = u[c];
      const double sum = dtype == DType::bool_ ? std::max(slot, other) : slot + other;
      slot = mode == ScatterMode::add        ? sum
             : mode == ScatterMode::multiply ? slot * other
             : mode == ScatterMode::maximum  ? std::max(slot, other)
             : mode == ScatterMode::minimum  ? std::min(slot, other)
                                             : other;
    }
  }
  CHECK(same(out.values(), x));
}

void check_dynamic(DType dtype, Arrangement arrangement, int64_t start0, int64_t start2) {
  Numbers numbers(6);
  Values x = numbers.integers(4 * 3 * 5, 0, dtype == DType::bool_ ? 2 : 9);
  const Array in(dtype, {4, 3, 5}, x, arrangement), out(dtype, {2, 3, 3});
  const Array start(DType::int32, {2}, {static_cast<double>(start2), static_cast<double>(start0)}, arrangement);
  call(dynamic_slice, Attrs().put(Dims{2, 0}).put(Dims{2, 3, 3}), {&in, &start}, out);
  const int64_t s0 = std::clamp<int64_t>(start0, 0, 2), s2 = std::clamp<int64_t>(start2, 0, 2);
  const Values found = out.values(), u = numbers.integers(18, 0, dtype == DType::bool_ ? 2 : 9);
  const Array target(dtype, {4, 3, 5}, x), update(dtype, {2, 3, 3}, u, arrangement);
  call(dynamic_slice_update, Attrs().put(Dims{-1, 0}), {&target, &update, &start}, target);
  for (int64_t i = 0; i < 18; i++) {
    const int64_t at = ((s0 + i / 9) * 3 + i / 3 % 3) * 5 + s2 + i % 3;
    CHECK(found[i] == x[at]);
  }
  for (int64_t i = 0; i < 18; i++) x[((s0 + i / 9) * 3 + i / 3 % 3) * 5 + s2 + i % 3] = u[i];
  CHECK(same(target.values(), x));
}

void check_masked(DType dtype, Arrangement arrangement, int64_t rows, int64_t block, int64_t n_values) {
  Numbers numbers(7);
  Values x = numbers.integers(rows * 2 * block, 0, dtype == DType::bool_ ? 2 : 9);
  const Values m = numbers.integers(rows * 2, 0, 2),
               v = numbers.integers(n_values * block, 0, dtype == DType::bool_ ? 2 : 9);
  const Array out(dtype, {rows, 2, block}, x), mask(DType::bool_, {rows, 2}, m, arrangement),
      values(dtype, {n_values, block}, v, arrangement);
  call(masked_scatter, Attrs(), {&out, &mask, &values}, out);
  int64_t next = 0;
  for (int64_t i = 0; i < rows * 2; i++) {
    if (m[i] == 0 || next == n_values) continue;
    for (int64_t j = 0; j < block; j++) x[i * block + j] = v[next * block + j];
    next++;
  }
  CHECK(same(out.values(), x));
}

void check_concatenate(DType dtype, Arrangement arrangement, int64_t axis) {
  Numbers numbers(8);
  Dims a_shape{3, 4, 5}, b_shape{3, 4, 5}, empty_shape{3, 4, 5}, shape{3, 4, 5};
  const auto d = static_cast<size_t>(axis);
  b_shape[d] = 2, empty_shape[d] = 0;
  shape[d] += 2;
  const Values av = numbers.integers(60, 0, dtype == DType::bool_ ? 2 : 9),
               bv = numbers.integers(product(b_shape), 0, dtype == DType::bool_ ? 2 : 9);
  const Array a(dtype, a_shape, av, arrangement), b(dtype, b_shape, bv), none(dtype, empty_shape), out(dtype, shape);
  call(concatenate, Attrs().put(axis), {&a, &none, &b}, out);
  const Values found = out.values();
  Walker<1> walker(shape);
  walker.operand(0, Dims{0, 0, 0});
  walker.seek(0);
  for (double value : found) {
    Dims at = walker.at();
    const bool in_b = at[d] >= a_shape[d];
    if (in_b) at[d] -= a_shape[d];
    const Dims &from = in_b ? b_shape : a_shape;
    CHECK(value == (in_b ? bv : av)[static_cast<size_t>((at[0] * from[1] + at[1]) * from[2] + at[2])]);
    walker.next();
  }
}

void check_arange(DType dtype) {
  for (int64_t n : {0, 1, 10, 100000}) {
    const Array out(dtype, {n});
    call(arange, Attrs().put(n).put(dtype).put(3).put(-1).put(0.5).put(0.25), {}, out);
    const Values found = out.values();
    for (int64_t i = 0; i < n; i++) {
      char expected[16] = {};
      put(expected, dtype, is_inexact(dtype) ? 0.5 + 0.25 * static_cast<double>(i) : static_cast<double>(3 - i));
      if (dtype != DType::bool_) CHECK(found[i] == get(expected, dtype));
    }
  }
}

void check_copy(DType to, DType from, const Dims &shape, Arrangement a, Arrangement b) {
  Numbers numbers(9);
  const bool small = to == DType::bool_ || from == DType::bool_;
  const Values x = numbers.integers(product(shape), 0, small ? 2 : 120);
  const Array src(from, shape, x, a), dst(to, shape, b);
  copy(dst.tensor, src.tensor);
  CHECK(dst.guards_intact());
  CHECK(same(dst.values(), x));
}

void test_copies() {
  const Dims shapes[] = {{},       {0},        {1},       {7}, {3, 1, 5}, {130, 70}, {3, 65, 66}, {2, 3, 4, 5, 6},
                         {100000}, {70000, 2}, {2, 70000}};
  for (const Dims &shape : shapes) {
    for (Arrangement a : arrangements) {
      for (Arrangement b : arrangements) {
        for (DType dtype : movable) check_copy(dtype, dtype, shape, a, b);
      }
    }
  }
  for (DType from : all_dtypes) {
    if (is_complex(from)) continue;
    for (DType to : {DType::int32, DType::int64, DType::float32, DType::float64})
      check_copy(to, from, {5, 9}, Arrangement::transposed, Arrangement::row_major);
  }
  for (DType to : {DType::float16, DType::bfloat16})
    check_copy(to, DType::float32, {5, 9}, Arrangement::row_major, Arrangement::gaps);
  const Array row(DType::float32, {1, 3}, {1, 2, 3}), wide(DType::float32, {2, 3});
  copy(wide.tensor, row.tensor);
  CHECK(same(wide.values(), {1, 2, 3, 1, 2, 3}));
}

}  // namespace

int main() {
  test_copies();
  for (DType dtype : all_dtypes) {
    check_arange(dtype);
    for (Arrangement arrangement : arrangements) {
      for (int64_t mode = 0; mode < 5; mode++) {
        for (const Range &a : ranges) {
          for (const Range &b : ranges) check_slice_update(dtype, arrangement, static_cast<ScatterMode>(mode), a, b);
        }
      }
      for (int64_t start : {-2, 0, 1, 9}) check_dynamic(dtype, arrangement, start, 1 - start);
      for (int64_t n_values : {0, 3, 30}) check_masked(dtype, arrangement, 15, 3, n_values);
      check_masked(dtype, arrangement, 40000, 1, 50000);
      for (int64_t axis : {0, 1, 2}) check_concatenate(dtype, arrangement, axis);
    }
  }
}
