// sort, argsort, partition, argpartition, searchsorted and arg_reduce against the standard library's stable sort.
#include <algorithm>

#include "tests/kernels/kernel_test.hpp"

using namespace mx;
using namespace mx::cpu;

namespace {

bool before(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

// The lines of a tensor along an axis, as indices into its row-major values.
std::vector<std::vector<size_t>> lines_of(const Dims &shape, int64_t axis) {
  int64_t inner = 1;
  for (size_t d = static_cast<size_t>(axis) + 1; d < shape.size(); d++) inner *= shape[d];
  const int64_t n = shape[static_cast<size_t>(axis)], n_lines = n ? product(shape) / n : 0;
  std::vector<std::vector<size_t>> lines(static_cast<size_t>(n_lines));
  for (int64_t l = 0; l < n_lines; l++) {
    for (int64_t i = 0; i < n; i++) lines[l].push_back(static_cast<size_t>((l / inner * n + i) * inner + l % inner));
  }
  return lines;
}

void check_sorts(DType dtype, const Dims &shape, int64_t axis, const Values &given, Arrangement arrangement) {
  const Array in(dtype, shape, given, arrangement), sorted(dtype, shape), order(DType::uint32, shape);
  const Values x = in.values();
  call(sort, Attrs().put(axis), {&in}, sorted);
  call(argsort, Attrs().put(axis - static_cast<int64_t>(shape.size())), {&in}, order);
  const Values values = sorted.values(), indices = order.values();
  for (const auto &line : lines_of(shape, axis)) {
    std::vector<size_t> expected(line.size());
    std::iota(expected.begin(), expected.end(), size_t{0});
    std::stable_sort(expected.begin(), expected.end(),
                     [&](size_t a, size_t b) { return before(x[line[a]], x[line[b]]); });
    for (size_t i = 0; i < line.size(); i++) {
      CHECK(indices[line[i]] == static_cast<double>(expected[i]));
      CHECK(same(values[line[i]], x[line[expected[i]]]));
    }
  }
}

void check_partition(DType dtype, const Dims &shape, int64_t axis, int64_t kth, const Values &given,
                     Arrangement arrangement) {
  const Array in(dtype, shape, given, arrangement), parted(dtype, shape), order(DType::uint32, shape);
  const Values x = in.values();
  call(partition, Attrs().put(kth).put(axis), {&in}, parted);
  call(argpartition, Attrs().put(kth).put(axis), {&in}, order);
  const Values values = parted.values(), indices = order.values();
  const int64_t n = shape[static_cast<size_t>(axis)], k = kth < 0 ? kth + n : kth;
  for (const auto &line : lines_of(shape, axis)) {
    Values expected, found, by_index;
    for (size_t i = 0; i < line.size(); i++) {
      expected.push_back(x[line[i]]);
      found.push_back(values[line[i]]);
      by_index.push_back(x[line[static_cast<size_t>(indices[line[i]])]]);
    }
    std::sort(expected.begin(), expected.end(), before);
    for (Values *v : {&found, &by_index}) {
      const double pivot = (*v)[static_cast<size_t>(k)];
      CHECK(same(pivot, expected[static_cast<size_t>(k)]));
      for (int64_t i = 0; i < n; i++) CHECK(i < k ? !before(pivot, (*v)[i]) : !before((*v)[i], pivot));
      std::sort(v->begin(), v->end(), before);
      CHECK(same(*v, expected));
    }
  }
}

void check_arg_reduce(DType dtype, const Dims &shape, int64_t axis, const Values &given, Arrangement arrangement) {
  const Array in(dtype, shape, given, arrangement);
  const Values x = in.values();
  Dims reduced = shape;
  reduced[static_cast<size_t>(axis)] = 1;
  for (bool is_max : {false, true}) {
    const Array out(DType::uint32, reduced);
    call(arg_reduce, Attrs().put(is_max).put(axis), {&in}, out);
    const Values found = out.values();
    const auto lines = lines_of(shape, axis);
    for (size_t l = 0; l < lines.size(); l++) {
      size_t best = 0;
      for (size_t i = 1; i < lines[l].size(); i++) {
        const double a = x[lines[l][i]], b = x[lines[l][best]];
        if (!std::isnan(b) && (std::isnan(a) || (is_max ? a > b : a < b))) best = i;
      }
      CHECK(found[l] == static_cast<double>(best));
    }
  }
}

Values with_specials(Values v, DType dtype) {
  if (!is_floating(dtype)) return v;
  for (size_t i = 3; i < v.size(); i += 17) v[i] = not_a_number;
  for (size_t i = 5; i < v.size(); i += 19) v[i] = infinity;
  for (size_t i = 6; i < v.size(); i += 23) v[i] = -infinity;
  for (size_t i = 0; i < v.size(); i += 11) v[i] = -0.0;
  return v;
}

void test_all_dtypes() {
  Numbers numbers;
  for (DType dtype : all_dtypes) {
    const int64_t low = is_signed_integer(dtype) || is_inexact(dtype) ? -60 : 0;
    for (Arrangement arrangement : arrangements) {
      for (const Dims &shape : {Dims{7}, Dims{3, 5, 4}, Dims{2, 300}, Dims{260, 3}, Dims{1, 1}}) {
        const Values x = with_specials(numbers.integers(product(shape), low, dtype == DType::bool_ ? 2 : 60), dtype);
        for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); axis++) {
          check_sorts(dtype, shape, axis, x, arrangement);
          check_arg_reduce(dtype, shape, axis, x, arrangement);
          const int64_t n = shape[static_cast<size_t>(axis)];
          for (int64_t kth : {int64_t{0}, n / 2, int64_t{-1}}) check_partition(dtype, shape, axis, kth, x, arrangement);
        }
      }
    }
  }
}

// Orders that divide badly, and lengths around those from which another method is used.
Values pattern(int which, int64_t n, int64_t low, int64_t high) {
  Numbers numbers(static_cast<uint64_t>(which) + 2);
  Values x = numbers.integers(n, low, high);
  switch (which) {
    case 1:  // few values
      for (double &v : x) v = std::floor(v / static_cast<double>(high) * 3);
      break;
    case 2:
      std::sort(x.begin(), x.end());
      break;
    case 3:
      std::sort(x.rbegin(), x.rend());
      break;
    case 4:  // up and down again
      std::sort(x.begin(), x.begin() + n / 2);
      std::sort(x.rbegin(), x.rbegin() + n / 2);
      break;
    case 5:  // mostly one value, and it is the largest
      for (size_t i = 0; i < x.size(); i++) x[i] = i % 7 ? static_cast<double>(high) : x[i];
      break;
    case 6:
      std::fill(x.begin(), x.end(), static_cast<double>(high));
      break;
    default:
      break;
  }
  return x;
}

void test_lengths() {
  for (DType dtype : {DType::float32, DType::int64, DType::uint8, DType::bfloat16}) {
    for (int64_t n = 1; n < 600; n += n < 70 ? 1 : 37) {
      const Values x = with_specials(pattern(static_cast<int>(n % 7), n, 0, 100), dtype);
      check_sorts(dtype, {n}, 0, x, Arrangement::row_major);
      check_partition(dtype, {n}, 0, n / 3, x, Arrangement::row_major);
    }
  }
}

void test_long() {
  for (DType dtype : all_dtypes) {
    const bool is_wide = itemsize(dtype) >= 4;
    const double high = dtype == DType::bool_ ? 1 : itemsize(dtype) == 1 ? 100 : is_wide ? 50000 : 2000;
    const bool is_common = dtype == DType::float32 || dtype == DType::int64 || dtype == DType::uint16;
    for (int which = 0; which < 7; which += is_common ? 1 : 5) {
      const int64_t n = is_wide && which < 2 ? 150'003 : 65'536 + which - 1;
      const Values x = with_specials(pattern(which, n, 0, static_cast<int64_t>(high)), dtype);
      check_sorts(dtype, {n}, 0, x, Arrangement::row_major);
      if (dtype == DType::bool_) continue;
      for (int64_t kth : {int64_t{0}, n / 3, n - 1}) check_partition(dtype, {n}, 0, kth, x, Arrangement::row_major);
      check_arg_reduce(dtype, {n}, 0, x, Arrangement::row_major);
    }
  }
}

// Keys of 64 bits are sorted by their higher halves first: none, some and all of these are equal here.
void test_halves() {
  Numbers numbers(7);
  for (DType dtype : {DType::int64, DType::uint64, DType::float64}) {
    for (int64_t n : {300, 140'000}) {
      for (const auto &[high, low] :
           {std::pair<int64_t, int64_t>{1 << 20, 1 << 30}, {40, 1 << 30}, {1, 1 << 20}, {3, 5}}) {
        Values x(static_cast<size_t>(n));
        for (double &v : x)
          v = static_cast<double>(numbers.integer(0, high)) * 0x1p32 + static_cast<double>(numbers.integer(0, low));
        if (dtype != DType::uint64)
          for (size_t i = 0; i < x.size(); i += 3) x[i] = -x[i];
        check_sorts(dtype, {n}, 0, x, Arrangement::row_major);
        check_partition(dtype, {n}, 0, n / 2, x, Arrangement::row_major);
      }
    }
  }
}

void test_extremes() {
  const std::vector<int64_t> x = {5, INT64_MAX, INT64_MIN, -1, 0, INT64_MAX, INT64_MIN + 1};
  const Array in(DType::int64, {7}), out(DType::int64, {7}), order(DType::uint32, {7});
  std::memcpy(in.tensor.data, x.data(), 56);
  call(sort, Attrs().put(0), {&in}, out);
  call(argsort, Attrs().put(0), {&in}, order);
  std::vector<int64_t> sorted = x;
  std::sort(sorted.begin(), sorted.end());
  CHECK(std::memcmp(out.tensor.data, sorted.data(), 56) == 0);
  CHECK((order.values() == Values{2, 6, 3, 4, 0, 1, 5}));
  // Every NaN, whatever its sign and payload, comes last, and -0 before +0.
  const uint32_t bits[] = {0xffc00001, 0x00000000, 0x7f800001, 0x80000000,
                           0x7f800000, 0xff800000, 0x00000001, 0x80000001};
  const Array floats(DType::float32, {8}), result(DType::float32, {8});
  std::memcpy(floats.tensor.data, bits, sizeof bits);
  call(sort, Attrs().put(0), {&floats}, result);
  const auto *y = reinterpret_cast<const uint32_t *>(result.tensor.data);
  const uint32_t expected[] = {0xff800000, 0x80000001, 0x80000000, 0x00000000, 0x00000001, 0x7f800000};
  CHECK(std::memcmp(y, expected, sizeof expected) == 0);
  CHECK(std::isnan(std::bit_cast<float>(y[6])) && std::isnan(std::bit_cast<float>(y[7])));
}

void test_threads() {
  const int before = num_threads();
  Numbers numbers(8);
  const int64_t n = 300'000;
  for (DType dtype : {DType::float32, DType::float64, DType::uint16}) {
    const Array in(dtype, {n}, with_specials(numbers.integers(n, 0, 60000), dtype));
    Values first, first_order;
    for (int threads : {0, 1, 2, 8}) {
      set_num_threads(threads);
      const Array sorted(dtype, {n}), order(DType::uint32, {n});
      call(sort, Attrs().put(0), {&in}, sorted);
      call(argsort, Attrs().put(0), {&in}, order);
      if (threads == 0) first = sorted.values(), first_order = order.values();
      CHECK(same(sorted.values(), first) && order.values() == first_order);
    }
  }
  set_num_threads(before);
}

template <class T>
void test_complex_of(DType dtype) {
  const T x[5] = {{1, 2}, {0, 5}, {1, -2}, {-0.0f, 4}, {NAN, 0}};
  const Array in(dtype, {5}), out(dtype, {5}), order(DType::uint32, {5});
  std::memcpy(in.tensor.data, x, sizeof x);
  call(sort, Attrs().put(0), {&in}, out);
  const auto *y = reinterpret_cast<const T *>(out.tensor.data);
  CHECK(y[0].im == 4 && std::signbit(y[0].re) && y[1].im == 5 && y[2].im == -2 && y[3].im == 2 && std::isnan(y[4].re));
  call(argsort, Attrs().put(0), {&in}, order);
  CHECK(order.values() == (Values{3, 1, 2, 0, 4}));
}

void test_complex() {
  test_complex_of<Complex64>(DType::complex64);
  test_complex_of<Complex128>(DType::complex128);
}

void test_searchsorted() {
  Numbers numbers(4);
  for (DType dtype : all_dtypes) {
    if (dtype == DType::bool_) continue;
    for (Arrangement arrangement : arrangements) {
      for (bool right : {false, true}) {
        Values sorted = numbers.integers(50, 0, 40), values = numbers.integers(24, 0, 45);
        std::sort(sorted.begin(), sorted.end());
        if (is_floating(dtype)) sorted[49] = sorted[48] = values[3] = not_a_number;
        const Array a(dtype, {50}, sorted, arrangement), v(dtype, {2, 3, 4}, values, arrangement),
            out(DType::uint32, {2, 3, 4});
        call(searchsorted, Attrs().put(right), {&a, &v}, out);
        const Values found = out.values();
        for (size_t i = 0; i < 24; i++) {
          const auto at = right ? std::upper_bound(sorted.begin(), sorted.end(), values[i], before)
                                : std::lower_bound(sorted.begin(), sorted.end(), values[i], before);
          CHECK(found[i] == static_cast<double>(at - sorted.begin()));
        }
      }
    }
  }
  // Several groups, and vectors shorter than a step.
  for (int64_t n : {1, 2, 3, 1000}) {
    Values sorted = numbers.integers(n, 0, 500), values = numbers.integers(3001, -5, 505);
    std::sort(sorted.begin(), sorted.end());
    const Array a(DType::int32, {n}, sorted), v(DType::int32, {3001}, values), out(DType::uint32, {3001});
    for (bool right : {false, true}) {
      call(searchsorted, Attrs().put(right), {&a, &v}, out);
      const Values found = out.values();
      for (size_t i = 0; i < found.size(); i++) {
        const auto at = right ? std::upper_bound(sorted.begin(), sorted.end(), values[i])
                              : std::lower_bound(sorted.begin(), sorted.end(), values[i]);
        CHECK(found[i] == static_cast<double>(at - sorted.begin()));
      }
    }
  }
  const Array none(DType::float32, {0}), v(DType::float32, {1}, {2}), out(DType::uint32, {1});
  call(searchsorted, Attrs().put(false), {&none, &v}, out);
  CHECK(out.values()[0] == 0);
}

void test_empty() {
  const Array none(DType::float32, {0, 3}), order(DType::uint32, {0, 3}), row(DType::uint32, {0, 1});
  for (int64_t axis : {0, 1}) {
    call(sort, Attrs().put(axis), {&none}, none);
    call(argsort, Attrs().put(axis), {&none}, order);
    call(partition, Attrs().put(0).put(axis), {&none}, none);
  }
  call(arg_reduce, Attrs().put(true).put(1), {&none}, row);
}

}  // namespace

int main() {
  test_all_dtypes();
  test_lengths();
  test_long();
  test_halves();
  test_extremes();
  test_threads();
  test_complex();
  test_searchsorted();
  test_empty();
}
