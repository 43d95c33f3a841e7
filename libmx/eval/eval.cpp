#include "eval/eval.hpp"

#include <algorithm>

#include "backends/cpu/strided_copy.hpp"
#include "base/status.hpp"
#include "eval/region.hpp"
#include "runtime/delay.hpp"
#include "runtime/futex.hpp"
#include "runtime/lifecycle.hpp"

namespace mx {
namespace {

constexpr size_t small_graph = 2048;

bool done(std::span<const Value> values) noexcept {
  for (const Value &value : values)
    if (value.node->state() != NodeState::done) return false;
  return true;
}

// What a start does itself.
struct Effort {
  size_t most_nodes = 0;        // of a graph that is lowered; 0: any number
  int64_t longest_ns = 0;       // what is estimated to take no longer is computed here if that is possible at once
  bool leaves_long = false;     // what takes longer is not started, if it is all there is
  bool keeps_failures = false;  // in the arrays and their stream: nothing that fails is computed here and now
};

// The time that a thread has which would wait for the result anyway. A host that comes back to look at its signals
// waits no longer than a second.
int64_t longest_wait_ns(uint32_t timeout_ms) noexcept { return std::min<int64_t>(timeout_ms, 1000) * 1'000'000; }

// A task that could not be submitted: its nodes hold why.
[[noreturn]] void refuse(evaluation::RegionTask &task) {
  const mx_status status = current_exception_status();
  task.release_inputs();
  task.event->fail(status, error_message());
  throw;
}

void submit(const Ref<evaluation::RegionTask> &task) {
  try {
    task->stream().submit(task);
  } catch (...) {
    refuse(*task);
  }
}

enum class Outcome : uint8_t { started, left, overtaken };

// Claims and submits the regions of a walk, unless another thread claimed part of the graph meanwhile.
Outcome submit(evaluation::Walk &walk, const Effort &effort) {
  for (const auto &region : walk.regions) {
    const bool is_last = &region == &walk.regions.back();
    Ref<evaluation::RegionTask> task = evaluation::RegionTask::copy(walk, region);
    task->prepare();
    if (is_last && task->estimate_ns <= effort.longest_ns) task->small = true;
    if (effort.leaves_long && walk.regions.size() == 1 && !task->small) return Outcome::left;
    if (!task->claim(walk, region)) return Outcome::overtaken;
    if (is_last) walk.nodes.clear();  // so that leaves can be donated
    delay_point();
    submit(task);
  }
  return Outcome::started;
}

bool start(std::span<const Value> values, const Effort &effort) {
  while (!done(values)) {
    if (values.size() == 1 && !effort.keeps_failures) {
      require_running();
      int64_t estimate_ns;
      if (evaluation::run_here(*values[0].node, estimate_ns)) break;
      if (effort.leaves_long && estimate_ns > evaluation::inline_ns) return false;
    }
    evaluation::Walk walk;
    if (!evaluation::walk(values, effort.most_nodes, walk)) return false;
    if (walk.regions.empty()) break;  // all that is left is pending elsewhere
    require_running();
    const Outcome outcome = submit(walk, effort);
    if (outcome == Outcome::left) return false;
    if (outcome == Outcome::started) break;
  }
  return true;
}

}  // namespace

void start(std::span<const Value> values) { start(values, {.keeps_failures = true}); }

bool start_if_small(std::span<const Value> values) {
  return start(values, {.most_nodes = small_graph, .leaves_long = true}) && done(values);
}

bool wait(const Value &value, uint32_t timeout_ms) {
  for (;;) {
    if (value.node->state() == NodeState::done) return true;
    const Node::Snapshot snapshot = value.node->snapshot();
    if (snapshot.state == NodeState::done) return true;
    if (snapshot.state == NodeState::lazy) {
      start({&value, 1}, {.longest_ns = longest_wait_ns(timeout_ms)});
      continue;
    }
    if (!snapshot.event->wait(timeout_ms)) return false;
    if (value.node->state() == NodeState::done) return true;  // also when something else in its region failed
    snapshot.event->throw_if_failed();
  }
}

bool eval(std::span<const Value> values, uint32_t timeout_ms) {
  const Deadline deadline(timeout_ms);
  start(values, {.longest_ns = longest_wait_ns(timeout_ms)});
  for (const Value &value : values) {
    const uint64_t left_ms = timeout_ms == UINT32_MAX ? timeout_ms : deadline.left_ns(UINT64_MAX) / 1'000'000;
    if (!wait(value, static_cast<uint32_t>(left_ms))) return false;
  }
  return true;
}

void read(void *out, size_t n_bytes, const Value &value) {
  const Spec &spec = spec_of(value);
  if (n_bytes != static_cast<size_t>(byte_count(spec)))
    fail(MX_ERROR_INVALID_ARGUMENT, "read: %zu bytes were given for an array of %lld", n_bytes,
         static_cast<long long>(byte_count(spec)));
  const Ref<Pin> pinned = pin(value);
  const Dims strides = row_major(spec.shape, itemsize(spec.dtype));
  cpu::strided_copy(spec.shape, itemsize(spec.dtype), static_cast<char *>(out), strides, pinned->data(),
                    pinned->output().layout.strides);
}

Scalar item(const Value &value) {
  if (element_count(spec_of(value).shape) != 1)
    fail(MX_ERROR_INVALID_ARGUMENT, "item: an array of shape %s has not exactly one element",
         to_string(spec_of(value).shape).c_str());
  eval(value);
  const Output &output = value.node->output(value.index);
  return load_scalar(reinterpret_cast<const char *>(output.buffer->data()) + output.layout.offset, output.spec.dtype);
}

Ref<Pin> pin(const Value &value) {
  eval(value);
  return make_ref<Pin>(value.node->output(value.index));
}

}  // namespace mx
