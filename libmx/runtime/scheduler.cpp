// Driving streams: the ready list, the run token, and what happens around one task. Nobody holds a lock while a task, a
// destructor or a listener runs.
#include "runtime/scheduler.hpp"

#include <cstdio>

#include "base/status.hpp"
#include "runtime/cancel.hpp"
#include "runtime/delay.hpp"
#include "runtime/futex.hpp"
#include "runtime/lifecycle.hpp"
#include "runtime/pool.hpp"
#include "runtime/profile.hpp"

namespace mx {

constinit Scheduler::Shared Scheduler::state;

void Stream::Queue::append(Task *task) noexcept {
  task->next = nullptr;
  (tail ? tail->next : head) = task;
  tail = task;
}

Task *Stream::Queue::pop() noexcept {
  Task *task = head;
  if (!task) return nullptr;
  head = task->next;
  if (!head) tail = nullptr;
  task->next = nullptr;
  return task;
}

void Scheduler::enlist(Stream::Queue &queue) noexcept {
  const std::lock_guard guard(lock());
  queue.next = state.streams;
  if (queue.next) queue.next->previous = &queue;
  state.streams = &queue;
}

void Scheduler::unlink(Stream::Queue &queue) noexcept {
  const std::lock_guard guard(lock());
  (queue.previous ? queue.previous->next : state.streams) = queue.next;
  if (queue.next) queue.next->previous = queue.previous;
}

void Scheduler::make_ready(Stream::Queue &queue) noexcept {
  {
    const std::lock_guard guard(lock());
    queue.next_ready = nullptr;
    (state.ready_tail ? state.ready_tail->next_ready : state.ready_head) = &queue;
    state.ready_tail = &queue;
    state.n_ready.fetch_add(1, std::memory_order_relaxed);
  }
  delay_point();
  ensure_workers(state.n_ready.load(std::memory_order_relaxed));
  signal_workers(1);
}

Stream::Queue *Scheduler::pop_ready() noexcept {
  Stream::Queue *queue = state.ready_head;
  if (!queue) return nullptr;
  state.ready_head = queue->next_ready;
  if (!state.ready_head) state.ready_tail = nullptr;
  state.n_ready.fetch_sub(1, std::memory_order_relaxed);
  return queue;
}

// The event that a parked stream waited for is no longer pending.
void Scheduler::resume(Event::Listener *listener) noexcept {
  Stream::Queue &queue = *static_cast<Stream::Queue::Wakeup *>(listener)->queue;
  {
    const std::lock_guard guard(queue.lock());
    queue.phase = Phase::ready;
  }
  make_ready(queue);
}

mx_status Scheduler::refusal(const Stream &stream) noexcept {
  const Epoch now = current_epoch();
  if (now.state == State::draining) return MX_ERROR_CLOSING;
  if (now.state == State::closed) return MX_ERROR_CLOSED;
  return now == Epoch{State::running, stream.generation()} ? MX_OK : MX_ERROR_STALE;
}

bool Scheduler::dependencies_done(Task &task) noexcept {
  for (; task.next_dependency_ < task.dependencies.size(); ++task.next_dependency_)
    if (task.dependencies[task.next_dependency_]->pending()) return false;
  return true;
}

// The first dependency that may still complete; under the queue's lock.
Event *Scheduler::blocker(Task &task) noexcept {
  for (; task.next_dependency_ < task.dependencies.size(); ++task.next_dependency_)
    if (task.dependencies[task.next_dependency_]->live()) return task.dependencies[task.next_dependency_].get();
  return nullptr;
}

Event *Scheduler::failed_dependency(Task &task) noexcept {
  if (task.judges_failures) return nullptr;
  for (const Ref<Event> &dependency : task.dependencies)
    if (dependency->failed()) return dependency.get();
  return nullptr;
}

// What follows the work, in the order that Task documents.
void Scheduler::finish(Stream::Queue &queue, Task &task, bool owned, mx_status status, const char *text) noexcept {
  const uint32_t generation = queue.stream.generation();
  const Ref<Event> event = task.event;
  task.ended_ = true;
  task.release_inputs();
  if (owned) task.release();
  if (status == MX_OK) {
    event->complete();
  } else {
    Ref<Event> error = event;
    {
      const std::lock_guard guard(queue.lock());
      if (!queue.error) std::swap(queue.error, error);
    }
    event->fail(status, text);
  }
  work_ends(generation);
}

bool Scheduler::run(Stream::Queue &queue, Task &task, bool owned, const Deadline *deadline) noexcept {
  struct Inside {
    Inside() noexcept { ++this_thread.tasks; }
    ~Inside() { --this_thread.tasks; }
  } inside;
  const profile::Span span(profile::Kind::task, "region");
  mx_status status = MX_OK;
  char text[1000];
  text[0] = 0;
  try {
    const WorkScope scope(task.cancel_count_);
    if (const Event *failed = failed_dependency(task)) {
      status = failed->status();
      std::snprintf(text, sizeof text, "%s", failed->text());
    } else {
      check_cancel();
      delay_point();
      while (task.step()) {
        check_cancel();
        if (deadline && deadline->passed()) return false;
      }
    }
  } catch (const Error &e) {
    status = e.status();
    std::snprintf(text, sizeof text, "%s", e.what());
  } catch (const std::bad_alloc &) {
    status = MX_ERROR_OUT_OF_MEMORY;
    std::snprintf(text, sizeof text, "out of memory");
  } catch (const std::exception &e) {
    status = MX_ERROR_INTERNAL;
    std::snprintf(text, sizeof text, "%s", e.what());
  } catch (...) {
    status = MX_ERROR_INTERNAL;
    std::snprintf(text, sizeof text, "unknown failure");
  }
  if (exiting() && this_thread.worker) park_for_ever();
  finish(queue, task, owned, status, text);
  return true;
}

void Scheduler::run_inline(Stream::Queue &queue, Task &task) noexcept {
  run(queue, task, false, nullptr);
  Ref<Event> done;
  bool more;
  {
    const std::lock_guard guard(queue.lock());
    done = std::move(queue.current);
    more = queue.head != nullptr;
    queue.phase = more ? Phase::ready : Phase::idle;
    if (more) queue.stream.retain();
  }
  if (more) make_ready(queue);
}

// A task whose time is up is the head again; false if the runtime was closed meanwhile, which dropped all others.
bool Scheduler::put_back(Stream::Queue &queue, Task &task) noexcept {
  const std::lock_guard guard(queue.lock());
  const bool forked = queue.stream.generation() < first_generation();  // then drop_lost_tasks ends it
  const mx_status now = refusal(queue.stream);
  if (!forked && now != MX_OK && now != MX_ERROR_CLOSING) return false;
  task.next = queue.head;
  queue.head = &task;
  if (!queue.tail) queue.tail = &task;
  return true;
}

void Scheduler::drive(Stream::Queue &queue, const Deadline *deadline) noexcept {
  bool yield = false;
  for (;;) {
    Ref<Event> done, wait_for;
    Task *task = nullptr;
    bool stay_ready = false;
    {
      const std::lock_guard guard(queue.lock());
      done = std::move(queue.current);
      if (!queue.head) {
        queue.phase = Phase::idle;
      } else if (queue.stream.generation() != current_epoch().generation) {
        return;  // forked inside a task: the queue is the parent's, drop_lost_tasks clears it
      } else if (yield) {
        queue.phase = Phase::ready;
        stay_ready = true;
      } else if (Event *blocked_by = blocker(*queue.head)) {
        queue.phase = Phase::parked;
        wait_for = Ref<Event>::share(blocked_by);
      } else {
        task = queue.pop();
        queue.phase = Phase::running;
        queue.current = task->event;
        queue.current_order = task->order_;
      }
    }
    delay_point();
    // In these three cases the queue belongs to somebody else from now on.
    if (stay_ready) return make_ready(queue);
    if (wait_for) return wait_for->listen(&queue.wakeup);
    if (!task) return queue.stream.release();

    if (!run(queue, *task, true, deadline) && !put_back(queue, *task))
      finish(queue, *task, true, MX_ERROR_CANCELLED, "the work was dropped: the runtime was closed");
    yield = deadline != nullptr || state.n_ready.load(std::memory_order_relaxed) != 0;
  }
}

}  // namespace mx
