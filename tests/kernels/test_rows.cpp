// The row kernels of the level that is in use (MX_ISA chooses): every half, conversions of every 16-bit pattern, exp
// over its whole range, and lengths around the vector width.
#include "backends/cpu/rows/rows.hpp"
#include "tests/kernels/kernel_test.hpp"

using namespace mx;
using namespace mx::cpu;

namespace {

const rows::Table &table = rows::table();

void test_conversions() {
  std::vector<uint16_t> all(65536), back(65536);
  std::iota(all.begin(), all.end(), uint16_t{0});
  std::vector<float> wide(65536);
  table.half_to_float(wide.data(), all.data(), all.size());
  table.float_to_half(back.data(), wide.data(), wide.size());
  for (size_t i = 0; i < all.size(); i++) {
    CHECK(same(wide[i], widen(Float16{all[i]})));
    CHECK(std::isnan(wide[i]) ? std::isnan(widen(Float16{back[i]})) : back[i] == all[i]);
  }
  table.bfloat_to_float(wide.data(), all.data(), all.size());
  table.float_to_bfloat(back.data(), wide.data(), wide.size());
  for (size_t i = 0; i < all.size(); i++) {
    CHECK(std::isnan(wide[i]) ? std::isnan(widen(BFloat16{back[i]})) : back[i] == all[i]);
  }
}

// Values between neighbouring halves go to the nearer one, ties to the even one.
void test_rounding() {
  for (uint16_t h = 0; h < 0x7bff; h++) {
    const float low = widen(Float16{h}), high = widen(Float16{static_cast<uint16_t>(h + 1)}), middle = (low + high) / 2;
    const float x[3] = {std::nextafter(middle, low), middle, std::nextafter(middle, high)};
    uint16_t found[3];
    table.float_to_half(found, x, 3);
    CHECK(found[0] == h && found[1] == h + h % 2 && found[2] == h + 1);
    for (int i = 0; i < 3; i++) CHECK(narrow_half(x[i]).bits == found[i]);
  }
  const float x[4] = {65519.0f, 65520.0f, -INFINITY, 1e-9f};
  uint16_t found[4];
  table.float_to_half(found, x, 4);
  CHECK(found[0] == 0x7bff && found[1] == 0x7c00 && found[2] == 0xfc00 && found[3] == 0);
}

void test_exp() {
  double worst = 0;
  std::vector<float> x, y;
  for (float v = -87.3f; v <= 0; v += 1e-4f) x.push_back(v);
  for (float v = -1e-30f; v > -0.1f; v *= 1.5f) x.push_back(v);
  y.resize(x.size());
  table.exp_rows(y.data(), x.data(), x.size(), 0.0f);
  for (size_t i = 0; i < x.size(); i++) {
    const double exact = std::exp(double{x[i]});
    const double ulp = std::ldexp(1.0, std::ilogb(exact) - 23);
    worst = std::max(worst, std::abs(y[i] - exact) / ulp);
  }
  CHECK(worst <= 1.5);
  const float special[4] = {-INFINITY, 0.0f, NAN, -200.0f};
  float found[4];
  table.exp_rows(found, special, 4, 0.0f);
  CHECK(found[0] == 0 && found[1] == 1 && std::isnan(found[2]) && found[3] == 0);
}

void test_lengths() {
  Numbers numbers;
  for (int64_t n = 0; n < 200; n++) {
    const Values v = numbers.integers(n, -9, 9);
    const std::vector<float> x(v.begin(), v.end());
    const auto count = static_cast<size_t>(n);
    double max = -infinity, min = infinity, sum = 0, squares = 0;
    for (double e : v) max = std::max(max, e), min = std::min(min, e), sum += e, squares += (e - 2) * (e - 2);
    CHECK(table.maximum(x.data(), count) == max && table.minimum(x.data(), count) == min);
    CHECK(table.sum(x.data(), count) == sum && table.sum_squares(x.data(), count, 2.0f) == squares);
    std::vector<float> running(count + 1, 7.0f);
    double carry = 5;
    CHECK(table.cumulative_sum(running.data(), x.data(), count, 5.0f) == sum + 5);
    for (size_t i = 0; i < count; i++) CHECK(running[i] == (carry += v[i]));
    CHECK(running[count] == 7.0f);
    for (size_t at = 0; at < count; at++) {
      std::vector<float> poisoned = x;
      poisoned[at] = NAN;
      CHECK(std::isnan(table.maximum(poisoned.data(), count)) && std::isnan(table.minimum(poisoned.data(), count)));
    }
  }
}

}  // namespace

void test_stream() {
  std::vector<float> x(200), y(200);
  std::iota(x.begin(), x.end(), 1.0f);
  for (size_t at = 0; at < 17; at++)
    for (size_t n : {0, 1, 15, 16, 17, 100}) {
      std::fill(y.begin(), y.end(), 0.0f);
      table.stream(y.data() + at, x.data() + 3, n);
      for (size_t i = 0; i < y.size(); i++) CHECK(y[i] == (i >= at && i < at + n ? x[i - at + 3] : 0.0f));
    }
}

int main() {
  test_stream();
  test_conversions();
  test_rounding();
  test_exp();
  test_lengths();
}
