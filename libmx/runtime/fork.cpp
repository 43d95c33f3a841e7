// fork(): the parent waits, briefly, for every lock, so that the child finds all tables consistent. The child starts as
// a new generation without threads; what its parent had queued or running is lost. A process made by _Fork or clone ran
// no handler; a page that the kernel wipes in every child tells (MADV_WIPEONFORK, Linux 4.14), else the process id.
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>

#include "base/status.hpp"
#include "runtime/cancel.hpp"
#include "runtime/lifecycle.hpp"
#include "runtime/lock.hpp"
#include "runtime/profile.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/thread.hpp"

namespace mx {

constinit std::atomic<uint32_t> process_generation{1};

namespace {

// Locks are held for microseconds; only a holder that the system does not run makes a fork wait, and a child that
// cannot compute is worse than a late one.
constexpr uint32_t prepare_ms = 500;

constinit std::atomic<std::atomic<uint32_t> *> mark{nullptr};  // in the wiped page: 1 in the process that set it
constinit std::atomic<int> marked_process{0};                  // where there is no such page
constinit std::atomic<bool> dirty{false};
constinit std::atomic<bool> lost_tasks{false};
thread_local constinit bool all_locked = false;  // by this thread, between prepare and its counterparts

void set_mark() noexcept {
  if (std::atomic<uint32_t> *page = mark.load(std::memory_order_acquire)) page->store(1, std::memory_order_release);
  marked_process.store(getpid(), std::memory_order_release);
}

void become_child(bool clean) noexcept {
  reset_all_locks();
  set_mark();
  const Epoch parent = current_epoch();
  const uint32_t generation = parent.generation + 1;
  State state = parent.state == State::running ? State::uninit : parent.state;
  if (state == State::draining) state = State::closed;
  if (!clean) {
    dirty.store(true, std::memory_order_relaxed);
    state = State::closed;
  }
  process_generation.store(generation, std::memory_order_release);
  lost_tasks.store(clean, std::memory_order_relaxed);
  set_epoch({state, generation});
  Scheduler::after_fork(generation);
  forget_thread_records();
  profile::forget();
}

void prepare() noexcept { all_locked = lock_all(prepare_ms); }
void parent() noexcept {
  if (all_locked) unlock_all();
}
void child() noexcept { become_child(all_locked); }

}  // namespace

void register_fork_handlers() {
#ifdef MADV_WIPEONFORK
  const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void *page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw std::bad_alloc();
  if (madvise(page, size, MADV_WIPEONFORK) == 0)
    mark.store(new (page) std::atomic<uint32_t>(0), std::memory_order_release);
  else
    munmap(page, size);
#endif
  set_mark();
  if (pthread_atfork(prepare, parent, child) != 0) throw std::bad_alloc();
}

bool fork_noticed() noexcept {
  if (const std::atomic<uint32_t> *page = mark.load(std::memory_order_acquire)) [[likely]]
    return page->load(std::memory_order_acquire) != 0;
  const int process = marked_process.load(std::memory_order_acquire);
  return process == 0 || process == getpid();
}

void notice_fork() noexcept {
  if (std::atomic<uint32_t> *page = mark.load(std::memory_order_acquire))
    if (page->exchange(1, std::memory_order_acq_rel) != 0) return;
  // Nobody held the locks for this child, so what they guard may be torn.
  become_child(false);
}

bool forked_dirty() noexcept { return dirty.load(std::memory_order_relaxed); }

void fail_dirty() {
  fail(MX_ERROR_FORKED,
       "this process was forked while its parent was in the middle of something: it can free and read, nothing else. "
       "Start processes with the spawn or forkserver method");
}

void drop_lost_tasks() noexcept {
  if (!lost_tasks.exchange(false, std::memory_order_acq_rel)) return;
  Scheduler::drop_queued(MX_ERROR_FORKED, "the work was lost in a fork: it was queued in the parent process", true);
}

}  // namespace mx
