#include "eval/region_graph.hpp"

#include <algorithm>

namespace mx::evaluation {
namespace {

class GraphBuilder {
 public:
  GraphBuilder(const Walk &walk, lower::Graph &graph, std::vector<Value> &leaves)
      : walk_(walk), graph_(graph), leaves_(leaves) {}

  void add(uint32_t i) {
    const WalkNode &w = walk_.nodes[i];
    SmallVector<lower::Edge, 2> inputs;  // first: these may add leaves
    for (size_t k = 0; k < w.inputs.size(); k++) inputs.push_back(edge(w.sources[k], w.inputs[k]));
    lower::GraphNode &node = graph_.nodes.emplace_back();
    node.inputs = std::move(inputs);
    node.op = w.node->op;
    node.attrs = w.node->attrs;
    node.payload = w.node->payload;
    for (uint32_t k = 0; k < w.node->n_outputs; k++) node.specs.push_back(w.node->spec(k));
    inside_.emplace_back(i, static_cast<uint32_t>(graph_.nodes.size() - 1));
    if (!w.needed) return;
    for (uint32_t k = 0; k < w.node->n_outputs; k++) graph_.outputs.push_back({inside_.back().second, k});
  }

 private:
  // Regions list their nodes in ascending order, so both tables are sorted by construction.
  lower::Edge edge(uint32_t source, const Value &value) {
    if (inside_.empty() || source < inside_.front().first) return outside_edge(source, value);
    if (inside_.back().first == source) return {inside_.back().second, value.index};  // as in a chain
    const auto it = std::lower_bound(inside_.begin(), inside_.end(), std::pair<uint32_t, uint32_t>(source, 0));
    if (it != inside_.end() && it->first == source) return {it->second, value.index};
    return outside_edge(source, value);
  }

  lower::Edge outside_edge(uint32_t source, const Value &value) {
    const uint64_t key = uint64_t{source} << 32 | value.index;
    const auto leaf = std::lower_bound(outside_.begin(), outside_.end(), std::pair<uint64_t, uint32_t>(key, 0));
    if (leaf != outside_.end() && leaf->first == key) return {leaf->second, 0};
    const uint32_t added = graph_.add_leaf(spec_of(value));
    leaves_.push_back(value);
    outside_.insert(leaf, {key, added});
    return {added, 0};
  }

  const Walk &walk_;
  lower::Graph &graph_;
  std::vector<Value> &leaves_;
  std::vector<std::pair<uint32_t, uint32_t>> inside_;   // walk index -> graph node
  std::vector<std::pair<uint64_t, uint32_t>> outside_;  // walk index, output -> graph node
};

}  // namespace

void copy_graph(const Walk &walk, std::span<const uint32_t> region, lower::Graph &graph, std::vector<Value> &leaves) {
  graph.nodes.reserve(region.size() + 8);
  GraphBuilder builder(walk, graph, leaves);
  for (uint32_t i : region) builder.add(i);
}

}  // namespace mx::evaluation
