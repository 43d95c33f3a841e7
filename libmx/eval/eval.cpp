#include "eval/eval.hpp"

#include "backends/cpu/strided_copy.hpp"
#include "base/status.hpp"
#include "eval/region.hpp"
#include "runtime/lifecycle.hpp"

namespace mx {
namespace {

constexpr size_t small_graph = 512;

bool done(std::span<const Value> values) noexcept {
  for (const Value &value : values)
    if (value.node->state() != NodeState::done) return false;
  return true;
}

// A task that could not be submitted: its nodes hold why.
[[noreturn]] void refuse(evaluation::RegionTask &task) {
  const mx_status status = current_exception_status();
  task.release_inputs();
  task.event->fail(status, error_message());
  throw;
}

void submit(Ref<evaluation::RegionTask> task) {
  try {
    task->prepare();
    task->stream().submit(task);
  } catch (...) {
    refuse(*task);
  }
}

// Claims and submits the regions of a walk; false if another thread claimed part of the graph meanwhile.
bool submit(evaluation::Walk &walk) {
  for (const auto &region : walk.regions) {
    Ref<evaluation::RegionTask> task = evaluation::RegionTask::claim(walk, region);
    if (!task) return false;
    if (&region == &walk.regions.back()) walk.nodes.clear();  // so that leaves can be donated
    submit(std::move(task));
  }
  return true;
}

bool start(std::span<const Value> values, size_t max_nodes) {
  while (!done(values)) {
    if (values.size() == 1) {
      require_running();
      if (evaluation::run_here(*values[0].node)) break;
    }
    evaluation::Walk walk;
    if (!evaluation::walk(values, max_nodes, walk)) return false;
    if (walk.regions.empty()) break;  // all that is left is pending elsewhere
    require_running();
    if (submit(walk)) break;
  }
  return true;
}

}  // namespace

void start(std::span<const Value> values) { start(values, 0); }

bool start_if_small(std::span<const Value> values) { return start(values, small_graph) && done(values); }

bool wait(const Value &value, uint32_t timeout_ms) {
  for (;;) {
    if (value.node->state() == NodeState::done) return true;
    const Node::Snapshot snapshot = value.node->snapshot();
    if (snapshot.state == NodeState::done) return true;
    if (snapshot.state == NodeState::lazy) {
      start({&value, 1}, 0);
      continue;
    }
    if (!snapshot.event->wait(timeout_ms)) return false;
    if (value.node->state() == NodeState::done) return true;  // also when something else in its region failed
    snapshot.event->throw_if_failed();
  }
}

void eval(std::span<const Value> values) {
  start(values, 0);
  for (const Value &value : values) wait(value, UINT32_MAX);
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
  eval({&value, 1});
  return make_ref<Pin>(value.node->output(value.index));
}

}  // namespace mx
