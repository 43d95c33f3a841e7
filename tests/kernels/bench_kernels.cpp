// Times of the library kernels on one thread: bench_kernels [name part]. It reports; nothing depends on it.
#include <chrono>
#include <cstdio>

#include "tests/kernels/kernel_test.hpp"

using namespace mx;
using namespace mx::cpu;

namespace {

using Clock = std::chrono::steady_clock;

// The least of several runs, in microseconds.
void report(const char *filter, const char *name, const std::function<void()> &f) {
  if (!std::strstr(name, filter)) return;
  double best = 1e30, spent = 0;
  for (int i = 0; i < 200 && (i < 5 || spent < 3e5); i++) {
    const auto start = Clock::now();
    f();
    const double us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    best = std::min(best, us);
    spent += us;
  }
  std::printf("%-40s %12.1f us\n", name, best);
}

Array random(DType dtype, Dims shape, int64_t low = -8, int64_t high = 8) {
  Numbers numbers(3);
  return Array(
      dtype, shape,
      is_integer(dtype) ? numbers.integers(product(shape), low, high) : numbers.eighths(product(shape), low, high));
}

void rows_of(const char *filter, DType dtype) {
  const Array x = random(dtype, {1024, 4096}), out(dtype, {1024, 4096}), w = random(dtype, {4096}),
              lse(dtype, {1024, 1});
  std::printf("-- 1024 x 4096 %s\n", name(dtype));
  report(filter, "softmax", [&] { call(softmax, Attrs().put(false), {&x}, out); });
  report(filter, "logsumexp", [&] { call(logsumexp, Attrs(), {&x}, lse); });
  report(filter, "layer_norm", [&] { call(layer_norm, Attrs().put(1e-5).put(true).put(true), {&x, &w, &w}, out); });
  report(filter, "rms_norm", [&] { call(rms_norm, Attrs().put(1e-5).put(true), {&x, &w}, out); });
  const Array argmax(DType::uint32, {1024, 1});
  report(filter, "arg_reduce", [&] { call(arg_reduce, Attrs().put(true).put(1), {&x}, argmax); });
}

void attention_of(const char *filter, const char *label, DType dtype, Dims q, Dims k, MaskKind mask) {
  const Array query = random(dtype, q, -1, 1), key = random(dtype, k, -1, 1), out(dtype, q);
  report(filter, label, [&] {
    call(attention, Attrs().put(0.1).put(static_cast<int64_t>(mask)).put(false), {&query, &key, &key}, out);
  });
}

void moves(const char *filter) {
  const Array table = random(DType::float32, {30000, 384}), index = random(DType::int32, {4096}, 0, 30000),
              rows(DType::float32, {4096, 1, 384});
  report(filter, "gather 4096 x 384",
         [&] { call(gather, Attrs().put(Dims{0}).put(Dims{1, 384}), {&table, &index}, rows); });
  const Array target(DType::float32, {1000, 128}), update = random(DType::float32, {16384, 1, 128}),
                                                   at = random(DType::int32, {16384}, 0, 1000);
  report(filter, "scatter add 16384 x 128",
         [&] { call(scatter, Attrs().put(Dims{0}).put(1), {&target, &update, &at}, target); });
  const Array x = random(DType::float32, {1000000}, 0, 1 << 20), y(DType::float32, {1000000}),
              order(DType::uint32, {1000000});
  report(filter, "scan sum 1e6", [&] { call(scan, Attrs().put(0).put(0).put(false).put(true), {&x}, y); });
  report(filter, "scan max 1e6", [&] { call(scan, Attrs().put(3).put(0).put(false).put(true), {&x}, y); });
  report(filter, "sort 1e6", [&] { call(sort, Attrs().put(0), {&x}, y); });
  report(filter, "argsort 1e6", [&] { call(argsort, Attrs().put(0), {&x}, order); });
  const Array m = random(DType::float32, {2048, 2048}), turned(DType::float32, {2048, 2048});
  Array t(DType::float32, {2048, 2048}, Arrangement::transposed);
  report(filter, "concatenate transposed 2048^2", [&] { call(concatenate, Attrs().put(0), {&t}, turned); });
  report(filter, "concatenate 2048^2", [&] { call(concatenate, Attrs().put(0), {&m}, turned); });
  const Array key(DType::uint32, {2}, {1, 2}), bits(DType::uint32, {1000000});
  report(filter, "random_bits 1e6", [&] { call(random_bits, Attrs(), {&key}, bits); });
  const Array heads = random(DType::float32, {1, 32, 512, 128}), turned_heads(DType::float32, {1, 32, 512, 128}),
              zero(DType::int32, {}, {0});
  report(filter, "rope 32 x 512 x 128",
         [&] { call(rope, Attrs().put(128).put(false).put(1e4).put(1.0).put(false), {&heads, &zero}, turned_heads); });
}

}  // namespace

int main(int argc, char **argv) {
  const char *filter = argc > 1 ? argv[1] : "";
  for (DType dtype : {DType::float32, DType::float16, DType::bfloat16}) rows_of(filter, dtype);
  attention_of(filter, "attention 8 x 12 x 128 x 32", DType::float32, {8, 12, 128, 32}, {8, 12, 128, 32},
               MaskKind::none);
  attention_of(filter, "attention 1 x 16 x 1024 x 64 causal", DType::float32, {1, 16, 1024, 64}, {1, 16, 1024, 64},
               MaskKind::causal);
  attention_of(filter, "attention decode 9/3 x 4096 x 64", DType::float32, {1, 9, 1, 64}, {1, 3, 4096, 64},
               MaskKind::none);
  attention_of(filter, "attention decode 9/3 x 4096 x 64 bf16", DType::bfloat16, {1, 9, 1, 64}, {1, 3, 4096, 64},
               MaskKind::none);
  moves(filter);
}
