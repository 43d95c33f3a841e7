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
// From how much work on a second thread pays: one that is awake starts within a microsecond, one that sleeps takes the
// caller about 5 us, and comes after as many.
constexpr double pays_awake_ns = 20e3, pays_asleep_ns = 30e3;
// Ranges are long enough to hide what handing them out costs, and short enough for a cancel.
constexpr double shortest_range_ns = 8e3, longest_range_ns = 250e3;
constexpr double ranges_per_thread = 8;
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

int64_t grain_for(int64_t n, Cost cost) noexcept {
  const double item_ns = std::max(cost.item_ns, 0.01), all_ns = static_cast<double>(n) * item_ns;
  const int threads = num_threads();
  const double pays = Scheduler::idle_thread_watches() ? pays_awake_ns : pays_asleep_ns;
  if (threads > 1 && n > 1 && all_ns >= pays) {
    const double range_ns = std::clamp(all_ns / (ranges_per_thread * threads), shortest_range_ns, longest_range_ns);
    return std::clamp<int64_t>(static_cast<int64_t>(range_ns / item_ns), 1, (n + 1) / 2);
  }
  return all_ns <= 4 * longest_range_ns ? std::max<int64_t>(n, 1)
                                        : std::max<int64_t>(static_cast<int64_t>(4 * longest_range_ns / item_ns), 1);
}

bool Job::wants_help() const noexcept {
  return !ranges.empty() && !stop.load(std::memory_order_relaxed) &&
         (helpers.load(std::memory_order_relaxed) & ~owner_sleeps) < max_helpers;
}

void Job::run_ranges(const Event *until, const Deadline *deadline) noexcept {
  const profile::Span span(profile::Kind::share, kernel);
  const bool parallel_before = std::exchange(this_thread.parallel, true);
  const WorkScope scope(cancel_count);
  try {
    for (;;) {
      const int64_t i = ranges.take(this_thread.place);
      if (i < 0 || stop.load(std::memory_order_relaxed)) break;
      delay_point();
      check_cancel();
      const int64_t begin = i * grain;
      body(context, begin, i + 1 == n_ranges ? n : begin + grain);
      if (until && (!until->pending() || deadline->passed())) break;
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
  Scheduler::state.computing.fetch_sub(1, std::memory_order_relaxed);
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
  state.n_jobs.fetch_add(1, std::memory_order_seq_cst);
  // More threads than that would only take the processors from those that compute already.
  const uint32_t computing = state.computing.fetch_add(1, std::memory_order_relaxed) + 1;
  const auto limit = static_cast<uint32_t>(num_threads());
  const uint32_t wanted = computing >= limit ? 0 : std::min(job.max_helpers, limit - computing);
  if (wanted == 0) return;
  const uint32_t waiters = state.watching_waiters.load(std::memory_order_seq_cst);
  if (wanted > waiters) ensure_workers(wanted - waiters);
  signal_workers(wanted, waiters);
}

// The next job that wants help goes to the end of the list, so that jobs share the workers.
Job *Scheduler::next_job() noexcept {
  if (state.computing.load(std::memory_order_relaxed) >= static_cast<uint32_t>(num_threads())) return nullptr;
  for (Job **link = &state.jobs; *link; link = &(*link)->next) {
    Job *job = *link;
    if (!job->wants_help()) continue;
    *link = job->next;
    while (*link) link = &(*link)->next;
    *link = job;
    job->next = nullptr;
    job->helpers.fetch_add(1, std::memory_order_relaxed);
    state.computing.fetch_add(1, std::memory_order_relaxed);
    return job;
  }
  return nullptr;
}

bool Scheduler::help_job(const Event &event, const Deadline &deadline) noexcept {
  if (this_thread.parallel || state.n_jobs.load(std::memory_order_seq_cst) == 0) return false;
  Job *job;
  {
    const std::lock_guard guard(lock());
    job = next_job();
  }
  if (!job) return false;
  delay_point();
  job->run_ranges(&event, &deadline);
  job->leave();
  return true;
}

void Scheduler::withdraw(Job &job) noexcept {
  {
    const std::lock_guard guard(lock());
    Job **link = &state.jobs;
    while (*link && *link != &job) link = &(*link)->next;
    if (*link) *link = job.next;
  }
  state.computing.fetch_sub(1, std::memory_order_relaxed);
  // Somebody else's job may want the thread that this one had.
  if (state.n_jobs.fetch_sub(1, std::memory_order_relaxed) > 1) signal_workers(1);
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
  grain = std::max<int64_t>(grain, n / Ranges::most + 1);
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
          .ranges = Ranges(n_ranges, static_cast<uint32_t>(helpers) + 1),
          .max_helpers = static_cast<uint32_t>(helpers)};
  Scheduler::post(job);
  job.run_ranges();
  Scheduler::withdraw(job);
  if (!job.failed.load(std::memory_order_acquire)) return;
  if (job.status == MX_ERROR_OUT_OF_MEMORY) throw std::bad_alloc();
  throw Error(job.status, job.text);
}

}  // namespace mx
