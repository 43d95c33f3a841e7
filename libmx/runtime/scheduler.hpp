// Internal to the runtime: who runs what. Streams with a ready head stand in one list, parallel loops in another; the
// pool's workers serve both. Lists are guarded by the scheduler lock, a stream's queue by its lock of rank streams.
#pragma once
#include <atomic>
#include <cstdint>
#include <string_view>

#include "runtime/lock.hpp"
#include "runtime/ranges.hpp"
#include "runtime/stream.hpp"

namespace mx {

class Deadline;

enum class Phase : uint8_t {
  idle,     // empty, nobody runs anything
  ready,    // in the ready list, or just taken from it
  running,  // somebody holds the run token
  parked    // the head waits for an event
};

struct Stream::Queue {
  explicit Queue(Stream &s) noexcept : stream(s) {}
  Stream &stream;
  // Guarded by the stream's lock. A queue that is not idle holds a reference to its stream.
  Task *head = nullptr, *tail = nullptr;
  Phase phase = Phase::idle;
  Ref<Event> current;  // of the task that runs
  uint64_t current_order = 0;
  Ref<Event> error;  // the first failure that no synchronize has thrown
  // Re-queues the stream when it is parked.
  struct Wakeup : Event::Listener {
    Queue *queue = nullptr;
  } wakeup;
  // Guarded by the scheduler lock.
  Queue *next_ready = nullptr;
  Queue *previous = nullptr, *next = nullptr;  // of all streams

  Lock &lock() noexcept { return lock_for(LockRank::streams, this); }
  void append(Task *task) noexcept;
  Task *pop() noexcept;
};

// A parallel loop: see pool.cpp. Lives on the stack of the thread that asked for it.
struct Job {
  int64_t n, grain, n_ranges;
  void (*body)(void *, int64_t, int64_t);
  void *context;
  uint64_t cancel_count;
  std::string_view kernel;  // for a profile
  Ranges ranges;
  std::atomic<bool> stop{false};     // after a failure or cancel: the other ranges are skipped
  std::atomic<uint32_t> helpers{0};  // inside run_ranges now; the top bit: the owner sleeps on it
  std::atomic<bool> failed{false};   // status and text are taken
  mx_status status = MX_OK;
  char text[1000] = {};
  // Guarded by the scheduler lock.
  uint32_t max_helpers;
  Job *next = nullptr;
  bool wants_help() const noexcept;
  // Takes ranges until none is left, or, between two of them, a waiter has its event or its deadline passes.
  void run_ranges(const Event *until = nullptr, const Deadline *deadline = nullptr) noexcept;
  void leave() noexcept;  // as a helper; the job may be gone afterwards
};

struct Scheduler {
  // Guarded by the scheduler lock, unless atomic. Constant-initialised and never destroyed.
  struct Shared {
    Stream::Queue *ready_head = nullptr, *ready_tail = nullptr;
    Stream::Queue *streams = nullptr;  // all there are
    Job *jobs = nullptr;
    std::atomic<uint32_t> n_ready{0};
    std::atomic<uint32_t> alive{0};     // workers, those that start included
    std::atomic<uint32_t> busy{0};      // workers that run something
    std::atomic<uint32_t> stopping{0};  // somebody wants idle workers to end
    std::atomic<uint32_t> signal{0};    // changes with every piece of work; what idle workers sleep on
    std::atomic<uint32_t> sleepers{0};
    std::atomic<uint32_t> n_jobs{0};            // in the list
    std::atomic<uint32_t> computing{0};         // threads that run ranges; at most num_threads()
    std::atomic<uint32_t> watching_workers{0};  // idle, but awake for another moment
    std::atomic<uint32_t> watching_waiters{0};  // the same of threads that wait for an event: they help jobs only
  };
  static Shared state;
  static Lock &lock() noexcept { return lock_for(LockRank::scheduler); }

  // Streams (scheduler.cpp).
  static void enlist(Stream::Queue &queue) noexcept;
  static void unlink(Stream::Queue &queue) noexcept;
  static void make_ready(Stream::Queue &queue) noexcept;  // its phase is ready, it is not in the list yet
  static Stream::Queue *pop_ready() noexcept;             // under the scheduler lock
  static void resume(Event::Listener *listener) noexcept;
  static mx_status refusal(const Stream &stream) noexcept;  // MX_OK, CLOSING, CLOSED or STALE; under the queue's lock
  static bool dependencies_done(Task &task) noexcept;
  static void run_inline(Stream::Queue &queue, Task &task) noexcept;
  // Runs the tasks of a queue that is ready or running, and gives up the run token. With a deadline: one task, or as
  // many steps of it as fit; else until it is empty, parked, or other streams want the thread.
  static void drive(Stream::Queue &queue, const Deadline *deadline) noexcept;

  // Pumping: while the pool has no threads, waiters do the work (pump.cpp).
  static bool pumping() noexcept { return state.alive.load(std::memory_order_acquire) == 0; }
  // Runs what the event depends on until it is done, the deadline has passed or the pool has threads, but at least one
  // step. Sleeps up to 1 ms when there is nothing to run.
  static void help(Event &event, const Deadline &deadline) noexcept;
  static bool help_any(const Deadline &deadline) noexcept;  // one step of any ready stream; false if none is
  // While it has: if nobody has begun the tasks up to the one of this event, runs those that will take no longer than
  // the deadline allows.
  static void run_own(Event &event, const Deadline &deadline) noexcept;
  // Takes ranges of somebody's job until none is left, the event is done or the deadline passes; false if no job wants
  // help.
  static bool help_job(const Event &event, const Deadline &deadline) noexcept;

  // Over all streams (pump.cpp).
  // Drops all queued tasks. Their events fail. `lost`: those of the process that this one was forked from instead.
  static void drop_queued(mx_status status, const char *message, bool lost) noexcept;
  // An event of a task that was submitted up to `order` and has not ended; null if there is none.
  static Ref<Event> unfinished(uint64_t order) noexcept;
  static Ref<Event> take_error() noexcept;
  static uint64_t last_order() noexcept;
  static uint64_t next_order() noexcept;

  // Tasks that are queued or running in a generation (pump.cpp).
  static void work_begins(uint32_t generation) noexcept;
  static void work_ends(uint32_t generation) noexcept;
  static uint32_t outstanding() noexcept;
  static void reset_outstanding(uint32_t generation) noexcept;
  // While it lives: the tasks that this thread is inside of go on only when a shutdown that it waits in has returned,
  // so no other one that is called inside a task may wait for them.
  class Pause {
   public:
    Pause() noexcept;
    ~Pause();
    Pause(const Pause &) = delete;
    Pause &operator=(const Pause &) = delete;

   private:
    uint32_t generation_;
    int32_t more_;  // none if an outer one counts them
  };
  static bool only_paused() noexcept;  // nothing else is queued or running

  // Workers (worker.cpp).
  static void post(Job &job) noexcept;
  static void withdraw(Job &job) noexcept;  // and waits for its helpers
  static Job *next_job() noexcept;          // one that wants help, joined; under the scheduler lock
  static bool idle_thread_watches() noexcept {
    return state.watching_workers.load(std::memory_order_relaxed) != 0 ||
           state.watching_waiters.load(std::memory_order_relaxed) != 0;
  }
  static void ensure_workers(uint32_t idle_wanted) noexcept;
  // Tells workers of new work and wakes as many that `count` take part, those included that are awake anyway and the
  // `others` that help.
  static void signal_workers(uint32_t count, uint32_t others = 0) noexcept;
  static uint32_t busy_workers() noexcept;  // but this thread
  static bool stop_workers(const Deadline &deadline) noexcept;
  static void after_fork(uint32_t generation) noexcept;

 private:
  static bool put_back(Stream::Queue &queue, Task &task) noexcept;
  static bool run(Stream::Queue &queue, Task &task, bool owned, const Deadline *deadline) noexcept;
  static void finish(Stream::Queue &queue, Task &task, bool owned, mx_status status, const char *text) noexcept;
  static Event *blocker(Task &task) noexcept;
  static Event *failed_dependency(Task &task) noexcept;
  static Stream::Queue *claim(Event *event) noexcept;
  static Stream::Queue *claim_brief(const Event &event, int64_t longest_ns) noexcept;
  static Stream::Queue *find_runnable(uint32_t index) noexcept;
  static bool unready(Stream::Queue *queue) noexcept;
};

// Where threads of the pool end up during exit.
[[noreturn]] void park_for_ever() noexcept;

}  // namespace mx
