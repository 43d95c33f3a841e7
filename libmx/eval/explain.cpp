#include "eval/explain.hpp"

#include "eval/region_graph.hpp"
#include "lower/explain.hpp"

namespace mx {
namespace {

// A leaf that has no value yet will be row-major.
void assume_layouts(lower::Graph &graph, std::span<const Value> leaves) {
  for (size_t i = 0; i < leaves.size(); i++) {
    const Spec &spec = spec_of(leaves[i]);
    const bool done = leaves[i].node->state() == NodeState::done;
    graph.leaves[i] =
        done ? leaves[i].node->output(leaves[i].index).layout : Layout{row_major(spec.shape, itemsize(spec.dtype)), 0};
  }
}

bool is_call(const evaluation::WalkNode &w) noexcept { return w.node->op == OpCode::compiled_call; }

std::string why_cut(const evaluation::Walk &walk, std::span<const uint32_t> region) {
  if (is_call(walk.nodes[region[0]])) return "a compiled call";
  return "ops outside of compiled calls";
}

std::string explain_region(const evaluation::Walk &walk, std::span<const uint32_t> region) {
  const evaluation::WalkNode &first = walk.nodes[region[0]];
  Backend &backend = backend_for(first.stream->device());
  if (is_call(first))
    return lower::explain(static_cast<Callable &>(*first.node->payload).graph_for(first.inputs), backend);
  lower::Graph graph;
  std::vector<Value> leaves;
  evaluation::copy_graph(walk, region, graph, leaves);
  assume_layouts(graph, leaves);
  return lower::explain(std::move(graph), backend);
}

}  // namespace

std::string explain(std::span<const Value> values) {
  evaluation::Walk walk;
  evaluation::walk(values, 0, walk);
  if (walk.regions.empty()) return "nothing to compute\n";
  if (walk.regions.size() == 1) return explain_region(walk, walk.regions[0]);
  std::string text;
  for (size_t i = 0; i < walk.regions.size(); i++)
    text += "region " + std::to_string(i) + ": " + why_cut(walk, walk.regions[i]) + ", on stream " +
            std::to_string(walk.nodes[walk.regions[i][0]].stream->index()) + "\n" +
            explain_region(walk, walk.regions[i]);
  return text;
}

std::string explain(Callable &callable, std::span<const Value> inputs) {
  return lower::explain(callable.graph_for(inputs), backend_for(default_device()));
}

}  // namespace mx
