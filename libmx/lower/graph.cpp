#include "lower/graph.hpp"

namespace mx::lower {

uint32_t Graph::add_leaf(const Spec &spec) {
  GraphNode node;
  node.leaf = true;
  node.leaf_index = static_cast<uint32_t>(leaves.size());
  node.specs.push_back(spec);
  nodes.push_back(std::move(node));
  leaves.emplace_back();
  return static_cast<uint32_t>(nodes.size() - 1);
}

void Graph::infer() {
  SmallVector<const Spec *, 4> in;
  for (GraphNode &node : nodes) {
    if (node.leaf) continue;
    in.clear();
    for (Edge e : node.inputs) in.push_back(&spec(e));
    node.specs.clear();
    info(node.op).infer(node.attrs, {in.data(), in.size()}, node.specs);
  }
}

std::string print(const Graph &graph) {
  std::string text;
  const auto edge = [](Edge e) {
    return " %" + std::to_string(e.node) + (e.index ? "." + std::to_string(e.index) : "");
  };
  for (size_t i = 0; i < graph.nodes.size(); i++) {
    const GraphNode &node = graph.nodes[i];
    text += "%" + std::to_string(i) + " =";
    text += node.leaf ? " leaf " + std::to_string(node.leaf_index) : std::string(" ") + info(node.op).name;
    for (Edge e : node.inputs) text += edge(e);
    if (!node.leaf && !node.attrs.words().empty()) text += " [" + node.attrs.print(info(node.op).schema) + "]";
    text += " :";
    for (const Spec &spec : node.specs) text += std::string(" ") + name(spec.dtype) + " " + to_string(spec.shape);
    text += "\n";
  }
  text += "return";
  for (Edge e : graph.outputs) text += edge(e);
  return text + "\n";
}

}  // namespace mx::lower
