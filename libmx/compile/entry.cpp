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

std::shared_ptr<const lower::Program> Entry::find(std::span<const Output> inputs) {
  const auto fits = [&](const Variant &v) {
    for (size_t i = 0; i < v.specs.size(); i++)
      if (!(v.specs[i].shape == inputs[i].spec.shape) || !(v.strides[i] == inputs[i].layout.strides)) return false;
    return true;
  };
  Lock &lock = lock_for(LockRank::functions, this);
  lock.lock();
  const auto it = std::find_if(variants_.begin(), variants_.end(), fits);
  std::shared_ptr<const lower::Program> program = it == variants_.end() ? nullptr : it->program;
  if (program && it != variants_.begin()) std::rotate(variants_.begin(), it, it + 1);
  lock.unlock();
  return program;
}

std::shared_ptr<const lower::Program> Entry::lower_for(std::span<const Output> inputs) const {
  lower::Graph graph = traced_.graph;
  bool same = true;
  for (size_t i = 0; i < n_arguments(); i++) {
    same &= graph.nodes[i].specs[0] == inputs[i].spec;
    graph.nodes[i].specs[0] = inputs[i].spec;
    graph.leaves[i] = inputs[i].layout;
  }
  for (size_t i = 0; i < traced_.constants.size(); i++) {
    const Value &constant = traced_.constants[i];
    graph.leaves[n_arguments() + i] = constant.node->output(constant.index).layout;
  }
  if (!same) graph.infer();
  return std::make_shared<const lower::Program>(lower::lower(std::move(graph)));
}

std::shared_ptr<const lower::Program> Entry::program_for(std::span<const Output> inputs) {
  if (auto program = find(inputs)) return program;
  Variant variant;
  variant.program = lower_for(inputs);  // two threads may both lower: no one waits, one copy stays
  for (size_t i = 0; i < n_arguments(); i++) {
    variant.specs.push_back(inputs[i].spec);
    variant.strides.push_back(inputs[i].layout.strides);
  }
  auto program = variant.program;
  Variant evicted;
  Lock &lock = lock_for(LockRank::functions, this);
  lock.lock();
  variants_.insert(variants_.begin(), std::move(variant));  // within the reserved capacity
  if (variants_.size() > max_variants) {
    evicted = std::move(variants_.back());
    variants_.pop_back();
  }
  lock.unlock();
  return program;
}

std::vector<Output> Entry::run(std::vector<Output> inputs) {
  const auto program = program_for(inputs);
  std::vector<lower::Leaf> leaves;
  leaves.reserve(traced_.graph.leaves.size());
  for (size_t i = 0; i < n_arguments(); i++)
    leaves.push_back({std::move(inputs[i].buffer), inputs[i].layout.offset});
  for (const Value &constant : traced_.constants) {
    const Output &output = constant.node->output(constant.index);
    leaves.push_back({output.buffer, output.layout.offset});
  }
  inputs.clear();
  return program->run(std::move(leaves));
}

int64_t Entry::estimate_ns(std::span<const Output> inputs) { return program_for(inputs)->estimate_ns; }

void Entry::prepare(std::span<const Value> inputs) {
  for (const Value &constant : traced_.constants)
    if (constant.node->state() != NodeState::done) return;
  std::vector<Output> outputs;
  for (const Value &input : inputs) {
    Output output;
    output.spec = spec_of(input);
    output.layout.strides = input.node->state() == NodeState::done
                                ? input.node->output(input.index).layout.strides
                                : row_major(output.spec.shape, itemsize(output.spec.dtype));
    outputs.push_back(std::move(output));
  }
  for (uint32_t i = 0; i < traced_.n_keys; i++) {
    const Spec &spec = traced_.graph.nodes[traced_.n_inputs + i].specs[0];
    outputs.push_back({spec, {row_major(spec.shape, itemsize(spec.dtype)), 0}, {}});
  }
  program_for(outputs);
}

int64_t Entry::constant_bytes() const noexcept {
  int64_t bytes = 0;
  for (const Value &constant : traced_.constants) bytes += byte_count(spec_of(constant));
  return bytes;
}

}  // namespace mx
