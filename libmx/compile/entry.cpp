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

Entry::Entry(TracedGraph traced, uint64_t host_tag) noexcept : host_tag(host_tag), traced_(std::move(traced)) {
  variants_.reserve(max_variants + 1);
}

SmallVector<Value, 4> Entry::call(std::span<const Value> inputs, Ref<Stream> stream) {
  require_not_closed();
  count_allocation();
  SmallVector<Value, 2> all;
  all.reserve(n_arguments());
  for (const Value &input : inputs) all.push_back(input);
  for (uint32_t i = 0; i < traced_.n_keys; i++) all.push_back(next_key());
  // Constants that nobody has computed yet become inputs, so that evaluating the call computes them first.
  for (const Value &constant : traced_.constants)
    if (constant.node->state() != NodeState::done) all.push_back(constant);
  auto node = make_ref<Node>(OpCode::compiled_call, Attrs(), std::move(all), output_specs(inputs), std::move(stream),
                             Ref<Object>(Ref<Entry>::share(this)));
  SmallVector<Value, 4> outputs;
  for (uint32_t i = 0; i < node->n_outputs; i++) outputs.push_back({node, i});
  return outputs;
}

SmallVector<Spec, 1> Entry::output_specs(std::span<const Value> inputs) const {
  const lower::Graph &graph = traced_.graph;
  bool same = true;
  for (size_t i = 0; i < inputs.size(); i++) same &= spec_of(inputs[i]) == graph.nodes[i].specs[0];
  SmallVector<Spec, 1> specs;
  if (same) {
    for (lower::Edge e : graph.outputs) specs.push_back(graph.spec(e));
    return specs;
  }
  lower::Graph replay = graph;
  for (size_t i = 0; i < inputs.size(); i++) replay.nodes[i].specs[0] = spec_of(inputs[i]);
  replay.infer();
  for (lower::Edge e : replay.outputs) specs.push_back(replay.spec(e));
  return specs;
}

std::shared_ptr<const lower::Program> Entry::find(const Arguments &arguments) {
  const auto fits = [&](const Variant &v) {
    for (size_t i = 0; i < v.specs.size(); i++)
      if (!(v.specs[i].shape == arguments[i].first->shape) || !(v.strides[i] == *arguments[i].second)) return false;
    return true;
  };
  const std::lock_guard guard(lock_for(LockRank::functions, this));
  const auto it = std::find_if(variants_.begin(), variants_.end(), fits);
  if (it == variants_.end()) return {};
  std::shared_ptr<const lower::Program> program = it->program;
  if (it != variants_.begin()) std::rotate(variants_.begin(), it, it + 1);
  return program;
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
  if (!same) graph.infer();
  return graph;
}

std::shared_ptr<const lower::Program> Entry::program_for(const Arguments &arguments) {
  if (auto program = find(arguments)) return program;
  Variant variant;
  variant.program = std::make_shared<const lower::Program>(
      lower::lower(graph_for(arguments)));  // two threads may both lower: no one waits, one copy stays
  for (size_t i = 0; i < n_arguments(); i++) {
    variant.specs.push_back(*arguments[i].first);
    variant.strides.push_back(*arguments[i].second);
  }
  auto program = variant.program;
  Variant evicted;
  const std::lock_guard guard(lock_for(LockRank::functions, this));
  variants_.insert(variants_.begin(), std::move(variant));  // within the reserved capacity
  if (variants_.size() > max_variants) {
    evicted = std::move(variants_.back());
    variants_.pop_back();
  }
  return program;
}

std::shared_ptr<const lower::Program> Entry::program_for(std::span<const Value> inputs) {
  Arguments arguments;
  for (size_t i = 0; i < n_arguments(); i++) {
    const Output &output = inputs[i].node->output(inputs[i].index);
    arguments.emplace_back(&output.spec, &output.layout.strides);
  }
  return program_for(arguments);
}

std::vector<lower::Leaf> Entry::leaves(std::span<const Value> inputs) {
  std::vector<lower::Leaf> leaves;
  leaves.reserve(traced_.graph.leaves.size());
  const auto add = [&](const Value &value) {
    const Output &output = value.node->output(value.index);
    leaves.push_back({output.buffer, output.layout.offset});
  };
  for (const Value &input : inputs.first(n_arguments())) add(input);
  for (const Value &constant : traced_.constants) add(constant);
  return leaves;
}

void Entry::prepare(std::span<const Value> inputs) {
  for (const Value &constant : traced_.constants)
    if (constant.node->state() != NodeState::done) return;
  SmallVector<Dims, 4> made;
  program_for(arguments_of(inputs, made));
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
  return bytes;
}

}  // namespace mx
