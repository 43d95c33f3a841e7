// Handles of arrays: values in slots, assignment, sharing, misuse, and all of it from several threads at once.
#include <thread>
#include <vector>

#include "c/check.h"
#include "core/array.hpp"
#include "runtime/memory.hpp"

using mx::Value;

static Value number(float x) {
  mx::Ref<mx::Buffer> buffer = mx::allocate(sizeof x);
  *reinterpret_cast<float *>(buffer->data()) = x;
  return mx::make_done(mx::Spec{mx::DType::float32, {}}, {}, std::move(buffer));
}

static bool is_live(uint64_t handle) {
  return mx::guard([&] { mx::array_at(handle); }) == MX_OK;
}

static void test_one_thread() {
  const Value a = number(1), b = number(2);
  const uint64_t x = mx::open_array(a);
  CHECK(a.node->ref_count() == 2 && mx::array_at(x) == a);
  mx::assign_array(x, b);
  CHECK(a.node->ref_count() == 1 && mx::array_at(x) == b);
  const uint64_t y = mx::share_array(x), z = mx::share_array(y);
  CHECK(x != y && y != z && mx::live_handles(mx::Tag::array) == 3);
  mx::assign_array(y, a);
  CHECK(mx::array_at(x) == a && mx::array_at(z) == a && b.node->ref_count() == 1);
  mx::close_array(x);
  CHECK(!is_live(x) && is_live(y) && a.node->ref_count() == 2);
  mx::close_array(y);
  mx::close_array(z);
  CHECK(a.node->ref_count() == 1 && mx::live_handles(mx::Tag::none) == 0);
  CHECK(mx::guard([&] { mx::close_array(z); }) == MX_ERROR_HANDLE);
  CHECK(mx::guard([&] { mx::assign_array(x, a); }) == MX_ERROR_HANDLE);
  CHECK(mx::guard([&] { mx::share_array(0); }) == MX_ERROR_HANDLE);
  CHECK(mx::guard([&] { mx::close_array(0); }) == MX_OK);
  const uint64_t again = mx::open_array(a);  // the same slot, another generation
  CHECK(!is_live(x) && !is_live(y) && !is_live(z) && is_live(again));
  mx::close_array(again);
}

// Readers, writers, sharers and one that closes the handle in the middle: nothing is lost, nothing freed twice.
static void test_many_threads() {
  const size_t before = mx::memory_counters().active;
  for (int round = 0; round < 50; round++) {
    const uint64_t x = mx::open_array(number(0));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
      threads.emplace_back([x, t] {
        for (int i = 0; i < 200; i++) {
          const mx_status status = mx::guard([&] {
            if (t == 0) mx::assign_array(x, number(static_cast<float>(i)));
            if (t == 1) mx::close_array(mx::share_array(x));
            const Value value = mx::array_at(x);
            CHECK(*reinterpret_cast<float *>(value.node->output().buffer->data()) >= 0);
            if (t == 3 && i == 150) mx::close_array(x);
          });
          CHECK(status == MX_OK || status == MX_ERROR_HANDLE);
        }
      });
    for (std::thread &thread : threads) thread.join();
    CHECK(!is_live(x));
  }
  CHECK(mx::live_handles(mx::Tag::none) == 0 && mx::memory_counters().active == before);
}

int main() {
  test_one_thread();
  test_many_threads();
  return 0;
}
