// softmax and logsumexp against scalar references in double.
#include "tests/kernels/kernel_test.hpp"

using namespace mx;
using namespace mx::cpu;

namespace {

Values softmax_reference(const Values &x, int64_t n) {
  Values out(x.size());
  for (size_t r = 0; r < x.size(); r += static_cast<size_t>(n)) {
    double max = -infinity, sum = 0;
    for (int64_t i = 0; i < n; i++) max = std::isnan(x[r + i]) || x[r + i] > max ? x[r + i] : max;
    for (int64_t i = 0; i < n; i++) sum += std::exp(x[r + i] - max);
    for (int64_t i = 0; i < n; i++) out[r + i] = std::exp(x[r + i] - max) / sum;
  }
  return out;
}

void check_rows(DType dtype, Dims shape, Arrangement arrangement, const Values &x) {
  const int64_t n = shape.back();
  const Array in(dtype, shape, x, arrangement), out(dtype, shape);
  call(softmax, Attrs().put(true), {&in}, out);
  const Values expected = softmax_reference(x, n), found = out.values();
  for (size_t i = 0; i < x.size(); i++) CHECK(close(found[i], expected[i], tolerance(dtype), 1e-7));
  Dims reduced = shape;
  reduced.back() = 1;
  const Array lse(dtype, reduced);
  call(logsumexp, Attrs(), {&in}, lse);
  const Values sums = lse.values();
  for (size_t r = 0; r < sums.size(); r++) {
    double max = -infinity, sum = 0;
    for (int64_t i = 0; i < n; i++) max = std::max(max, x[r * n + i]);
    for (int64_t i = 0; i < n; i++) sum += std::exp(x[r * n + i] - max);
    CHECK(close(sums[r], max + std::log(sum), tolerance(dtype), tolerance(dtype)));
  }
}

void test_layouts() {
  Numbers numbers;
  for (DType dtype : floating) {
    for (Arrangement arrangement : arrangements) {
      for (int64_t n : {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64, 100, 257, 1100}) {
        check_rows(dtype, {2, 3, n}, arrangement, numbers.eighths(6 * n, -20, 20));
      }
    }
  }
}

void test_long_rows() {
  Numbers numbers(2);
  for (int64_t n : {65536, 65537, 300000})
    check_rows(DType::float32, {2, n}, Arrangement::row_major, numbers.eighths(2 * n, -5, 5));
}

void test_special_values() {
  for (DType dtype : floating) {
    const Array in(dtype, {4, 2}, {-infinity, -infinity, infinity, 0, not_a_number, 1, -infinity, 3});
    const Array out(dtype, {4, 2}), lse(dtype, {4, 1});
    call(softmax, Attrs().put(false), {&in}, out);
    const Values found = out.values();
    for (size_t i : {0, 1, 2, 3, 4, 5}) CHECK(std::isnan(found[i]));
    CHECK(found[6] == 0 && found[7] == 1);
    call(logsumexp, Attrs(), {&in}, lse);
    CHECK(same(lse.values(), {-infinity, infinity, not_a_number, 3}));
  }
}

void test_empty() {
  for (DType dtype : floating) {
    const Array in(dtype, {3, 0}), out(dtype, {3, 0}), lse(dtype, {3, 1}), none(dtype, {0, 5});
    call(softmax, Attrs().put(false), {&in}, out);
    call(softmax, Attrs().put(false), {&none}, none);
    call(logsumexp, Attrs(), {&in}, lse);
    CHECK(same(lse.values(), {-infinity, -infinity, -infinity}));
  }
}

}  // namespace

int main() {
  test_layouts();
  test_long_rows();
  test_special_values();
  test_empty();
}
