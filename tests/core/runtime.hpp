// Helpers of the runtime tests: tasks made from functions, a gate that tests open, and time.
#pragma once
#include <chrono>
#include <functional>
#include <thread>

#include "../c/check.h"
#include "base/status.hpp"
#include "runtime/cancel.hpp"
#include "runtime/client.hpp"
#include "runtime/futex.hpp"
#include "runtime/lifecycle.hpp"
#include "runtime/lock.hpp"
#include "runtime/pool.hpp"
#include "runtime/stream.hpp"

// TSan would end a child that starts threads.
extern "C" const char *__tsan_default_options() { return "die_after_fork=0"; }

namespace mx::test {

constexpr uint32_t for_ever = UINT32_MAX;

class FunctionTask : public Task {
 public:
  explicit FunctionTask(std::function<void()> work) : work_(std::move(work)) {}
  void execute() override { work_(); }
  void release_inputs() noexcept override {
    input = {};
    ++released;
  }
  Ref<Buffer> input;
  int released = 0;

 private:
  std::function<void()> work_;
};

inline Ref<FunctionTask> task(std::function<void()> work) { return make_ref<FunctionTask>(std::move(work)); }

// Submits and returns the event.
inline Ref<Event> submit(Stream &stream, std::function<void()> work, std::initializer_list<Ref<Event>> after = {}) {
  Ref<FunctionTask> t = task(std::move(work));
  for (const Ref<Event> &event : after) t->dependencies.push_back(event);
  Ref<Event> event = t->event;
  stream.submit(std::move(t));
  return event;
}

inline void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// Holds tasks back until the test opens it; looks for cancel meanwhile.
class Gate {
 public:
  void pass() {
    entered_.store(true);
    while (!open_.load()) {
      check_cancel();
      sleep_ms(1);
    }
  }
  void open() { open_.store(true); }
  void wait_until_entered() const {
    while (!entered_.load()) sleep_ms(1);
  }

 private:
  std::atomic<bool> open_{false}, entered_{false};
};

class Stopwatch {
 public:
  double ms() const { return static_cast<double>(now_ns() - start_) / 1e6; }

 private:
  uint64_t start_ = now_ns();
};

template <class F>
mx_status status_of(F &&f) {
  return guard(std::forward<F>(f));
}

inline Ref<Stream> stream() { return new_stream(Device{}); }

}  // namespace mx::test
