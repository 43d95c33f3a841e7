// What callers see of streams: submission, inline execution, synchronize, and each thread's defaults. The machinery
// that drives queues is in scheduler.cpp.
#include "runtime/stream.hpp"

#include "base/status.hpp"
#include "runtime/cancel.hpp"
#include "runtime/delay.hpp"
#include "runtime/futex.hpp"
#include "runtime/lifecycle.hpp"
#include "runtime/memory.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/thread.hpp"

namespace mx {
namespace {

constinit std::atomic<uint32_t> last_index{0};

[[noreturn]] void refuse(mx_status status, const Stream &stream) {
  if (forked_dirty()) fail_dirty();
  switch (status) {
    case MX_ERROR_CLOSING:
      fail(status, "submit: the runtime is closing");
    case MX_ERROR_CLOSED:
      fail(status, "submit: the runtime is closed");
    default:
      fail(status, "submit: stream %u was made before a fork or a reopen of the runtime (generation %u, now %u)",
           stream.index(), stream.generation(), current_epoch().generation);
  }
}

}  // namespace

Task::~Task() {
  if (!ended_ && event && event->pending()) event->fail(MX_ERROR_CANCELLED, "the work was dropped before it ran");
}

Stream::Stream(Device device, uint32_t generation)
    : device_(device),
      index_(last_index.fetch_add(1, std::memory_order_relaxed) + 1),
      generation_(generation),
      queue_(new Queue(*this)) {
  queue_->wakeup.fn = Scheduler::resume;
  queue_->wakeup.internal = true;
  queue_->wakeup.queue = queue_;
  Scheduler::enlist(*queue_);
}

Stream::~Stream() {
  Scheduler::unlink(*queue_);
  delete queue_;
}

void Stream::submit(Ref<Task> task) {
  require_running();
  if (task->small && try_run_inline(*task)) return;
  Queue &q = *queue_;
  mx_status refused;
  bool start = false;
  {
    const std::lock_guard guard(q.lock());
    refused = Scheduler::refusal(*this);
    if (refused == MX_OK) {
      task->event->stream_.store(index_, std::memory_order_release);
      task->order_ = Scheduler::next_order();
      task->cancel_count_ = cancel_count();
      Scheduler::work_begins(generation_);
      q.append(task.detach());
      start = q.phase == Phase::idle;
      if (start) {
        q.phase = Phase::ready;
        retain();
      }
    }
  }
  if (refused != MX_OK) refuse(refused, *this);
  delay_point();
  if (start) Scheduler::make_ready(q);
}

bool Stream::try_run_inline(Task &task) {
  require_running();
  if (!Scheduler::dependencies_done(task)) return false;
  Queue &q = *queue_;
  mx_status refused;
  {
    const std::lock_guard guard(q.lock());
    refused = Scheduler::refusal(*this);
    if (refused == MX_OK) {
      if (q.phase != Phase::idle) return false;
      q.phase = Phase::running;
      task.event->stream_.store(index_, std::memory_order_release);
      q.current = task.event;
      q.current_order = task.order_ = Scheduler::next_order();
      task.cancel_count_ = cancel_count();
      Scheduler::work_begins(generation_);
    }
  }
  if (refused != MX_OK) refuse(refused, *this);
  Scheduler::run_inline(q, task);
  return true;
}

bool Stream::synchronize(uint32_t timeout_ms) {
  Queue &q = *queue_;
  Ref<Event> last, error;
  {
    const std::lock_guard guard(q.lock());
    last = q.tail ? q.tail->event : q.current;
  }
  if (last && !last->wait(timeout_ms)) return false;
  // Work that went down with the runtime or in a fork never gets to tell the stream.
  const bool lost = last && last->failed() && current_epoch() != Epoch{State::running, generation_};
  {
    const std::lock_guard guard(q.lock());
    if (q.error) error = std::move(q.error);
  }
  if (!error && lost) error = last;
  if (error) error->throw_if_failed();
  return true;
}

bool synchronize_all(uint32_t timeout_ms) {
  const Deadline deadline(timeout_ms);
  const uint64_t order = Scheduler::last_order();
  while (const Ref<Event> event = Scheduler::unfinished(order)) {
    const uint64_t left = deadline.left_ns(uint64_t{50} * 1'000'000);
    if (!event->wait(static_cast<uint32_t>((left + 999'999) / 1'000'000)) && left == 0) return false;
  }
  if (const Ref<Event> error = Scheduler::take_error()) error->throw_if_failed();
  return true;
}

Ref<Stream> new_stream(Device device) {
  require_running();
  if (device.index < 0 || device.index >= device_count(device.type))
    fail(MX_ERROR_INVALID_ARGUMENT, "stream: there is no device %d of type %d", device.index,
         static_cast<int>(device.type));
  count_allocation();
  return make_ref<Stream>(device, current_epoch().generation);
}

Ref<Stream> default_stream(Device device) {
  const uint32_t generation = current_epoch().generation;
  ThreadRecord &record = thread_record();
  for (Ref<Stream> &stream : record.streams)
    if (stream->device() == device) {
      if (stream->generation() != generation) stream = new_stream(device);
      return stream;
    }
  record.streams.push_back(new_stream(device));
  return record.streams.back();
}

void set_default_stream(Ref<Stream> stream) {
  const Device device = stream->device();
  ThreadRecord &record = thread_record();
  bool found = false;
  for (Ref<Stream> &known : record.streams)
    if (known->device() == device) {
      known = stream;
      found = true;
    }
  if (!found) record.streams.push_back(std::move(stream));
  set_thread_default_device(&device);
}

Ref<Stream> stream_or_default(Stream *stream) {
  return stream ? Ref<Stream>::share(stream) : default_stream(default_device());
}

}  // namespace mx
