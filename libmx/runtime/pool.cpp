// parallel_for: the calling thread posts a job, takes ranges itself, and waits for the helpers that joined. Which
// thread runs a range is open; the ranges themselves depend on n and grain only.
#include "runtime/pool.hpp"

#include <cstdio>
#include <cstdlib>

#include "base/status.hpp"
#include "runtime/cancel.hpp"
#include "runtime/delay.hpp"
#include "runtime/futex.hpp"
#include "runtime/profile.hpp"
#include "runtime/scheduler.hpp"

#ifdef __linux__
#include <sched.h>
#endif

namespace mx {
namespace {

constexpr uint32_t owner_sleeps = uint32_t{1} << 31;
constexpr int max_threads = 512;
constinit std::atomic<int> threads{-1};  // -1: not set yet

int default_threads() noexcept {
  if (const char *text = std::getenv("MX_NUM_THREADS")) {
    char *end;
    const long n = std::strtol(text, &end, 10);
    if (end != text && *end == 0 && n >= 0) return static_cast<int>(std::min<long>(n, max_threads));
  }
#ifdef __linux__
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) return std::clamp(CPU_COUNT(&cpus), 1, max_threads);
#endif
  return static_cast<int>(std::clamp<long>(sysconf(_SC_NPROCESSORS_ONLN), 1, max_threads));
}

// The ranges one after the other on this thread, with the same bounds as if they ran in parallel.
void run_serially(int64_t n, int64_t grain, void (*body)(void *, int64_t, int64_t), void *context) {
  for (int64_t begin = 0; begin < n;) {
    check_cancel();
    const int64_t end = n - begin > grain ? begin + grain : n;
    body(context, begin, end);
    begin = end;
  }
}

void store_failure(Job &job, mx_status status, const char *text) noexcept {
  if (!job.failed.exchange(true, std::memory_order_acq_rel)) {
    job.status = status;
    std::snprintf(job.text, sizeof job.text, "%s", text);
  }
  job.stop.store(true, std::memory_order_relaxed);
}

}  // namespace

int num_threads() noexcept {
  int n = threads.load(std::memory_order_relaxed);
  if (n >= 0) return n;
  int unset = -1;
  n = default_threads();
  return threads.compare_exchange_strong(unset, n, std::memory_order_relaxed) ? n : unset;
}

void set_num_threads(int n) {
  if (n < 0) fail(MX_ERROR_INVALID_ARGUMENT, "set_num_threads: n is %d; it must be at least 0", n);
  threads.store(std::min(n, max_threads), std::memory_order_relaxed);
  Scheduler::ensure_workers(Scheduler::state.n_ready.load(std::memory_order_relaxed));
  Scheduler::signal_workers(UINT32_MAX);  // those beyond the number end
}

void Job::run_ranges() noexcept {
  const profile::Span span(profile::Kind::share, kernel);
  const bool parallel_before = std::exchange(this_thread.parallel, true);
  const WorkScope scope(cancel_count);
  try {
    for (;;) {
      const int64_t i = next_range.fetch_add(1, std::memory_order_relaxed);
      if (i >= n_ranges || stop.load(std::memory_order_relaxed)) break;
      delay_point();
      check_cancel();
      const int64_t begin = i * grain;
      body(context, begin, i + 1 == n_ranges ? n : begin + grain);
    }
  } catch (const Error &e) {
    store_failure(*this, e.status(), e.what());
  } catch (const std::bad_alloc &) {
    store_failure(*this, MX_ERROR_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception &e) {
    store_failure(*this, MX_ERROR_INTERNAL, e.what());
  } catch (...) {
    store_failure(*this, MX_ERROR_INTERNAL, "unknown failure");
  }
  this_thread.parallel = parallel_before;
}

void Job::leave() noexcept {
  std::atomic<uint32_t> *word = &helpers;
  if (word->fetch_sub(1, std::memory_order_acq_rel) == (owner_sleeps | 1)) wake(word, 1);
}

void Scheduler::post(Job &job) noexcept {
  {
    const std::lock_guard guard(lock());
    Job **end = &state.jobs;
    while (*end) end = &(*end)->next;
    *end = &job;
  }
  ensure_workers(job.max_helpers);
  signal_workers(job.max_helpers);
}

void Scheduler::withdraw(Job &job) noexcept {
  {
    const std::lock_guard guard(lock());
    Job **link = &state.jobs;
    while (*link && *link != &job) link = &(*link)->next;
    if (*link) *link = job.next;
  }
  const profile::Span span(profile::Kind::wait, "wait for helpers");
  const uint64_t spin_end = now_ns() + spin_ns;
  for (;;) {
    uint32_t inside = job.helpers.load(std::memory_order_acquire);
    if ((inside & ~owner_sleeps) == 0) return;
    if (now_ns() < spin_end) {
      for (int i = 0; i < 16; ++i) cpu_relax();
      continue;
    }
    if (!(inside & owner_sleeps) && !job.helpers.compare_exchange_strong(inside, inside | owner_sleeps)) continue;
    wait_on(job.helpers, inside | owner_sleeps, 50'000'000);
  }
}

void parallel_for_erased(int64_t n, int64_t grain, void (*body)(void *, int64_t, int64_t), void *context) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t n_ranges = n / grain + (n % grain != 0);
  const int64_t helpers = std::min<int64_t>(num_threads() - 1, n_ranges - 1);
  if (helpers <= 0 || this_thread.parallel) return run_serially(n, grain, body, context);
  const uint64_t count = this_thread.cancel_count == not_cancellable ? cancel_count() : this_thread.cancel_count;
  Job job{.n = n,
          .grain = grain,
          .n_ranges = n_ranges,
          .body = body,
          .context = context,
          .cancel_count = count,
          .kernel = profile::current_kernel,
          .max_helpers = static_cast<uint32_t>(helpers)};
  Scheduler::post(job);
  job.run_ranges();
  Scheduler::withdraw(job);
  if (!job.failed.load(std::memory_order_acquire)) return;
  if (job.status == MX_ERROR_OUT_OF_MEMORY) throw std::bad_alloc();
  throw Error(job.status, job.text);
}

}  // namespace mx
