// scan against a scalar reference: all kinds, directions, dtypes, axes and layouts; long lines take the two-pass form.
#include "tests/kernels/kernel_test.hpp"

using namespace mx;
using namespace mx::cpu;

namespace {

double combine(ScanKind kind, double a, double b) {
  switch (kind) {
    case ScanKind::sum:
      return a + b;
    case ScanKind::prod:
      return a * b;
    case ScanKind::min:
      return std::isnan(a) || a < b ? a : b;
    case ScanKind::max:
      return std::isnan(a) || a > b ? a : b;
    default: {
      const double high = std::max(a, b);
      return std::isinf(high) ? high : high + std::log1p(std::exp(std::min(a, b) - high));
    }
  }
}

double identity(ScanKind kind) {
  return kind == ScanKind::sum ? 0 : kind == ScanKind::prod ? 1 : kind == ScanKind::min ? infinity : -infinity;
}

Values reference(const Values &x, const Dims &shape, int64_t axis, ScanKind kind, bool reverse, bool inclusive) {
  Values out(x.size());
  const int64_t n = shape[static_cast<size_t>(axis)];
  int64_t inner = 1;
  for (size_t d = static_cast<size_t>(axis) + 1; d < shape.size(); d++) inner *= shape[d];
  for (int64_t line = 0; n > 0 && line < static_cast<int64_t>(x.size()) / n; line++) {
    double carry = identity(kind);
    for (int64_t i = 0; i < n; i++) {
      const int64_t at = (line / inner * n + (reverse ? n - 1 - i : i)) * inner + line % inner;
      const double next = combine(kind, carry, x[static_cast<size_t>(at)]);
      out[static_cast<size_t>(at)] = inclusive ? next : carry;
      carry = next;
    }
  }
  return out;
}

constexpr ScanKind kinds[] = {ScanKind::sum, ScanKind::prod, ScanKind::min, ScanKind::max, ScanKind::logaddexp};

void check(DType dtype, const Dims &shape, const Values &x, Arrangement arrangement, ScanKind kind, double limit) {
  for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); axis++) {
    for (int flags = 0; flags < 4; flags++) {
      const bool reverse = flags & 1, inclusive = flags & 2;
      const Array in(dtype, shape, x, arrangement), out(dtype, shape);
      call(scan, Attrs().put(static_cast<int64_t>(kind)).put(axis).put(reverse).put(inclusive), {&in}, out);
      const Values expected = reference(x, shape, axis, kind, reverse, inclusive), found = out.values();
      for (size_t i = 0; i < x.size(); i++) {
        // The identity of an integer's minimum or maximum is its limit, not infinity.
        if (std::isinf(expected[i]) && !is_inexact(dtype)) continue;
        CHECK(close(found[i], expected[i], limit, limit));
      }
    }
  }
}

void test_all_dtypes() {
  Numbers numbers;
  for (DType dtype : all_dtypes) {
    for (Arrangement arrangement : arrangements) {
      for (ScanKind kind : kinds) {
        if (dtype == DType::bool_ && (kind == ScanKind::sum || kind == ScanKind::logaddexp)) continue;
        if (kind == ScanKind::logaddexp && !is_inexact(dtype)) continue;
        const bool exact = kind != ScanKind::logaddexp;
        const double limit = exact ? 0 : tolerance(part_dtype(dtype));
        const Values x = kind == ScanKind::prod ? numbers.integers(60, 0, 2)
                                                : numbers.integers(60, 0, dtype == DType::bool_ ? 2 : 5);
        check(dtype, {3, 4, 5}, x, arrangement, kind, limit);
      }
    }
  }
}

void test_long() {
  Numbers numbers(2);
  for (int64_t n : {1, 7, 8, 9, 33, 1000, 131073, 300001}) {
    const Values x = numbers.integers(n, -8, 8);
    check(DType::float32, {n}, x, Arrangement::row_major, ScanKind::sum, 0);
    check(DType::int32, {n}, x, Arrangement::reversed, ScanKind::sum, 0);
    check(DType::float32, {n}, x, Arrangement::gaps, ScanKind::max, 0);
    check(DType::float64, {n}, x, Arrangement::row_major, ScanKind::logaddexp, 1e-10);
  }
  check(DType::float32, {70, 300}, numbers.integers(21000, -8, 8), Arrangement::row_major, ScanKind::sum, 0);
  check(DType::bfloat16, {2, 1000}, numbers.integers(2000, 0, 2), Arrangement::row_major, ScanKind::sum, 5e-3);
}

void test_special_values() {
  const Array in(DType::float32, {4}, {1, not_a_number, 3, 0}), out(DType::float32, {4});
  call(scan, Attrs().put(static_cast<int64_t>(ScanKind::max)).put(0).put(false).put(true), {&in}, out);
  CHECK(same(out.values(), {1, not_a_number, not_a_number, not_a_number}));
  const Array low(DType::float32, {3}, {-infinity, -infinity, 2}), sums(DType::float32, {3});
  call(scan, Attrs().put(static_cast<int64_t>(ScanKind::logaddexp)).put(0).put(false).put(true), {&low}, sums);
  CHECK(same(sums.values(), {-infinity, -infinity, 2}));
  const Array flags(DType::bool_, {3}, {1, 0, 1}), counts(DType::int32, {3}), empty(DType::int32, {0, 3});
  call(scan, Attrs().put(static_cast<int64_t>(ScanKind::sum)).put(-1).put(true).put(true), {&flags}, counts);
  CHECK(same(counts.values(), {2, 1, 1}));
  call(scan, Attrs().put(static_cast<int64_t>(ScanKind::sum)).put(0).put(true).put(true), {&empty}, empty);
  const Array ints(DType::int8, {2}, {1, 2}), least(DType::int8, {2});
  call(scan, Attrs().put(static_cast<int64_t>(ScanKind::max)).put(0).put(false).put(false), {&ints}, least);
  CHECK(same(least.values(), {-128, 1}));
}

}  // namespace

int main() {
  test_all_dtypes();
  test_long();
  test_special_values();
}
