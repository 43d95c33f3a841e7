// Traces: what is open while a host runs a function on tracers. State is per thread and per open call, so evaluating on
// another thread is unaffected. A node is a tracer only while its trace is open on the calling thread.
#pragma once
#include <atomic>

#include "base/object.hpp"

namespace mx {

enum class TraceKind : uint8_t {
  placeholders,  // stand for arrays without a value: of a compiled function, of a mapping
  transform      // its tracers have values; keeps a tape (core/tape.hpp)
};

class Trace : public Object {
 public:
  explicit Trace(TraceKind kind = TraceKind::placeholders, Ref<Trace> parent = {}) noexcept;
  const TraceKind kind;
  // What nodes of this trace derive from once it has ended; null: nothing that is traced.
  const Ref<Trace> parent;
  bool open() const noexcept { return open_.load(std::memory_order_acquire); }
  // The depth of nesting on its thread, 1 for the outermost.
  uint32_t depth() const noexcept { return depth_; }
  bool on_this_thread() const noexcept;
  bool active_here() const noexcept { return open() && on_this_thread(); }
  // Ends the trace, on any thread; idempotent.
  void end() noexcept { open_.store(false, std::memory_order_release); }

 protected:
  ~Trace() override = default;

 private:
  friend void push_trace(Trace &);
  std::atomic<bool> open_{true};
  const uint64_t thread_;
  uint32_t depth_;
};

// The trace itself or the nearest it is nested in that is still open; null if none is.
Trace *nearest_open(Trace *trace) noexcept;

// Whether a trace of placeholders is open on this thread: what is drawn now may become part of a program.
bool tracing() noexcept;

// The traces open on this thread, innermost last. Begin pushes; end of a call removes, wherever in the stack it is.
void push_trace(Trace &trace);  // throws RECURSION beyond 64
void pop_trace(Trace &trace) noexcept;
Ref<Trace> innermost_trace() noexcept;  // null if none is open on this thread

// A number that tells threads apart and is never used again.
uint64_t thread_number() noexcept;

}  // namespace mx
