// The threads of the pool. They are made when work wants one, detached, and never receive a signal of the process.
// Between two pieces of work they hold nothing; they look for work for up to 20 us and then sleep.
#include <pthread.h>
#include <signal.h>

#include "runtime/cancel.hpp"
#include "runtime/delay.hpp"
#include "runtime/futex.hpp"
#include "runtime/lifecycle.hpp"
#include "runtime/pool.hpp"
#include "runtime/scheduler.hpp"

namespace mx {
namespace {

constexpr size_t stack_bytes = size_t{8} << 20;
constexpr uint64_t retry_ns = 100'000'000;  // after the system refused a thread

constinit std::atomic<uint64_t> refused_until{0};

// Threads that are on their way out: after the last lines of ours the system still needs a moment to end one.
constexpr uint32_t n_leaving = 512;
constinit std::atomic<int> leaving[n_leaving];
constinit std::atomic<uint32_t> last_leaving{0};

int thread_id() noexcept {
#ifdef __linux__
  return static_cast<int>(syscall(SYS_gettid));
#else
  return 0;
#endif
}

bool exists(int thread) noexcept {
#ifdef __linux__
  return syscall(SYS_tgkill, getpid(), thread, 0) == 0;
#else
  (void)thread;
  return false;
#endif
}

struct Work {
  Job *job = nullptr;
  Stream::Queue *queue = nullptr;
  bool quit = false;
  bool more = false;  // there is work for another worker too
};

uint32_t limit() noexcept { return static_cast<uint32_t>(num_threads()); }

Work take(bool stream_first) noexcept {
  Scheduler::Shared &s = Scheduler::state;
  const std::lock_guard guard(Scheduler::lock());
  Work work;
  const bool too_many = s.alive.load(std::memory_order_relaxed) > limit();
  if (!too_many) {
    if (stream_first) work.queue = Scheduler::pop_ready();
    if (!work.queue) work.job = Scheduler::next_job();
    if (!work.queue && !work.job) work.queue = Scheduler::pop_ready();
  }
  if (work.queue || work.job) {
    s.busy.fetch_add(1, std::memory_order_relaxed);
    const bool has_place = s.computing.load(std::memory_order_relaxed) < limit();
    work.more = s.n_ready.load(std::memory_order_relaxed) != 0 ||
                (has_place && s.n_jobs.load(std::memory_order_relaxed) > (work.job ? 1 : 0));
    return work;
  }
  work.quit = too_many || s.stopping.load(std::memory_order_relaxed) || current_epoch().state == State::closed;
  if (work.quit) {
    leaving[last_leaving.fetch_add(1, std::memory_order_relaxed) % n_leaving].store(thread_id(),
                                                                                    std::memory_order_relaxed);
    s.alive.fetch_sub(1, std::memory_order_release);
  }
  return work;
}

void sleep_until_signal(uint32_t seen) noexcept {
  Scheduler::Shared &s = Scheduler::state;
  // So many are awake that all threads can start at once; more would take the time of those that compute.
  const uint32_t most = std::max<uint32_t>(limit(), 2) - 1;
  if (s.watching_workers.fetch_add(1, std::memory_order_seq_cst) < most) {
    for (const uint64_t end = now_ns() + spin_ns; now_ns() < end && s.signal.load(std::memory_order_acquire) == seen;)
      for (int i = 0; i < 8; ++i) cpu_relax();
  }
  s.watching_workers.fetch_sub(1, std::memory_order_seq_cst);
  if (s.signal.load(std::memory_order_acquire) != seen) return;
  s.sleepers.fetch_add(1, std::memory_order_seq_cst);
  delay_point();
  wait_on(s.signal, seen, UINT64_C(3'600'000'000'000));
  s.sleepers.fetch_sub(1, std::memory_order_relaxed);
}

void *worker_main(void *place) noexcept {
#ifdef __linux__
  pthread_setname_np(pthread_self(), "mx-worker");
#endif
  this_thread.worker = true;
  this_thread.place = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(place));
  const uint32_t process = first_generation();
  bool stream_first = false;
  for (;;) {
    const uint32_t seen = Scheduler::state.signal.load(std::memory_order_acquire);
    if (exiting()) park_for_ever();
    const Work work = take(stream_first);
    if (work.quit) return nullptr;
    if (!work.job && !work.queue) {
      sleep_until_signal(seen);
      continue;
    }
    if (work.more) Scheduler::signal_workers(1);
    delay_point();
    if (work.job) {
      work.job->run_ranges();
      work.job->leave();
    } else {
      Scheduler::drive(*work.queue, nullptr);
    }
    stream_first = work.job != nullptr;
    if (first_generation() != process) return nullptr;  // a callback forked: the child's pool knows nothing of us
    Scheduler::state.busy.fetch_sub(1, std::memory_order_release);
  }
}

bool spawn(uint32_t place) noexcept {
  if (now_ns() < refused_until.load(std::memory_order_relaxed)) return false;
  sigset_t blocked, before;
  sigfillset(&blocked);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&blocked, fault);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);  // inherited by the new thread
  pthread_t thread;
  const bool made = pthread_create(&thread, &attributes, worker_main, reinterpret_cast<void *>(uintptr_t{place})) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (!made) refused_until.store(now_ns() + retry_ns, std::memory_order_relaxed);
  return made;
}

}  // namespace

void Scheduler::ensure_workers(uint32_t idle_wanted) noexcept {
  for (;;) {
    const uint32_t alive = state.alive.load(std::memory_order_relaxed);
    const uint32_t busy = state.busy.load(std::memory_order_relaxed);
    if (alive >= limit() || alive >= busy + idle_wanted || exiting()) return;
    {
      const std::lock_guard guard(lock());
      if (state.alive.load(std::memory_order_relaxed) != alive) continue;
      state.alive.store(alive + 1, std::memory_order_relaxed);
    }
    if (spawn(alive + 1)) continue;
    const std::lock_guard guard(lock());
    state.alive.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
}

// A worker that stops watching between the two looks here finds that the signal has changed and does not sleep.
void Scheduler::signal_workers(uint32_t count, uint32_t others) noexcept {
  state.signal.fetch_add(1, std::memory_order_seq_cst);
  others += state.watching_workers.load(std::memory_order_seq_cst);
  if (count > others && state.sleepers.load(std::memory_order_seq_cst) != 0)
    wake(&state.signal, static_cast<int>(std::min<uint32_t>(count - others, INT32_MAX)));
}

uint32_t Scheduler::busy_workers() noexcept {
  const uint32_t busy = state.busy.load(std::memory_order_acquire);
  return this_thread.worker && busy != 0 ? busy - 1 : busy;
}

bool Scheduler::stop_workers(const Deadline &deadline) noexcept {
  const uint32_t mine = this_thread.worker ? 1 : 0;
  state.stopping.fetch_add(1, std::memory_order_relaxed);
  signal_workers(UINT32_MAX);
  bool ended = false;
  while (!(ended = state.alive.load(std::memory_order_acquire) <= mine) && !deadline.passed()) sleep_ns(100'000);
  state.stopping.fetch_sub(1, std::memory_order_relaxed);
  if (!ended) return false;
  for (std::atomic<int> &slot : leaving) {
    const int thread = slot.load(std::memory_order_relaxed);
    if (thread == 0) continue;
    // A moment at most: its number may be another thread's by now.
    for (const Deadline moment(100); exists(thread) && !moment.passed() && !deadline.passed();) sleep_ns(50'000);
    slot.store(0, std::memory_order_relaxed);
  }
  return true;
}

// The child has none of the parent's threads, and no stream of the parent is ever driven here.
void Scheduler::after_fork(uint32_t generation) noexcept {
  state.ready_head = state.ready_tail = nullptr;
  state.jobs = nullptr;
  for (std::atomic<uint32_t> *count :
       {&state.n_ready, &state.alive, &state.busy, &state.stopping, &state.sleepers, &state.n_jobs, &state.computing,
        &state.watching_workers, &state.watching_waiters})
    count->store(0, std::memory_order_relaxed);
  for (std::atomic<int> &slot : leaving) slot.store(0, std::memory_order_relaxed);
  refused_until.store(0, std::memory_order_relaxed);
  this_thread.worker = false;
  this_thread.place = 0;
  reset_outstanding(generation);
}

void park_for_ever() noexcept {
  if (this_thread.worker && this_thread.tasks != 0) Scheduler::state.busy.fetch_sub(1, std::memory_order_release);
  for (;;) sleep_ns(UINT64_C(3'600'000'000'000));
}

}  // namespace mx
