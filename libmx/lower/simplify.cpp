// Simplification: one forward pass that merges equal nodes, drops identities and replaces what has a cheaper equal, one
// backward pass that drops the dead. Nothing changes by a bit.
#include <unordered_map>

#include "lower/graph.hpp"

namespace mx::lower {
namespace {

uint64_t mix(uint64_t h, uint64_t x) noexcept {
  h = (h ^ x) * 0x9e3779b97f4a7c15ull;
  return h ^ (h >> 29);
}

uint64_t hash(const GraphNode &node) noexcept {
  uint64_t h = mix(static_cast<uint64_t>(node.op), reinterpret_cast<uintptr_t>(node.payload.get()));
  for (Edge e : node.inputs) h = mix(h, uint64_t{e.node} << 32 | e.index);
  return node.attrs.hash(h);
}

// Equal nodes compute equal values. A draw from the thread's key is new every time, so it equals nothing.
bool equal(const GraphNode &a, const GraphNode &b) noexcept {
  return a.op == b.op && a.payload == b.payload && a.inputs == b.inputs && a.attrs == b.attrs;
}

// number_of_elements depends on shapes alone: it becomes a constant.
void fold_element_count(Graph &graph, GraphNode &node) {
  AttrReader reader(node.attrs);
  const auto axes = reader.list();
  const bool inverted = reader.boolean();
  const DType dtype = reader.dtype();
  const Dims &shape = graph.spec(node.inputs[0]).shape;
  double count = 1;
  for (int64_t axis : axes) count *= static_cast<double>(shape[axis]);
  if (inverted) count = 1 / count;
  Scalar scalar{is_integer(dtype) ? MX_SCALAR_INT : MX_SCALAR_FLOAT, static_cast<int64_t>(count), count, 0};
  if (dtype == DType::bool_) scalar = {MX_SCALAR_BOOL, count != 0, 0, 0};
  int64_t bits[2] = {0, 0};
  store_scalar(bits, dtype, scalar);
  node.op = OpCode::constant;
  node.attrs = Attrs().put(bits[0]).put(bits[1]).put(dtype);
  node.inputs.clear();
}

// Whether an input is the number 2 in each element.
bool is_two(const Graph &graph, Edge e) noexcept {
  const GraphNode &node = graph.nodes[e.node];
  if (node.leaf || node.op != OpCode::constant) return false;
  int64_t two[2] = {0, 0};
  store_scalar(two, node.specs[0].dtype, {MX_SCALAR_INT, 2, 2, 0});
  return AttrReader(node.attrs).integer() == two[0];
}

// x ** 2 is x * x to the last bit where the power is computed with more precision than the result has, or wraps.
void square_powers(const Graph &graph, GraphNode &node) {
  const DType dtype = node.specs[0].dtype;
  const bool is_exact = is_integer(dtype) || (is_floating(dtype) && itemsize(dtype) < 8);
  if (node.op != OpCode::power || !is_exact || !is_two(graph, node.inputs[1])) return;
  if (graph.spec(node.inputs[0]) != node.specs[0]) return;
  node.op = OpCode::square;
  node.inputs.pop_back();
}

// The input that an op returns unchanged, if it does.
bool is_identity(const Graph &graph, const GraphNode &node) noexcept {
  switch (node.op) {
    case OpCode::astype:
    case OpCode::reshape:
    case OpCode::flatten:
    case OpCode::unflatten:
    case OpCode::squeeze:
    case OpCode::expand_dims:
    case OpCode::broadcast_to:
    case OpCode::broadcast_like:
      return graph.spec(node.inputs[0]) == node.specs[0];
    case OpCode::stop_gradient:
      return true;
    case OpCode::depends:
      return node.inputs.size() == 1;
    case OpCode::sum:
    case OpCode::prod:
    case OpCode::min:
    case OpCode::max:
    case OpCode::all:
    case OpCode::any:  // over axes of size 1 that stay
      return graph.spec(node.inputs[0]) == node.specs[0] && element_count(node.specs[0].shape) > 0;
    default:
      return false;
  }
}

void drop_dead(Graph &graph) {
  std::vector<uint32_t> renumbered(graph.nodes.size(), 0);
  for (Edge e : graph.outputs) renumbered[e.node] = 1;
  for (size_t i = graph.nodes.size(); i-- > 0;)
    if (renumbered[i] || graph.nodes[i].leaf) {
      renumbered[i] = 1;
      for (Edge e : graph.nodes[i].inputs) renumbered[e.node] = 1;
    }
  uint32_t n = 0;
  for (size_t i = 0; i < graph.nodes.size(); i++) {
    if (!renumbered[i]) continue;
    for (Edge &e : graph.nodes[i].inputs) e.node = renumbered[e.node];
    renumbered[i] = n;
    if (n != i) graph.nodes[n] = std::move(graph.nodes[i]);
    n++;
  }
  graph.nodes.resize(n);
  for (Edge &e : graph.outputs) e.node = renumbered[e.node];
}

}  // namespace

void simplify(Graph &graph) {
  std::vector<uint32_t> merged(graph.nodes.size());  // node -> the node that replaces it
  std::vector<Edge> same(graph.nodes.size());        // identity node -> what it passes on
  std::vector<bool> identity(graph.nodes.size());
  std::unordered_multimap<uint64_t, uint32_t> seen;
  const bool worth_merging = graph.nodes.size() > 2;
  if (worth_merging) seen.reserve(graph.nodes.size());
  const auto resolve = [&](Edge e) {
    e.node = merged[e.node];
    return identity[e.node] ? same[e.node] : e;
  };
  for (uint32_t i = 0; i < graph.nodes.size(); i++) {
    GraphNode &node = graph.nodes[i];
    merged[i] = i;
    if (node.leaf) continue;
    for (Edge &e : node.inputs) e = resolve(e);
    if (node.op == OpCode::number_of_elements) fold_element_count(graph, node);
    square_powers(graph, node);
    if (is_identity(graph, node)) {
      identity[i] = true;
      same[i] = node.inputs[0];
      continue;
    }
    if (!worth_merging || node.op == OpCode::thread_key) continue;
    const uint64_t h = hash(node);
    const auto [first, last] = seen.equal_range(h);
    const auto twin = std::find_if(first, last, [&](const auto &it) { return equal(graph.nodes[it.second], node); });
    if (twin != last)
      merged[i] = twin->second;
    else
      seen.emplace(h, i);
  }
  for (Edge &e : graph.outputs) e = resolve(e);
  drop_dead(graph);
}

}  // namespace mx::lower
