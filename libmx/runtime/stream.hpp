// Streams: process-wide ordered queues of tasks, not threads. Any thread may submit to any stream; a pool worker drives
// it while its head is ready, else the stream is parked and re-queued by the event that it waits for.
#pragma once
#include <atomic>

#include "base/object.hpp"
#include "base/small_vector.hpp"
#include "runtime/device.hpp"
#include "runtime/event.hpp"

namespace mx {

// Work for a stream. Its event completes when execute returns, or fails with what execute throws, or with CANCELLED or
// FORKED when it never ran. A task holds strong references to all that it touches.
//
// When work ends, this happens in this order: release_inputs; the queue drops its reference to the task; the stream
// notes a failure; the event completes. So whoever wakes up finds exact memory counters and no reference of the runtime
// left.
class Task : public Object {
 public:
  virtual void execute() = 0;
  // Does a bounded piece of the work and tells whether more remains. Where the pool has no threads the waiting thread
  // calls it again and again and may leave in between when its time is up; another thread may go on then.
  virtual bool step() {
    execute();
    return false;
  }
  // Drops the references to inputs as soon as the work is done; called once, also if execute never ran.
  virtual void release_inputs() noexcept {}

  Ref<Event> event = make_ref<Event>();
  SmallVector<Ref<Event>, 2>
      dependencies;                 // all must be done before execute; a failed one fails this task with its error
  bool judges_failures = false;     // execute looks itself whether a failed dependency concerns it
  bool small = false;               // may run inline on the submitting thread: under ~20 us, or it would wait
  int64_t estimate_ns = INT64_MAX;  // on one thread, if known: a thread that waits so long anyway may run it
  Task *next = nullptr;             // owned by the queue

 protected:
  // A task that is dropped before it ran fails its event, so nobody waits for ever.
  ~Task() override;

 private:
  friend struct Scheduler;
  friend class Stream;
  uint64_t order_ = 0;            // grows with every submission of the process
  uint64_t cancel_count_ = 0;     // when it was submitted
  uint32_t next_dependency_ = 0;  // those before it are done
  bool ended_ = false;            // the runtime completes the event
};

class Stream : public Object {
 public:
  static constexpr Tag tag = Tag::stream;
  // Throws bad_alloc.
  Stream(Device device, uint32_t generation);
  Device device() const noexcept { return device_; }
  uint32_t index() const noexcept { return index_; }  // from 1, never used twice
  uint32_t generation() const noexcept { return generation_; }

  // Queues the task, or runs it here and now when it is small, its dependencies are done and the queue is empty.
  // Throws CLOSING, CLOSED or STALE (a stream from before a fork or reopen); the check is made under the queue lock.
  void submit(Ref<Task> task);
  // Runs the task on this thread and returns true if that is possible without waiting; else changes nothing. Throws as
  // submit does; what the task itself throws goes to its event. Any task may be run so, not only small ones.
  bool try_run_inline(Task &task);

  // Waits for all that was submitted before; false on timeout. Throws the stream's first error not yet thrown.
  bool synchronize(uint32_t timeout_ms);

  struct Queue;  // queue.hpp

 private:
  friend struct Scheduler;
  ~Stream() override;
  const Device device_;
  const uint32_t index_, generation_;
  Queue *queue_;
};

// The calling thread's default stream on a device, made on first use; and its override (`with stream(s)`). After a fork
// or a reopen a thread gets a fresh one.
Ref<Stream> default_stream(Device device);
// Makes it the thread's default on its device, and its device the thread's default device.
void set_default_stream(Ref<Stream> stream);
Ref<Stream> new_stream(Device device);
// `stream` if given, else the calling thread's default stream on its default device.
Ref<Stream> stream_or_default(Stream *stream);
// Waits for all that was submitted to any stream before; false on timeout. Throws as synchronize does.
bool synchronize_all(uint32_t timeout_ms);

}  // namespace mx
