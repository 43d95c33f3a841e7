// What looks at all streams at once: waiters that run the work themselves while the pool has no threads, dropping what
// is queued, and counting what has not ended.
#include "runtime/cancel.hpp"
#include "runtime/delay.hpp"
#include "runtime/futex.hpp"
#include "runtime/lifecycle.hpp"
#include "runtime/scheduler.hpp"

namespace mx {
namespace {

constinit std::atomic<uint64_t> orders{0};

// Counts in one generation: what still comes of an older one does not change it.
class GenerationCount {
 public:
  // What it was before; -1 if the generation is another.
  int64_t add(uint32_t generation, int32_t n) noexcept {
    uint64_t word = word_.load(std::memory_order_relaxed);
    do {
      if (word >> 32 != generation) return -1;
    } while (!word_.compare_exchange_weak(word, word + static_cast<uint64_t>(n), std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
    return static_cast<uint32_t>(word);
  }
  uint32_t value() const noexcept { return static_cast<uint32_t>(word_.load(std::memory_order_acquire)); }
  void reset(uint32_t generation) noexcept { word_.store(uint64_t{generation} << 32, std::memory_order_release); }

 private:
  std::atomic<uint64_t> word_{uint64_t{1} << 32};  // generation, number
};

constinit GenerationCount work;      // tasks that are queued or running
constinit GenerationCount in_pause;  // those of them that Scheduler::Pause counts

}  // namespace

uint64_t Scheduler::last_order() noexcept { return orders.load(std::memory_order_acquire); }
uint64_t Scheduler::next_order() noexcept { return orders.fetch_add(1, std::memory_order_acq_rel) + 1; }

void Scheduler::work_begins(uint32_t generation) noexcept { work.add(generation, 1); }

void Scheduler::work_ends(uint32_t generation) noexcept {
  const int64_t before = work.add(generation, -1);
  if (before >= 0 && current_epoch().state == State::draining) drain_progress(before == 1);
}

uint32_t Scheduler::outstanding() noexcept { return work.value(); }

void Scheduler::reset_outstanding(uint32_t generation) noexcept {
  in_pause.reset(generation);
  work.reset(generation);
}

Scheduler::Pause::Pause() noexcept
    : generation_(current_epoch().generation), more_(static_cast<int32_t>(this_thread.tasks - this_thread.paused)) {
  if (more_ == 0) return;
  this_thread.paused = this_thread.tasks;
  in_pause.add(generation_, more_);
  drain_progress(false);
}

Scheduler::Pause::~Pause() {
  if (more_ == 0) return;
  this_thread.paused -= static_cast<uint32_t>(more_);
  in_pause.add(generation_, -more_);
}

bool Scheduler::only_paused() noexcept { return work.value() <= in_pause.value(); }

// Takes the queue out of the ready list if it is there.
bool Scheduler::unready(Stream::Queue *queue) noexcept {
  Stream::Queue *before = nullptr;
  for (Stream::Queue *q = state.ready_head; q; before = q, q = q->next_ready) {
    if (q != queue) continue;
    (before ? before->next_ready : state.ready_head) = q->next_ready;
    if (state.ready_tail == q) state.ready_tail = before;
    state.n_ready.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }
  return false;
}

// The stream with this index, or the one that it is parked for, if it can run now.
Stream::Queue *Scheduler::find_runnable(uint32_t index) noexcept {
  for (int depth = 0; depth < 1000; ++depth) {
    Stream::Queue *queue = state.streams;
    while (queue && queue->stream.index() != index) queue = queue->next;
    if (!queue) return nullptr;
    if (queue->phase == Phase::ready) return unready(queue) ? queue : nullptr;
    const Event *cause = queue->phase == Phase::parked && queue->head ? blocker(*queue->head) : nullptr;
    if (!cause) return nullptr;  // somebody else runs it, or is about to re-queue it
    index = cause->stream_.load(std::memory_order_relaxed);
  }
  return nullptr;
}

// Takes a run token: of the stream that `event` waits for, else of any ready one.
Stream::Queue *Scheduler::claim(Event *event) noexcept {
  const RankGuard queues(LockRank::streams);
  const std::lock_guard guard(lock());
  const uint32_t index = event ? event->stream_.load(std::memory_order_relaxed) : 0;
  Stream::Queue *queue = index ? find_runnable(index) : pop_ready();
  if (queue) queue->phase = Phase::running;
  return queue;
}

// The same of a stream that is ready and whose next task is estimated to take no longer.
Stream::Queue *Scheduler::claim_brief(const Event &event, int64_t longest_ns) noexcept {
  const RankGuard queues(LockRank::streams);
  const std::lock_guard guard(lock());
  const uint32_t index = event.stream_.load(std::memory_order_relaxed);
  for (Stream::Queue *queue = state.ready_head; queue; queue = queue->next_ready) {
    if (queue->stream.index() != index) continue;
    if (queue->phase != Phase::ready || !queue->head || queue->head->estimate_ns > longest_ns) return nullptr;
    unready(queue);
    queue->phase = Phase::running;
    return queue;
  }
  return nullptr;
}

void Scheduler::run_own(Event &event, const Deadline &deadline) noexcept {
  constexpr uint64_t longest_ns = 1'000'000'000;  // a host that comes back to look at its signals waits no longer
  while (event.pending() && state.n_ready.load(std::memory_order_acquire) != 0) {
    Stream::Queue *queue = claim_brief(event, static_cast<int64_t>(deadline.left_ns(longest_ns)));
    if (!queue) return;
    drive(*queue, &deadline);
  }
}

bool Scheduler::help_any(const Deadline &deadline) noexcept {
  Stream::Queue *queue = claim(nullptr);
  if (queue) drive(*queue, &deadline);
  return queue != nullptr;
}

void Scheduler::help(Event &event, const Deadline &deadline) noexcept {
  do {
    if (Stream::Queue *queue = claim(&event))
      drive(*queue, &deadline);
    else
      return event.sleep(deadline.left_ns(1'000'000));
  } while (event.pending() && !deadline.passed() && pumping());
}

void Scheduler::drop_queued(mx_status status, const char *message, bool lost) noexcept {
  const uint32_t generation = current_epoch().generation;
  Task *dropped = nullptr, *last = nullptr;
  {
    const RankGuard queues(LockRank::streams);
    const std::lock_guard guard(lock());
    for (Stream::Queue *q = state.streams; q; q = q->next) {
      if ((q->stream.generation() < first_generation()) != lost) continue;
      if (lost && q->current && !q->error) q->error = q->current;
      if (!q->head) continue;
      if (!q->error) q->error = q->head->event;
      (last ? last->next : dropped) = q->head;
      last = q->tail;
      q->head = q->tail = nullptr;
    }
  }
  delay_point();
  // A shutdown that a listener asks for must not wait for those that are still to come here.
  uint32_t inside = 0;
  for (const Task *task = dropped; task && !lost; task = task->next) ++inside;
  this_thread.tasks += inside;
  while (Task *task = dropped) {
    dropped = task->next;
    task->next = nullptr;
    const Ref<Event> event = task->event;
    task->ended_ = true;
    task->release_inputs();
    task->release();
    event->fail(status, message);
    if (lost) continue;
    work_ends(generation);
    --this_thread.tasks;
  }
}

Ref<Event> Scheduler::unfinished(uint64_t order) noexcept {
  const RankGuard queues(LockRank::streams);
  const std::lock_guard guard(lock());
  for (Stream::Queue *q = state.streams; q; q = q->next) {
    if (q->stream.generation() != current_epoch().generation) continue;
    if (q->tail && q->tail->order_ <= order) return q->tail->event;
    if (q->head && q->head->order_ <= order) return q->head->event;
    if (q->current && q->current_order <= order && q->current->live()) return q->current;
  }
  return {};
}

Ref<Event> Scheduler::take_error() noexcept {
  const RankGuard queues(LockRank::streams);
  const std::lock_guard guard(lock());
  for (Stream::Queue *q = state.streams; q; q = q->next)
    if (q->stream.generation() == current_epoch().generation && q->error && !q->error->live())
      return std::move(q->error);
  return {};
}

}  // namespace mx
