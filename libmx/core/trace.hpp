// Traces: what is open while a host runs a function on placeholders. State is per thread and per open call, so
// evaluating on another thread is unaffected. A node is a tracer only while its trace is open on the calling thread.
#pragma once
#include <atomic>

#include "base/object.hpp"

namespace mx {

class Trace final : public Object {
 public:
  Trace() noexcept;
  bool open() const noexcept { return open_.load(std::memory_order_acquire); }
  // The depth of nesting on its thread, 1 for the outermost.
  uint32_t depth() const noexcept { return depth_; }
  bool on_this_thread() const noexcept;
  bool active_here() const noexcept { return open() && on_this_thread(); }
  // Ends the trace, on any thread; idempotent.
  void end() noexcept { open_.store(false, std::memory_order_release); }

 private:
  friend void push_trace(Trace &);
  ~Trace() override = default;
  std::atomic<bool> open_{true};
  const uint64_t thread_;
  uint32_t depth_;
};

// Whether any trace is open on this thread.
bool tracing() noexcept;

// The traces open on this thread, innermost last. Begin pushes; end of a call removes, wherever in the stack it is.
void push_trace(Trace &trace);  // throws RECURSION beyond 64
void pop_trace(Trace &trace) noexcept;

// A number that tells threads apart and is never used again.
uint64_t thread_number() noexcept;

}  // namespace mx
