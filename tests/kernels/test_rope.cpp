// rope against a scalar reference that takes its angles in float32 and everything else in double.
#include "tests/kernels/kernel_test.hpp"

using namespace mx;
using namespace mx::cpu;

namespace {

struct Case {
  DType dtype;
  Dims shape;  // (batch, [heads,] positions, depth)
  int64_t dims;
  bool traditional;
  double base, scale;
  std::vector<double> offsets;
  bool freqs;
  Arrangement arrangement;
};

void check(const Case &c) {
  Numbers numbers(3);
  const int64_t half = c.dims / 2, depth = c.shape.back(), positions = c.shape[c.shape.size() - 2];
  const int64_t n = product(c.shape);
  const Values x = numbers.eighths(n, -4, 4), f = numbers.eighths(half, 1, 9);
  Values expected = x;
  for (int64_t row = 0; row < n / depth; row++) {
    const int64_t batch = row / (n / depth / c.shape[0]), position = row % positions;
    const double offset = c.offsets.size() == 1 ? c.offsets[0] : c.offsets[static_cast<size_t>(batch)];
    for (int64_t i = 0; i < half; i++) {
      const auto frequency =
          c.freqs ? 1.0f / static_cast<float>(f[static_cast<size_t>(i)])
                  : static_cast<float>(std::pow(c.base, -2.0 * static_cast<double>(i) / static_cast<double>(c.dims)));
      const float angle = static_cast<float>((offset + static_cast<double>(position)) * c.scale) * frequency;
      const int64_t a = row * depth + (c.traditional ? 2 * i : i),
                    b = row * depth + (c.traditional ? 2 * i + 1 : i + half);
      expected[a] = x[a] * std::cos(double{angle}) - x[b] * std::sin(double{angle});
      expected[b] = x[a] * std::sin(double{angle}) + x[b] * std::cos(double{angle});
    }
  }
  Attrs attrs;
  attrs.put(c.dims).put(c.traditional).put(c.base).put(c.scale).put(c.freqs);
  const Array in(c.dtype, c.shape, x, c.arrangement), out(c.dtype, c.shape), freqs(DType::float32, {half}, f);
  const Array offset(DType::int32, c.offsets.size() == 1 ? Dims{} : Dims{static_cast<int64_t>(c.offsets.size())},
                     c.offsets);
  c.freqs ? call(rope, attrs, {&in, &offset, &freqs}, out) : call(rope, attrs, {&in, &offset}, out);
  const Values found = out.values();
  const double limit = c.dtype == DType::float64 ? 1e-6 : tolerance(c.dtype);
  for (size_t i = 0; i < found.size(); i++) CHECK(close(found[i], expected[i], limit, 4 * limit));
}

}  // namespace

int main() {
  for (DType dtype : floating) {
    for (Arrangement arrangement : arrangements) {
      for (bool traditional : {false, true}) {
        check({dtype, {2, 3, 5, 16}, 16, traditional, 10000, 1, {0}, false, arrangement});
        check({dtype, {2, 3, 5, 18}, 6, traditional, 100, 0.5, {7, 100000}, false, arrangement});
        check({dtype, {2, 5, 8}, 8, traditional, 100, 1, {3, 9}, true, arrangement});
        check({dtype, {2, 2, 3, 4, 8}, 4, traditional, 100, 2, {-3}, false, arrangement});
        check({dtype, {1, 1, 1, 2}, 2, traditional, 100, 2, {5}, false, arrangement});
      }
    }
  }
  const Array empty(DType::float32, {0, 2, 3, 8}), offset(DType::int32, {}, {0});
  call(rope, Attrs().put(8).put(false).put(1e4).put(1.0).put(false), {&empty, &offset}, empty);
}
