// Sets grow greedily, node by node in topological order. Cycles are impossible by depth: a set's depth is at least that
// of every set it reads from; where the two are equal, the other one is closed, which means that nothing joins it any
// more, so it will never read anything new. A node joins sets only if all that it reads otherwise lies less deep or can
// be closed.
#include "lower/sets.hpp"

#include "backends/loop/ir.hpp"

namespace mx::lower {
namespace {

// Leaves room for stores, casts and scalars that emission adds.
constexpr int max_weight = static_cast<int>(loop::max_instructions) - 128;
constexpr int max_edges = static_cast<int>(loop::max_operands) - 16;

// Views that only add or drop dimensions, or divide and join them: the elements stay in their order.
bool keeps_order(OpCode op) noexcept {
  return op == OpCode::expand_dims || op == OpCode::squeeze || op == OpCode::reshape || op == OpCode::flatten ||
         op == OpCode::unflatten;
}

class Builder {
 public:
  explicit Builder(const Graph &graph) : graph_(graph), parent_(graph.nodes.size()), sets_(graph.nodes.size()) {
    out_.members.resize(graph.nodes.size());
    out_.spaces.resize(graph.nodes.size());
    for (uint32_t i = 0; i < graph.nodes.size(); i++) place(i);
  }
  Sets run() {
    for (uint32_t i = 0; i < parent_.size(); i++) out_.members[i].set = find(i);
    return std::move(out_);
  }

 private:
  struct Set {
    int depth = 0, weight = 0, edges = 0;
    bool closed = true;
    // A loop with 64-bit lanes has fewer of them, so sums of narrower numbers would be added up in another order.
    bool is_wide = false, sums_narrow = false;
  };
  using Found = SmallVector<uint32_t, 4>;

  uint32_t find(uint32_t node) noexcept {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }
  const Dims &shape(uint32_t node) const noexcept { return graph_.nodes[node].specs[0].shape; }
  Sets::Member &member(uint32_t node) noexcept { return out_.members[node]; }
  Sets::Space &space(uint32_t set) noexcept { return out_.spaces[set]; }

  void place(uint32_t i) {
    const GraphNode &node = graph_.nodes[i];
    parent_[i] = i;
    if (node.leaf || is_constant(node)) return;
    int deepest = 0;
    for (Edge e : node.inputs) deepest = std::max(deepest, sets_[find(e.node)].depth);
    start(i, deepest + 1);
    if (deepest == 0) return;
    Found candidates;  // the sets that it might join
    for (Edge e : node.inputs) {
      const uint32_t set = find(e.node);
      if (sets_[set].depth == deepest && !sets_[set].closed &&
          std::find(candidates.begin(), candidates.end(), set) == candidates.end())
        candidates.push_back(set);
    }
    for (uint32_t first : candidates)
      if (join(i, first, candidates, deepest)) return;
  }

  // The node as a set of its own.
  void start(uint32_t i, int depth) {
    const GraphNode &node = graph_.nodes[i];
    const bool reduces = is_reduce(node) && is_loop_reduction(node);
    const int weight = is_elementwise(node) ? loop_weight(graph_, node) : reduces ? 3 : 0;
    bool wide = itemsize(part_dtype(node.specs[0].dtype)) == 8;
    for (Edge e : node.inputs) wide |= itemsize(part_dtype(graph_.spec(e).dtype)) == 8;
    const bool sums =
        reduces && !wide && is_inexact(node.specs[0].dtype) && node.op != OpCode::min && node.op != OpCode::max;
    sets_[i] = {depth, weight, static_cast<int>(node.inputs.size()) + 1, !is_elementwise(node) && !reduces, wide, sums};
    if (is_elementwise(node)) {
      member(i) = {i, Role::element, 0};
      space(i) = {shape(i), {}};
    } else if (reduces) {
      member(i) = {i, Role::row, 1};
      space(i) = {graph_.spec(node.inputs[0]).shape, axes_of(node)};
    }
  }

  // Joins the first set, and with it those of the candidates that go together with it. The rest of what is as deep is
  // closed.
  bool join(uint32_t i, uint32_t first, const Found &candidates, int deepest) {
    const GraphNode &node = graph_.nodes[i];
    Sets::Space joint = space(first);
    Found joined;
    for (uint32_t set : candidates)
      if (set == first || fits(space(set), joint)) joined.push_back(set);
    Sets::Member as;
    if (!role(i, joint, joined, as)) return false;
    Set sum = sets_[i];
    sum.depth = deepest, sum.closed = false;
    for (uint32_t set : joined) {
      sum.weight += sets_[set].weight, sum.edges += sets_[set].edges;
      sum.is_wide |= sets_[set].is_wide, sum.sums_narrow |= sets_[set].sums_narrow;
    }
    if (sum.weight > max_weight || sum.edges > max_edges || as.level >= max_levels) return false;
    if (sum.is_wide && sum.sums_narrow) return false;
    for (Edge e : node.inputs) {
      const uint32_t set = find(e.node);
      if (sets_[set].depth == deepest) sets_[set].closed = true;
    }
    for (uint32_t set : joined) parent_[set] = i;
    sets_[i] = sum;
    space(i) = std::move(joint);
    member(i) = as;
    return true;
  }

  // Adds what another set reduces, if that does not contradict.
  static bool fits(const Sets::Space &other, Sets::Space &joint) {
    if (other.shape != joint.shape) return false;
    if (!other.axes.empty() && !joint.axes.empty() && other.axes != joint.axes) return false;
    if (joint.axes.empty()) joint.axes = other.axes;
    return true;
  }

  // What the node would be in the joined sets; false if it cannot be part of them.
  bool role(uint32_t i, Sets::Space &joint, const Found &joined, Sets::Member &as) {
    const GraphNode &node = graph_.nodes[i];
    as = {i, Role::row, 0};
    if (is_reduce(node)) {
      const Sets::Member &input = member(node.inputs[0].node);
      if (!is_loop_reduction(node) || input.role != Role::element || !fits({joint.shape, axes_of(node)}, joint))
        return false;
      as.level = static_cast<uint8_t>(input.level + 1);
      return true;
    }
    if (!is_elementwise(node) && !keeps_order(node.op)) return false;
    Dims dimensions;
    if (is_elementwise(node) && shape(i) == joint.shape) {
      as.role = Role::element;
      for (size_t d = 0; d < joint.shape.size(); d++) dimensions.push_back(static_cast<int64_t>(d));
    } else if (joint.axes.empty() || !row_dimensions(joint, shape(i), dimensions)) {
      return false;
    }
    for (Edge e : node.inputs) {
      if (std::find(joined.begin(), joined.end(), find(e.node)) == joined.end()) continue;
      const Sets::Member &input = member(e.node);
      if (input.role == Role::element ? as.role != Role::element
                                      : !lies_along(joint, e.node, shape(i), dimensions, is_view(node)))
        return false;
      as.level = std::max(as.level, input.level);
    }
    return true;
  }

  // Whether a row's value is read where it belongs: each of its dimensions along the same one of the space.
  bool lies_along(const Sets::Space &joint, uint32_t input, const Dims &to, const Dims &dimensions, bool by_view) {
    const Dims &from = shape(input);
    Dims own;
    if (!row_dimensions(joint, from, own)) return false;
    if (by_view) {
      Dims a, b;
      for (size_t d = 0; d < from.size(); d++)
        if (from[d] != 1) a.push_back(own[d]);
      for (size_t d = 0; d < to.size(); d++)
        if (to[d] != 1) b.push_back(dimensions[d]);
      return a == b;
    }
    for (size_t d = 0; d < from.size(); d++)  // broadcast: aligned at the end
      if (from[d] != 1 && own[d] != dimensions[d + to.size() - from.size()]) return false;
    return true;
  }

  const Graph &graph_;
  std::vector<uint32_t> parent_;
  std::vector<Set> sets_;
  Sets out_;
};

}  // namespace

bool row_dimensions(const Sets::Space &space, const Dims &shape, Dims &dimensions) {
  const size_t rank = space.shape.size(), n_kept = rank - space.axes.size();
  if (shape.size() != rank && shape.size() != n_kept) return false;
  dimensions.clear();
  for (size_t d = 0; d < rank; d++) {
    const bool reduced = std::binary_search(space.axes.begin(), space.axes.end(), static_cast<int64_t>(d));
    if (reduced && shape.size() == n_kept) continue;
    if (shape[dimensions.size()] != (reduced ? 1 : space.shape[d])) return false;
    dimensions.push_back(static_cast<int64_t>(d));
  }
  return true;
}

bool is_loop_reduction(const GraphNode &node) noexcept {
  const bool splits = node.op == OpCode::sum || node.op == OpCode::all || node.op == OpCode::any;
  return splits || !is_complex(node.specs[0].dtype);
}

int loop_weight(const Graph &graph, const GraphNode &node) noexcept {
  const bool complex = is_complex(node.specs[0].dtype) || is_complex(graph.spec(node.inputs[0]).dtype);
  if (node.op == OpCode::to_fp8 || node.op == OpCode::from_fp8) return 100;
  return complex ? 120 : node.specs[0].dtype == DType::bool_ || node.op == OpCode::power ? 6 : 3;
}

Sets join(const Graph &graph) { return Builder(graph).run(); }

}  // namespace mx::lower
