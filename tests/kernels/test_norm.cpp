// layer_norm and rms_norm against scalar references in double.
#include "tests/kernels/kernel_test.hpp"

using namespace mx;
using namespace mx::cpu;

namespace {

constexpr double eps = 1e-5;

Values reference(const Values &x, int64_t n, bool centred, const Values *weight, const Values *bias) {
  Values out(x.size());
  for (size_t r = 0; r < x.size(); r += static_cast<size_t>(n)) {
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < n && centred; i++) mean += x[r + i] / static_cast<double>(n);
    for (int64_t i = 0; i < n; i++) squares += (x[r + i] - mean) * (x[r + i] - mean) / static_cast<double>(n);
    for (int64_t i = 0; i < n; i++) {
      out[r + i] = (x[r + i] - mean) / std::sqrt(squares + eps) * (weight ? (*weight)[i] : 1) + (bias ? (*bias)[i] : 0);
    }
  }
  return out;
}

void check(DType dtype, int64_t n, Arrangement arrangement, bool has_weight, bool has_bias, DType parameter) {
  Numbers numbers(static_cast<uint64_t>(n) + 1);
  const Dims shape{2, 3, n};
  const Values x = numbers.eighths(6 * n, -4, 4), w = numbers.eighths(n, -2, 2), b = numbers.eighths(n, -2, 2);
  const Array in(dtype, shape, x, arrangement), out(dtype, shape), weight(parameter, {n}, w, arrangement),
      bias(parameter, {n}, b);
  const auto compare = [&](const Values &expected) {
    const Values found = out.values();
    for (size_t i = 0; i < x.size(); i++) CHECK(close(found[i], expected[i], tolerance(dtype), 2 * tolerance(dtype)));
  };
  const Attrs layer = Attrs().put(eps).put(has_weight).put(has_bias);
  if (has_weight && has_bias) call(layer_norm, layer, {&in, &weight, &bias}, out);
  if (has_weight && !has_bias) call(layer_norm, layer, {&in, &weight}, out);
  if (!has_weight && has_bias) call(layer_norm, layer, {&in, &bias}, out);
  if (!has_weight && !has_bias) call(layer_norm, layer, {&in}, out);
  compare(reference(x, n, true, has_weight ? &w : nullptr, has_bias ? &b : nullptr));
  if (has_bias) return;
  const Attrs rms = Attrs().put(eps).put(has_weight);
  has_weight ? call(rms_norm, rms, {&in, &weight}, out) : call(rms_norm, rms, {&in}, out);
  compare(reference(x, n, false, has_weight ? &w : nullptr, nullptr));
}

}  // namespace

int main() {
  for (DType dtype : floating) {
    for (Arrangement arrangement : arrangements) {
      for (int64_t n : {1, 2, 5, 8, 16, 31, 100, 1025}) {
        for (int flags = 0; flags < 4; flags++) check(dtype, n, arrangement, flags & 1, flags & 2, dtype);
      }
    }
  }
  check(DType::float16, 64, Arrangement::row_major, true, true, DType::float32);
  check(DType::float32, 70000, Arrangement::row_major, true, true, DType::float32);
  const Array empty(DType::float32, {0, 8}), hollow(DType::float32, {3, 0});
  call(rms_norm, Attrs().put(eps).put(false), {&empty}, empty);
  call(layer_norm, Attrs().put(eps).put(false).put(false), {&hollow}, hollow);
}
