// A device that is not the CPU fits in without a change above its backend: same results, order across devices, memory
// that lives until the device is done with it, failures that come late, an end of process while it is busy.
#include <cstring>
#include <string>

#include "base/status.hpp"
#include "c/check.h"
#include "compile/function.hpp"
#include "eval/eval.hpp"
#include "eval/explain.hpp"
#include "fake_backend.hpp"
#include "ops/binary.hpp"
#include "ops/index.hpp"
#include "ops/matmul.hpp"
#include "ops/reduce.hpp"
#include "ops/unary.hpp"
#include "runtime/lifecycle.hpp"

using mx::Dims;
using mx::DType;
using mx::Value;
using Floats = std::vector<float>;

static mx::test::FakeBackend *const device = new mx::test::FakeBackend;  // for ever, as add_backend asks

static Value matrix(int64_t rows, int64_t columns, float first) {
  const size_t n = static_cast<size_t>(rows * columns);
  mx::Ref<mx::Buffer> buffer = mx::allocate(n * sizeof(float));
  float *const data = reinterpret_cast<float *>(buffer->data());
  for (size_t i = 0; i < n; i++) data[i] = first + static_cast<float>(i % 17) / 8;
  return mx::make_done({DType::float32, Dims{rows, columns}}, {Dims{columns * 4, 4}, 0}, std::move(buffer));
}

static Floats values(const Value &v) {
  Floats out(static_cast<size_t>(mx::element_count(mx::spec_of(v).shape)));
  mx::read(out.data(), out.size() * sizeof(float), v);
  return out;
}

// Loops, rows, a product with what may follow it, a reduction.
static Value mixed(const Value &x, const mx::Ref<mx::Stream> &s) {
  const Value rows = mx::ops::softmax(mx::ops::exp(mx::ops::negative(x, s), s), std::nullopt, false, s);
  const Value product = mx::ops::tanh(mx::ops::matmul(rows, x, s), s);
  return mx::ops::add(product, mx::ops::sum(x, std::nullopt, false, s), s);
}

// Whether f fails with this status.
template <class F>
static bool fails_with(mx_status status, F f) {
  try {
    f();
  } catch (const mx::Error &e) {
    return e.status() == status;
  }
  return false;
}

static mx::Ref<mx::Stream> on(mx_device_type type) { return mx::new_stream({type, 0}); }

static void test_devices() {
  CHECK(mx::device_count(MX_GPU) == 0);
  CHECK(fails_with(MX_ERROR_UNSUPPORTED, [] { mx::backend_for({MX_GPU, 0}); }));
  mx::add_backend(MX_GPU, *device);
  CHECK(mx::device_count(MX_GPU) == 1 && &mx::backend_for({MX_GPU, 0}) == device);
}

static void test_same_results() {
  for (int64_t n : {1, 8, 300}) {
    const Value x = matrix(n, n, -1);
    const Floats wanted = values(mixed(x, on(MX_CPU)));
    const int before = device->launches;
    CHECK(values(mixed(x, on(MX_GPU))) == wanted);
    CHECK(device->launches > before);
    const int after = device->launches;
    CHECK(values(mixed(x, on(MX_CPU))) == wanted && device->launches == after);
  }
  CHECK(mx::explain(std::vector<Value>{mixed(matrix(4, 4, 0), on(MX_GPU))}).find("fake") != std::string::npos);
}

static void test_lone_op_of_the_default_device() {
  mx::set_default_stream(on(MX_GPU));
  const int before = device->launches;
  CHECK(values(mx::ops::negative(matrix(1, 1, 5))) == Floats{-5} && device->launches == before + 1);
  mx::set_default_stream(on(MX_CPU));
  CHECK(values(mx::ops::negative(matrix(1, 1, 5))) == Floats{-5} && device->launches == before + 1);
}

static void test_order_across_devices() {
  device->delay_us = 2000;
  const auto cpu = on(MX_CPU), gpu = on(MX_GPU);
  Value x = matrix(1, 3, 1);
  Floats wanted = values(x);
  for (int i = 0; i < 6; i++) {
    x = mx::ops::add(x, x, i % 2 ? cpu : gpu);
    for (float &value : wanted) value += value;
  }
  CHECK(values(x) == wanted);
  device->delay_us = 0;
}

// Many graphs at once: whatever was freed too early would be another graph's memory.
static void test_memory_lives_until_the_device_is_done() {
  device->delay_us = 300;
  const Floats wanted = values(mixed(mx::ops::square(matrix(64, 64, 1)), on(MX_CPU)));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&] {
      const auto s = on(MX_GPU);
      for (int round = 0; round < 10; round++) CHECK(values(mixed(mx::ops::square(matrix(64, 64, 1), s), s)) == wanted);
    });
  for (std::thread &t : threads) t.join();
  device->delay_us = 0;
}

static void test_updates_in_place() {
  const auto s = on(MX_GPU);
  Value x = mx::ops::negative(matrix(32, 32, 0), s);
  const Floats before = values(x);
  const int64_t start[] = {0, 0}, stop[] = {1, 32}, step[] = {1, 1};
  const Value changed = mx::ops::slice_update(x, matrix(1, 32, 3), start, stop, step, mx::ScatterMode::assign, s);
  const Floats after = values(changed);
  CHECK(values(x) == before && after[0] == 3 && after[32] == before[32]);
}

static void test_failures_come_late_and_once() {
  const auto s = on(MX_GPU);
  device->fails = true;
  CHECK(fails_with(MX_ERROR_INTERNAL, [&] { values(mixed(matrix(8, 8, 0), s)); }));
  CHECK(values(mx::ops::negative(matrix(1, 1, 5), s)) == Floats{-5});
}

// One entry, a program for each device.
static void test_compiled_calls() {
  auto f = mx::make_ref<mx::Function>("f", 0);
  const Value x = matrix(8, 8, -1);
  const auto call = [&] {
    auto open = mx::Call::begin(*f, {&x, 1}, {});
    if (open->state() == MX_CALL_TRACE) {
      const Value traced = mixed(open->placeholders()[0], {});
      open->commit({&traced, 1}, 0);
    }
    return open->outputs()[0];
  };
  const Floats wanted = values(mixed(x, on(MX_CPU)));
  for (int round = 0; round < 4; round++) {
    mx::set_default_stream(on(round % 2 ? MX_GPU : MX_CPU));
    const int before = device->launches;
    CHECK(values(call()) == wanted);
    CHECK((device->launches > before) == (round % 2 == 1));
  }
  CHECK(f->stats().traces == 1);
  mx::set_default_stream(on(MX_CPU));
}

int main() {
  mx::require_running();
  test_devices();
  test_same_results();
  test_lone_op_of_the_default_device();
  test_order_across_devices();
  test_memory_lives_until_the_device_is_done();
  test_updates_in_place();
  test_failures_come_late_and_once();
  test_compiled_calls();
  // The process ends while the device is busy.
  device->delay_us = 100'000;
  const Value last[] = {mixed(matrix(8, 8, 0), on(MX_GPU))};
  mx::start(last);
  return 0;
}
