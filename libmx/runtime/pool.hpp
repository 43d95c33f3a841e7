// The one worker pool of the process. Threads are detached, started on first use and sleep when idle; with 0 threads
// everything runs on the threads that submit and wait.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace mx {

void set_num_threads(int n);  // threads that take part in parallel work, callers included; 0 = inline only
int num_threads() noexcept;

// Calls body(begin, end) for consecutive ranges that cover [0, n), on several threads at once, the calling one
// included. Every range but the last has a multiple of `grain` elements; `grain` should take about 10 us to 5 ms.
// Cancel is looked at before each range: then the rest is skipped and CANCELLED is thrown. Nested calls run inline. The
// first exception of a body is thrown here after all ranges have ended.
void parallel_for_erased(int64_t n, int64_t grain, void (*body)(void *, int64_t, int64_t), void *context);

template <class F>
void parallel_for(int64_t n, int64_t grain, F &&body) {
  using Body = std::remove_reference_t<F>;
  parallel_for_erased(
      n, grain, [](void *context, int64_t begin, int64_t end) { (*static_cast<Body *>(context))(begin, end); },
      const_cast<void *>(static_cast<const void *>(&body)));
}

// What one item takes on one thread, roughly.
struct Cost {
  double item_ns;
};

// The grain for items of a cost: one range where a second thread would not pay, else several for every thread, so that
// those that start late or are slow get their share. It depends on how busy the threads are: only for bodies whose
// results do not depend on where ranges begin.
int64_t grain_for(int64_t n, Cost cost) noexcept;

template <class F>
void parallel_for(int64_t n, Cost cost, F &&body) {
  parallel_for(n, grain_for(n, cost), body);
}

// Throws CANCELLED if the task that this thread runs, or the whole runtime, was cancelled. Long kernels that cannot use
// parallel_for call it at least every 5 ms.
void check_cancel();

}  // namespace mx
