// Evaluation: regions, what is materialised, donation, failures, many threads on one graph.
#include <cstring>
#include <thread>
#include <vector>

#include "c/check.h"
#include "compile/function.hpp"
#include "eval/eval.hpp"
#include "ops/binary.hpp"
#include "ops/index.hpp"
#include "ops/linalg.hpp"
#include "ops/reduce.hpp"
#include "ops/unary.hpp"
#include "runtime/lifecycle.hpp"
#include "runtime/pool.hpp"
#include "runtime/scheduler.hpp"

using mx::Dims;
using mx::DType;
using mx::NodeState;
using mx::Value;

static Value vector(std::vector<float> data) {
  mx::Spec spec{DType::float32, Dims{static_cast<int64_t>(data.size())}};
  mx::Ref<mx::Buffer> buffer = mx::allocate(data.size() * sizeof(float));
  std::memcpy(buffer->data(), data.data(), data.size() * sizeof(float));
  return mx::make_done(std::move(spec), {Dims{4}, 0}, std::move(buffer));
}

static std::vector<float> values(const Value &v) {
  std::vector<float> out(static_cast<size_t>(mx::element_count(mx::spec_of(v).shape)));
  mx::read(out.data(), out.size() * sizeof(float), v);
  return out;
}

static void test_values_alive_outside_are_kept() {
  const Value x = vector({1, 2, 3, 4});
  const Value middle = mx::ops::square(x), end = mx::ops::add(middle, x);
  mx::eval(end);
  CHECK(middle.node->state() == NodeState::done);  // this test still refers to it
  CHECK(values(middle) == (std::vector<float>{1, 4, 9, 16}));
  Value inner = mx::ops::negative(x);
  const Value outer = mx::ops::add(inner, x);
  const mx::Node *address = inner.node.get();
  inner = {};
  mx::eval(outer);
  CHECK(outer.node->state() == NodeState::done && address != nullptr);
}

// A compiled call is a region of its own; what is beside it and what is behind it must still be computed.
static void test_around_compiled_calls() {
  auto f = mx::make_ref<mx::Function>("f", 0);
  const Value x = vector({1, 2});
  const auto call = [&](const Value &in) {
    mx::ValueVector out, inputs;
    inputs.push_back(in);
    uint64_t tag;
    if (!mx::call_if_compiled(*f, inputs, {}, out, tag)) {
      auto open = mx::Call::begin(*f, {&in, 1}, {});
      const Value traced = mx::ops::exp(open->placeholders()[0]);
      open->commit({&traced, 1}, 0);
      out = open->outputs();
    }
    return out[0];
  };
  // x -> call -> add with a value of level 0 -> call -> multiply with the same value
  const Value shared = mx::ops::negative(x);
  const Value once = mx::ops::add(call(mx::ops::multiply(x, vector({0, 0}))), shared);
  const Value twice = mx::ops::multiply(call(mx::ops::subtract(once, once)), mx::ops::square(shared));
  CHECK(values(twice) == (std::vector<float>{1, 4}));
  CHECK(values(once) == (std::vector<float>{0, -1}));
}

static void test_streams_of_one_graph() {
  const mx::Ref<mx::Stream> a = mx::new_stream({}), b = mx::new_stream({});
  Value x = vector({1, 2, 3});
  for (int i = 0; i < 20; i++)
    x = mx::ops::add(mx::ops::negative(x, i % 2 ? a : b), mx::ops::square(x, i % 3 ? b : a), a);
  Value y = vector({1, 2, 3});
  for (int i = 0; i < 20; i++) y = mx::ops::add(mx::ops::negative(y), mx::ops::square(y));
  CHECK(std::memcmp(values(x).data(), values(y).data(), 12) == 0);
}

static void test_a_buffer_nobody_needs_is_overwritten() {
  Value x = mx::ops::add(vector(std::vector<float>(100000, 1)), vector({1}));
  mx::eval(x);
  const std::byte *before = x.node->output(0).buffer->data();
  x = mx::ops::negative(x);
  mx::eval(x);
  CHECK(x.node->output(0).buffer->data() == before);
  const mx::Ref<mx::Pin> pin = mx::pin(x);
  Value y = mx::ops::negative(x);
  x = {};
  mx::eval(y);
  CHECK(y.node->output(0).buffer->data() != before);  // pinned memory never changes
  CHECK(reinterpret_cast<const float *>(pin->data())[0] == -2);
}

static void test_failures_stay_with_what_depends_on_them() {
  const Value x = vector({1, 2, 3, 4});
  const Value good = mx::ops::exp(mx::ops::add(x, x));
  mx::Spec spec{DType::float32, Dims{2, 2}};
  mx::Ref<mx::Buffer> buffer = mx::allocate(16);
  std::memset(buffer->data(), 0, 16);
  const Value zeros = mx::make_done(spec, {Dims{8, 4}, 0}, buffer);
  const Value bad = mx::ops::cholesky(mx::ops::negative(zeros), false);  // not positive definite
  const Value behind = mx::ops::add(bad, bad);
  const Value both[] = {behind, good};
  bool thrown = false;
  try {
    mx::eval(both);
  } catch (const mx::Error &) {
    thrown = true;
  }
  CHECK(thrown);
  CHECK(values(good)[0] > 7.38f && values(good)[0] < 7.4f);
  thrown = false;
  try {
    values(behind);
  } catch (const mx::Error &) {
    thrown = true;
  }
  CHECK(thrown);
}

static void test_many_threads_one_graph() {
  for (int round = 0; round < 50; round++) {
    Value x = vector(std::vector<float>(64, 1));
    std::vector<Value> levels;
    for (int i = 0; i < 40; i++) {
      x = mx::ops::add(mx::ops::multiply(x, vector({0.5f})), vector({1}));
      levels.push_back(x);
    }
    std::vector<std::thread> threads;
    std::vector<float> results(4);
    for (int t = 0; t < 4; t++)
      threads.emplace_back([&, t] {
        for (size_t i = static_cast<size_t>(t); i < levels.size(); i += 3) mx::eval(levels[i]);
        results[static_cast<size_t>(t)] = values(levels.back())[0];
      });
    for (std::thread &thread : threads) thread.join();
    for (float result : results) CHECK(result == results[0]);
  }
}

// So is one that is a little too large, which it is where the end of an array is cut off.
static void test_a_larger_buffer_is_overwritten() {
  constexpr int64_t n = 20'000;
  Value x = vector(std::vector<float>(n, -2));
  const std::byte *memory = x.node->output().buffer->data();
  Value y = mx::ops::negative(mx::ops::absolute(mx::ops::slice(x, Dims{0}, Dims{n - 1}, Dims{1})));
  x = {};
  mx::reset_peak_memory();
  mx::eval(y);
  CHECK(mx::memory_counters().peak == 0);  // nothing was allocated
  CHECK(y.node->output().buffer->data() == memory && values(y) == std::vector<float>(n - 1, -2));
  Value first = mx::ops::slice(y, Dims{0}, Dims{10}, Dims{1});  // far too small
  y = {};
  const Value sum = mx::ops::add(first, first);
  first = {};
  mx::eval(sum);
  CHECK(sum.node->output().buffer->data() != memory && values(sum) == std::vector<float>(10, -4));
}

// Short work of a single node is done under its lock: once, whoever asks.
static void test_many_threads_one_node() {
  const Value x = vector({1, 2});
  for (int round = 0; round < 200; round++) {
    const Value y = mx::ops::add(x, x);
    const std::byte *seen[4];
    std::vector<std::thread> threads;
    for (auto &at : seen)
      threads.emplace_back([&] {
        mx::eval(y);
        at = y.node->output().buffer->data();
      });
    for (std::thread &thread : threads) thread.join();
    for (const std::byte *at : seen) CHECK(at == seen[0]);
    CHECK(values(y) == (std::vector<float>{2, 4}) && x.node->ref_count() == 1);
  }
}

// Programs of graphs with more nodes than are lowered at once are found again by structure.
static void test_long_chains_again() {
  for (float start : {1.0f, 2.0f}) {
    const Value x = vector({start, 0});
    Value y = x;
    for (int i = 0; i < 600; i++) y = mx::ops::add(y, x);
    mx::eval(y);
    CHECK(values(y) == (std::vector<float>{601 * start, 0}));
  }
}

// More single ops than there are places for those that are found without a lock, each often enough to get one.
static void test_many_small_programs() {
  std::vector<Value> inputs;
  for (size_t n = 1; n <= 300; n++) inputs.push_back(vector(std::vector<float>(n, static_cast<float>(n))));
  for (int round = 0; round < 40; round++)
    for (const Value &x : inputs) {
      const Value sum = mx::ops::add(x, x), product = mx::ops::multiply(x, x);
      mx::eval(sum);
      mx::eval(product);
      const auto n = static_cast<size_t>(mx::element_count(mx::spec_of(x).shape));
      const auto value = static_cast<float>(n);
      CHECK(values(sum) == std::vector<float>(n, 2 * value));
      CHECK(values(product) == std::vector<float>(n, value * value));
    }
}

// Dropping a large graph takes a bounded time; what waits goes with the next drops or when it is asked for.
static void test_large_graphs_are_freed_in_parts() {
  mx::bury_waiting_nodes();
  const size_t before = mx::memory_counters().active;
  const auto chain = [](int n) {
    Value y = vector({1, 2});
    for (int i = 0; i < n; i++) y = mx::ops::negative(y);
    return y;
  };
  Value large = chain(10'000), other = chain(10'000), small = chain(10);
  large = {};
  CHECK(mx::memory_counters().active == before + 24);  // the leaf at its end is still there
  other = {};
  CHECK(mx::memory_counters().active == before + 24);
  mx::bury_waiting_nodes();
  CHECK(mx::memory_counters().active == before + 8);
  large = chain(8'000);
  large = {};
  small = {};  // takes along as much as it may
  CHECK(mx::memory_counters().active == before);
}

// Who waits computes, where that is estimated to take less than the wait, and no worker is called for it; who only
// starts work, or must not be held up, does not.
static void test_who_waits_computes() {
  mx::set_num_threads(1);
  const Value x = vector(std::vector<float>(100'000, 2));
  const uint32_t before = mx::Scheduler::state.alive.load();
  const auto work = [&] { return mx::ops::add(mx::ops::exp(x), mx::ops::sin(x)); };
  Value y = work();
  CHECK(!mx::start_if_small({&y, 1}));
  CHECK(y.node->state() == NodeState::lazy);
  CHECK(mx::eval({&y, 1}, 1000));
  CHECK(y.node->state() == NodeState::done);
  Value z = work();
  CHECK(mx::wait(z, 1000));
  const Value alone = mx::ops::exp(x);
  CHECK(!mx::start_if_small({&alone, 1}));
  CHECK(alone.node->state() == NodeState::lazy);
  mx::eval(alone);
  CHECK(mx::Scheduler::state.alive.load() == before);
  y = work();
  mx::start({&y, 1});
  CHECK(mx::Scheduler::state.alive.load() == 1);
  mx::eval(y);
  mx::set_num_threads(2);
}

int main() {
  mx::require_running();
  test_who_waits_computes();  // before any other makes a worker
  test_values_alive_outside_are_kept();
  test_around_compiled_calls();
  test_streams_of_one_graph();
  test_a_buffer_nobody_needs_is_overwritten();
  test_failures_stay_with_what_depends_on_them();
  test_a_larger_buffer_is_overwritten();
  test_many_threads_one_graph();
  test_many_threads_one_node();
  test_long_chains_again();
  test_many_small_programs();
  test_large_graphs_are_freed_in_parts();
  return 0;
}
