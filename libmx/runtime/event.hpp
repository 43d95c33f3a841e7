// One-shot completion of a task: pending -> done or failed. The one primitive that anything waits on. An event that can
// no longer complete, because its runtime was closed or its process forked, counts as failed from then on.
#pragma once
#include <atomic>
#include <string>

#include "base/object.hpp"
#include "base/status.hpp"

namespace mx {

class Deadline;  // futex.hpp

class Event : public Object {
 public:
  static constexpr Tag tag = Tag::event;

  bool pending() const noexcept;
  bool failed() const noexcept;
  mx_status status() const noexcept;  // MX_OK once done, the failure once failed; undefined while pending
  std::string message() const { return text(); }
  const char *text() const noexcept;  // of the failure; valid while the event lives
  void throw_if_failed() const;       // throws Error(status, message)

  // Exactly one of the two takes effect, once. Wakes waiters, then re-queues parked streams, then runs listeners; no
  // lock is held meanwhile. Never throws: without memory the message is a fixed text.
  void complete() noexcept;
  void fail(mx_status status, const char *message) noexcept;

  // Blocks until the event is no longer pending; false after timeout_ms (UINT32_MAX: for ever). While the pool has no
  // threads the calling thread runs the ready tasks this event depends on, step by step, also with timeout 0.
  bool wait(uint32_t timeout_ms) noexcept;

  // Until the task stands in the queue of a stream, or never will: a task that depends on it comes behind it then, on
  // whatever stream. Who has not submitted it yet is about to do so.
  void wait_until_submitted() const noexcept;

  // Calls fn(node) once when the event is no longer pending: at once on this thread if it already is, else on the
  // thread that completes it, no lock held. The node is the caller's, lives until it was called, and is not touched
  // afterwards. It is not called at all when the runtime was closed over it (ABANDON, deadline), at process exit, or in
  // a forked child for what the parent listened to; the node is leaked then.
  struct Listener {
    void (*fn)(Listener *) noexcept;
    Listener *next = nullptr;
    bool internal = false;    // the runtime's own: called before the others, and in every state
    uint32_t generation = 0;  // set by listen
  };
  void listen(Listener *listener) noexcept;

  // A number that grows with every event: useful in traces and logs.
  uint64_t id() const noexcept { return id_; }
  Event() noexcept;
  ~Event() override;

 private:
  friend struct Scheduler;
  friend class Stream;
  struct Failure;
  // Pending, and not given up either. Unlike pending() it never calls listeners, so it may be asked under a lock.
  bool live() const noexcept;
  enum class Loss : uint8_t { none, closed, forked };
  Loss loss() const noexcept;
  void give_up(Loss loss) const noexcept;
  bool claim() noexcept;
  void settle(uint32_t word) const noexcept;
  void notify() const noexcept;
  void sleep(uint64_t ns) noexcept;
  void watch(const Deadline &deadline) noexcept;

  // Stored lazily by const readers too, see give_up.
  mutable std::atomic<uint32_t> word_{0};
  std::atomic<Failure *> failure_{nullptr};
  mutable std::atomic<Listener *> listeners_{nullptr};
  std::atomic<uint32_t> stream_{0};  // index of the stream whose queue its task has got into; 0: none yet
  const uint32_t generation_;
  const uint64_t id_;
};

}  // namespace mx
