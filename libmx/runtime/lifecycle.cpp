// State transitions: start, shutdown, reopen and the exit hook. The word changes only while all queue locks are held,
// so a submission, which checks it under its queue's lock, is entirely before or entirely after.
#include "runtime/lifecycle.hpp"

#include <unistd.h>

#include <cstdlib>

#include "base/status.hpp"
#include "runtime/cancel.hpp"
#include "runtime/delay.hpp"
#include "runtime/futex.hpp"
#include "runtime/lock.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/thread.hpp"

namespace mx {
namespace {

constexpr uint64_t pack(Epoch e) noexcept { return uint64_t{e.generation} << 8 | static_cast<uint64_t>(e.state); }
constinit std::atomic<uint64_t> word{pack({State::uninit, 1})};
constinit std::atomic<int> owner{0};  // process id
constinit std::atomic<bool> exit_begun{false};
// A shutdown from inside a task could not wait for that task: whoever ends the last one closes.
constinit std::atomic<bool> close_when_idle{false};
constinit std::atomic<uint32_t> drain_signal{0};

// 0 nothing, 1 somebody registers, 2 done
constinit std::atomic<uint32_t> hooks{0};

void register_hooks() {
  uint32_t none = 0;
  if (hooks.compare_exchange_strong(none, 1, std::memory_order_acquire)) {
    try {
      // In this order: what has been registered when the other fails is so again the next time, which the fork handlers
      // could not bear.
      if (std::atexit(exit_hook) != 0) throw std::bad_alloc();
      register_fork_handlers();
    } catch (...) {
      hooks.store(0, std::memory_order_release);
      throw;
    }
    hooks.store(2, std::memory_order_release);
    return;
  }
  // No longer than it can take: a child forked from the middle of this would wait for a thread it does not have.
  for (const Deadline deadline(200); hooks.load(std::memory_order_acquire) == 1 && !deadline.passed();)
    sleep_ns(20'000);
}

void read_environment() noexcept {
  if (const char *text = std::getenv("MX_TEST_DELAY"))
    max_delay_us.store(static_cast<uint32_t>(std::strtoul(text, nullptr, 10)), std::memory_order_relaxed);
}

// Changes the state if it is `from` still.
bool transition(State from, State to) noexcept {
  const RankGuard queues(LockRank::streams);
  const Epoch now = current_epoch();
  if (now.state != from) return false;
  set_epoch({to, now.generation});
  return true;
}

void start() {
  if (current_epoch().state == State::uninit) {
    register_hooks();
    read_environment();
    if (first_generation() > 1) drop_lost_tasks();
    const std::lock_guard guard(lock_for(LockRank::lifecycle));
    if (transition(State::uninit, State::running)) set_owner();
  }
}

// To CLOSED, whatever still runs: it is told to stop and its events count as cancelled.
void close_now() noexcept {
  {
    const std::lock_guard guard(lock_for(LockRank::lifecycle));
    if (!transition(State::draining, State::closed)) return;
  }
  close_when_idle.store(false, std::memory_order_relaxed);
  request_cancel();
  Scheduler::drop_queued(MX_ERROR_CANCELLED, "the work was dropped: the runtime was closed", false);
  reap_thread_records();
  Scheduler::stop_workers(Deadline(50));
}

// Waits until nothing is queued or running; inside a task, nothing but this one and others that wait here.
bool wait_for_drain(const Deadline &deadline) noexcept {
  const bool inside = this_thread.tasks != 0;
  const Scheduler::Pause pause;
  while (current_epoch().state == State::draining) {
    const uint32_t seen = drain_signal.load(std::memory_order_acquire);
    if (inside ? Scheduler::only_paused() : Scheduler::outstanding() == 0) return true;
    const uint64_t left = deadline.left_ns(5'000'000);
    if (left == 0) return false;
    if (Scheduler::pumping()) {
      const uint64_t before = this_thread.deadline_ns;
      this_thread.deadline_ns = now_ns() + deadline.left_ns(UINT64_C(1) << 62);
      const bool ran = Scheduler::help_any(deadline);
      this_thread.deadline_ns = before;
      if (ran) continue;
    }
    wait_on(drain_signal, seen, left);
  }
  return true;
}

}  // namespace

Epoch current_epoch() noexcept {
  const uint64_t w = word.load(std::memory_order_acquire);
  return {static_cast<State>(w & 0xff), static_cast<uint32_t>(w >> 8)};
}

void set_epoch(Epoch epoch) noexcept { word.store(pack(epoch), std::memory_order_release); }
void set_owner() noexcept { owner.store(getpid(), std::memory_order_release); }
bool owned_by_this_process() noexcept { return owner.load(std::memory_order_acquire) == getpid(); }
bool exiting() noexcept { return exit_begun.load(std::memory_order_acquire); }

void require_running() {
  if (!fork_noticed()) [[unlikely]]
    notice_fork();
  if (current_epoch().state == State::running) [[likely]]
    return;
  if (forked_dirty()) fail_dirty();
  start();
  switch (current_epoch().state) {
    case State::draining:
      fail(MX_ERROR_CLOSING, "the runtime is closing: no new work");
    case State::closed:
      fail(MX_ERROR_CLOSED, "the runtime is closed");
    default:
      return;
  }
}

void require_not_closed() {
  if (!fork_noticed()) [[unlikely]]
    notice_fork();
  if (current_epoch().state != State::closed) [[likely]]
    return;
  if (forked_dirty()) fail_dirty();
  fail(MX_ERROR_CLOSED, "the runtime is closed");
}

void shutdown(mx_shutdown_policy policy, uint32_t timeout_ms, const std::atomic<uint32_t> *unless) {
  if (policy != MX_CANCEL && policy != MX_FINISH && policy != MX_ABANDON)
    fail(MX_ERROR_INVALID_ARGUMENT, "shutdown: %d is not a policy", static_cast<int>(policy));
  if (!fork_noticed()) notice_fork();
  const Deadline deadline(timeout_ms);
  {
    const std::lock_guard guard(lock_for(LockRank::lifecycle));
    if (unless && unless->load(std::memory_order_acquire) != 0) return;
    if (!transition(State::running, State::draining)) transition(State::uninit, State::closed);
  }
  if (current_epoch().state != State::draining) return;
  delay_point();
  if (policy == MX_CANCEL) {
    request_cancel();
    Scheduler::drop_queued(MX_ERROR_CANCELLED, "the work was cancelled: the runtime is closing", false);
  }
  const bool inside = this_thread.tasks != 0;
  if (policy == MX_FINISH && inside) {
    // What stands behind this task cannot run before it returns.
    close_when_idle.store(true, std::memory_order_release);
    return;
  }
  if (policy != MX_ABANDON && wait_for_drain(deadline) && inside) {
    close_when_idle.store(true, std::memory_order_release);
    return;
  }
  close_now();
}

void drain_progress(bool idle) noexcept {
  if (idle && close_when_idle.exchange(false, std::memory_order_acq_rel)) {
    const std::lock_guard guard(lock_for(LockRank::lifecycle));
    transition(State::draining, State::closed);
    Scheduler::signal_workers(UINT32_MAX);  // idle ones end
  }
  drain_signal.fetch_add(1, std::memory_order_release);
  wake(&drain_signal, INT32_MAX);
}

void reopen() {
  if (!fork_noticed()) notice_fork();
  if (forked_dirty()) fail_dirty();
  if (exiting()) fail(MX_ERROR_CLOSED, "reopen: the process is exiting");
  start();
  State state;
  {
    const std::lock_guard guard(lock_for(LockRank::lifecycle));
    const RankGuard queues(LockRank::streams);
    const Epoch now = current_epoch();
    state = now.state;
    if (state == State::closed) {
      Scheduler::reset_outstanding(now.generation + 1);
      set_owner();
      set_epoch({State::running, now.generation + 1});
    }
  }
  if (state == State::draining) fail(MX_ERROR_CLOSING, "reopen: the runtime is closing");
}

// Runs after main returned or exit() was called, possibly beside threads that compute. It makes them harmless: nothing
// new starts, kernels stop at their next chunk, workers park. It frees nothing, joins nothing and calls nobody.
void exit_hook() noexcept {
  if (!owned_by_this_process()) return;
  exit_begun.store(true, std::memory_order_release);
  const bool locked = lock_rank(LockRank::streams, 50);
  set_epoch({State::closed, current_epoch().generation});
  if (locked) unlock_rank(LockRank::streams);
  request_cancel();
  for (const Deadline deadline(150); Scheduler::busy_workers() != 0 && !deadline.passed();) sleep_ns(200'000);
}

}  // namespace mx
