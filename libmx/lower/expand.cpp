// Library ops become compositions of others where those fuse with what comes before: the index of the largest element
// of something computed is the least index at which that equals its maximum, or is NaN. Two passes over a row that
// stays in the cache, instead of storing what is computed and reading it back. Relies on tiling.hpp for what stays in
// the cache.
#include "lower/sets.hpp"
#include "lower/tiling.hpp"

namespace mx::lower {
namespace {

class Expander {
 public:
  explicit Expander(Graph &graph) : graph_(graph), old_(std::move(graph.nodes)), moved_(old_.size()) {
    graph_.nodes.clear();
    graph_.nodes.reserve(old_.size() + 16);
  }

  void run() {
    for (uint32_t i = 0; i < old_.size(); i++) {
      GraphNode &node = old_[i];
      for (Edge &e : node.inputs) e = {moved_[e.node], e.index};
      if (pays(node)) {
        moved_[i] = arg_reduce(node);
      } else {
        graph_.nodes.push_back(std::move(node));
        moved_[i] = static_cast<uint32_t>(graph_.nodes.size() - 1);
      }
    }
    for (Edge &e : graph_.outputs) e.node = moved_[e.node];
  }

 private:
  // Below this many elements three steps take longer than two.
  static constexpr int64_t fewest = 4096;

  bool pays(const GraphNode &node) const {
    if (node.leaf || node.op != OpCode::arg_reduce || !is_elementwise(graph_.nodes[node.inputs[0].node])) return false;
    const Spec &x = graph_.spec(node.inputs[0]);
    if (!is_integer(x.dtype) && !is_floating(x.dtype)) return false;
    AttrReader attrs(node.attrs);
    attrs.boolean();
    return element_count(x.shape) >= fewest && make_tiling({x.shape, {attrs.integer()}}, itemsize(x.dtype)).in_cache;
  }

  uint32_t arg_reduce(const GraphNode &node) {
    AttrReader attrs(node.attrs);
    const OpCode extremum = attrs.boolean() ? OpCode::max : OpCode::min;
    const Dims axes{attrs.integer()};
    const size_t axis = static_cast<size_t>(axes[0]);
    const Edge x = node.inputs[0];
    const Spec spec = graph_.spec(x);
    const Edge best = add(extremum, {x}, Attrs().put(axes).put(true));
    Edge index =
        add(OpCode::arange, {}, Attrs().put(spec.shape[axis]).put(DType::uint32).put(0).put(1).put(0.0).put(1.0));
    if (axis + 1 < spec.shape.size()) {
      Dims shape(spec.shape.size() - axis, 1);
      shape[0] = spec.shape[axis];
      index = add(OpCode::reshape, {index}, Attrs().put(shape));
    }
    Edge otherwise = add(OpCode::constant, {}, Attrs().put(int64_t{UINT32_MAX}).put(0).put(DType::uint32));
    if (is_floating(spec.dtype)) otherwise = add(OpCode::select, {add(OpCode::isnan, {x}), index, otherwise});
    const Edge hits = add(OpCode::select, {add(OpCode::equal, {x, best}), index, otherwise});
    return add(OpCode::min, {hits}, Attrs().put(axes).put(true)).node;
  }

  Edge add(OpCode op, std::initializer_list<Edge> inputs, Attrs attrs = {}) {
    GraphNode node;
    node.op = op;
    node.attrs = std::move(attrs);
    SmallVector<const Spec *, 4> specs;
    for (Edge e : inputs) {
      node.inputs.push_back(e);
      specs.push_back(&graph_.spec(e));
    }
    info(op).infer(node.attrs, {specs.data(), specs.size()}, node.specs);
    graph_.nodes.push_back(std::move(node));
    return {static_cast<uint32_t>(graph_.nodes.size() - 1), 0};
  }

  Graph &graph_;
  std::vector<GraphNode> old_;
  std::vector<uint32_t> moved_;  // old node -> new node
};

}  // namespace

void expand(Graph &graph) {
  for (const GraphNode &node : graph.nodes)
    if (!node.leaf && node.op == OpCode::arg_reduce) return Expander(graph).run();
}

}  // namespace mx::lower
