#include "compile/entry.hpp"

#include <algorithm>

#include "base/status.hpp"
#include "ops/random.hpp"
#include "runtime/lifecycle.hpp"
#include "runtime/lock.hpp"

namespace mx {
namespace {

constexpr size_t max_variants = 8;

}  // namespace

Entry::Entry(TracedGraph traced, std::string host_key, bool shapeless, uint64_t host_tag)
    : host_tag(host_tag),
      traced_(std::move(traced)),
      host_key_(std::move(host_key)),
      shapeless_(shapeless),
      home_(backend_for(default_device())),
      packed_(home_.new_packed_constants()) {
  for (lower::Edge e : traced_.graph.outputs) outputs_.push_back(traced_.graph.spec(e));
  recent_.reserve(max_variants + 1);
}

Entry::~Entry() { delete first_.load(std::memory_order_relaxed); }

bool Entry::answers(std::span<const Value> inputs, std::string_view host_key) const noexcept {
  if (inputs.size() != traced_.n_inputs || host_key != host_key_) return false;
  for (size_t i = 0; i < inputs.size(); i++) {
    const Spec &given = spec_of(inputs[i]), &traced = traced_.graph.nodes[i].specs[0];
    if (given.dtype != traced.dtype || given.shape.size() != traced.shape.size()) return false;
    if (!shapeless_ && !(given.shape == traced.shape)) return false;
  }
  return true;
}

ValueVector Entry::call(Ref<Entry> entry, ValueVector inputs, Ref<Stream> stream) {
  require_not_closed();
  count_allocation();
  const TracedGraph &traced = entry->traced_;
  SmallVector<Spec, 1> replayed;
  std::span<const Spec> specs = entry->outputs_;
  if (entry->shapeless_) specs = replayed = entry->output_specs(inputs);
  for (uint32_t i = 0; i < traced.n_keys; i++) inputs.push_back(next_key());
  // Constants that nobody has computed yet become inputs, so that evaluating the call computes them first.
  for (const Value &constant : traced.constants)
    if (constant.node->state() != NodeState::done) inputs.push_back(constant);
  Ref<Node> node = make_ref<Node>(OpCode::compiled_call, Attrs(), std::move(inputs), specs, std::move(stream),
                                  Ref<Object>(std::move(entry)));
  ValueVector outputs;
  const uint32_t n = node->n_outputs;
  for (uint32_t i = 0; i + 1 < n; i++) outputs.push_back({node, i});
  if (n) outputs.push_back({std::move(node), n - 1});
  return outputs;
}

SmallVector<Spec, 1> Entry::output_specs(std::span<const Value> inputs) const {
  const lower::Graph &graph = traced_.graph;
  bool same = true;
  for (size_t i = 0; i < inputs.size(); i++) same &= spec_of(inputs[i]) == graph.nodes[i].specs[0];
  if (same) return outputs_;
  SmallVector<Spec, 1> specs;
  lower::Graph replay = graph;
  for (size_t i = 0; i < inputs.size(); i++) replay.nodes[i].specs[0] = spec_of(inputs[i]);
  replay.infer();
  for (lower::Edge e : replay.outputs) specs.push_back(replay.spec(e));
  return specs;
}

bool Entry::Variant::fits(std::span<const Value> inputs, const Backend &backend) const noexcept {
  if (program->backend != &backend) return false;
  for (size_t i = 0; i < specs.size(); i++) {
    const Output &output = inputs[i].node->output(inputs[i].index);
    if (!(specs[i].shape == output.spec.shape) || !(strides[i] == output.layout.strides)) return false;
  }
  return true;
}

Entry::Arguments Entry::arguments_of(std::span<const Value> inputs) const {
  Arguments arguments;
  for (size_t i = 0; i < n_arguments(); i++) {
    const Output &output = inputs[i].node->output(inputs[i].index);
    arguments.emplace_back(&output.spec, &output.layout.strides);
  }
  return arguments;
}

ProgramRef Entry::find_recent(const Arguments &arguments, const Backend &backend) {
  const auto fits = [&](const Variant &v) {
    if (v.program->backend != &backend) return false;
    for (size_t i = 0; i < v.specs.size(); i++)
      if (!(v.specs[i].shape == arguments[i].first->shape) || !(v.strides[i] == *arguments[i].second)) return false;
    return true;
  };
  const std::lock_guard guard(lock_for(LockRank::functions, this));
  const auto it = std::find_if(recent_.begin(), recent_.end(), fits);
  if (it == recent_.end()) return {};
  ProgramRef program = it->program;
  if (it != recent_.begin()) std::rotate(recent_.begin(), it, it + 1);
  return program;
}

ProgramRef Entry::find_program(std::span<const Value> inputs, Backend &backend) {
  const Variant *first = first_.load(std::memory_order_acquire);
  if (!first) return {};
  if (first->fits(inputs, backend))
    return {ProgramRef(), first->program.get()};  // not counted: it lives as long as the entry
  return find_recent(arguments_of(inputs), backend);
}

lower::Graph Entry::graph_for(const Arguments &arguments) const {
  lower::Graph graph = traced_.graph;
  bool same = true;
  for (size_t i = 0; i < n_arguments(); i++) {
    same &= graph.nodes[i].specs[0] == *arguments[i].first;
    graph.nodes[i].specs[0] = *arguments[i].first;
    graph.leaves[i].strides = *arguments[i].second;
  }
  for (size_t i = 0; i < traced_.constants.size(); i++) {
    const Value &constant = traced_.constants[i];
    graph.leaves[n_arguments() + i] =
        constant.node->state() == NodeState::done
            ? constant.node->output(constant.index).layout
            : Layout{row_major(spec_of(constant).shape, itemsize(spec_of(constant).dtype)), 0};
  }
  graph.first_constant = n_arguments();
  if (!same) graph.infer();
  return graph;
}

// Two threads may both lower: no one waits, both programs are right.
ProgramRef Entry::lower_and_keep(const Arguments &arguments, Backend &backend) {
  auto fresh = std::make_unique<Variant>();
  lower::Program lowered = lower::lower(graph_for(arguments), backend);
  if (&backend == &home_) lowered.packed = packed_;
  ProgramRef program = fresh->program = std::make_shared<const lower::Program>(std::move(lowered));
  for (size_t i = 0; i < n_arguments(); i++) {
    fresh->specs.push_back(*arguments[i].first);
    fresh->strides.push_back(*arguments[i].second);
  }
  const Variant *none = nullptr;
  if (first_.compare_exchange_strong(none, fresh.get(), std::memory_order_release, std::memory_order_relaxed)) {
    fresh.release();
    return program;
  }
  Variant evicted;
  const std::lock_guard guard(lock_for(LockRank::functions, this));
  recent_.insert(recent_.begin(), std::move(*fresh));  // within the reserved capacity
  if (recent_.size() > max_variants) {
    evicted = std::move(recent_.back());
    recent_.pop_back();
  }
  return program;
}

ProgramRef Entry::program_for(std::span<const Value> inputs, Backend &backend) {
  if (ProgramRef program = find_program(inputs, backend)) return program;
  return lower_and_keep(arguments_of(inputs), backend);
}

void Entry::prepare(std::span<const Value> inputs) {
  for (const Value &constant : traced_.constants)
    if (constant.node->state() != NodeState::done) return;
  SmallVector<Dims, 4> made;
  lower_and_keep(arguments_of(inputs, made), home_);
}

lower::Graph Entry::graph_for(std::span<const Value> inputs) {
  SmallVector<Dims, 4> made;
  return graph_for(arguments_of(inputs.first(std::min<size_t>(inputs.size(), n_arguments())), made));
}

// What is known before the values are there: arguments that nobody computed yet will be row-major, and so will keys.
// `made` keeps the strides that this makes up.
Entry::Arguments Entry::arguments_of(std::span<const Value> inputs, SmallVector<Dims, 4> &made) const {
  Arguments arguments;
  made.reserve(n_arguments());
  const auto add = [&](const Spec &spec, const Dims *strides) {
    if (!strides) strides = &made.emplace_back(row_major(spec.shape, itemsize(spec.dtype)));
    arguments.emplace_back(&spec, strides);
  };
  for (const Value &input : inputs) {
    const bool done = input.node->state() == NodeState::done;
    add(spec_of(input), done ? &input.node->output(input.index).layout.strides : nullptr);
  }
  for (size_t i = inputs.size(); i < n_arguments(); i++) add(traced_.graph.nodes[i].specs[0], nullptr);
  return arguments;
}

int64_t Entry::constant_bytes() const noexcept {
  int64_t bytes = 0;
  for (const Value &constant : traced_.constants) bytes += byte_count(spec_of(constant));
  bytes += packed_->bytes();
  return bytes;
}

}  // namespace mx
