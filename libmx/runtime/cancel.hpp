// Cancellation. A counter goes up with every request; work remembers the count from when it was submitted, so a request
// reaches exactly what is queued or running at that moment. Kernels look between chunks (check_cancel, pool.hpp).
#pragma once
#include <atomic>
#include <cstdint>

namespace mx {

constexpr uint64_t not_cancellable = UINT64_MAX;

// What a thread does at the moment. Trivially destructible, so it is there in every state of the process.
struct ThreadState {
  uint64_t cancel_count = not_cancellable;  // of the work it runs
  uint64_t deadline_ns = 0;                 // the work it runs is cancelled then; 0: never
  uint32_t tasks = 0;                       // how many tasks it is inside of, their listeners included
  uint32_t paused = 0;                      // how many of these wait in a shutdown (Scheduler::Pause)
  uint32_t place = 0;                       // where it begins in a parallel loop: 0, or its number in the pool
  bool worker = false;                      // belongs to the pool
  bool parallel = false;                    // is inside a parallel_for
};
extern thread_local constinit ThreadState this_thread;

// Async-signal-safe.
void request_cancel() noexcept;
uint64_t cancel_count() noexcept;

// Marks this thread as running work that was submitted at `count`.
class WorkScope {
 public:
  explicit WorkScope(uint64_t count) noexcept : before_(this_thread.cancel_count) { this_thread.cancel_count = count; }
  ~WorkScope() { this_thread.cancel_count = before_; }
  WorkScope(const WorkScope &) = delete;
  WorkScope &operator=(const WorkScope &) = delete;

 private:
  uint64_t before_;
};

}  // namespace mx
