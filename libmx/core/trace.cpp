#include "core/trace.hpp"

#include "base/status.hpp"

namespace mx {
namespace {

constexpr uint32_t max_depth = 64;

// Trivially destructible: a thread that exits inside an open trace leaks that trace, nothing else.
struct Stack {
  Trace *traces[max_depth];
  uint32_t size;
};
thread_local Stack stack = {};
thread_local uint64_t number = 0;
std::atomic<uint64_t> last_number{0};

// Calls may be ended on another thread, which cannot reach this stack.
void drop_ended() noexcept {
  while (stack.size && !stack.traces[stack.size - 1]->open()) stack.traces[--stack.size]->release();
}

}  // namespace

uint64_t thread_number() noexcept {
  if (!number) number = last_number.fetch_add(1, std::memory_order_relaxed) + 1;
  return number;
}

Trace::Trace(TraceKind kind, Ref<Trace> parent) noexcept
    : kind(kind), parent(std::move(parent)), thread_(thread_number()), depth_(0) {}

bool Trace::on_this_thread() const noexcept { return thread_ == thread_number(); }

Trace *nearest_open(Trace *trace) noexcept {
  while (trace && !trace->open()) trace = trace->parent.get();
  return trace;
}

bool tracing() noexcept {
  for (uint32_t i = 0; i < stack.size; i++)
    if (stack.traces[i]->kind == TraceKind::placeholders && stack.traces[i]->open()) return true;
  return false;
}

void push_trace(Trace &trace) {
  drop_ended();
  if (stack.size == max_depth)
    fail(MX_ERROR_RECURSION, "traces are nested more than %u deep on this thread", max_depth);
  trace.retain();
  stack.traces[stack.size++] = &trace;
  trace.depth_ = stack.size;
}

void pop_trace(Trace &trace) noexcept {
  trace.end();
  drop_ended();
}

Ref<Trace> innermost_trace() noexcept {
  for (uint32_t i = stack.size; i-- > 0;)
    if (stack.traces[i]->open()) return Ref<Trace>::share(*stack.traces[i]);
  return {};
}

}  // namespace mx
