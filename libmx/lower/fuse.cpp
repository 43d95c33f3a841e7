// Elementwise nodes of one iteration shape are joined greedily in topological order. Cycles are impossible by depth: a
// unit's depth exceeds that of every unit it reads from, and a node joins a unit only if all its other inputs lie less
// deep than that unit, so nothing it reads can depend on what it joins.
#include "lower/fuse.hpp"

#include <queue>

#include "backends/cpu/loop/ir.hpp"

namespace mx::lower {
namespace {

// Leaves room for stores, casts and scalars that emission adds.
constexpr int max_weight = static_cast<int>(loop::max_instructions) - 128;
constexpr int max_edges = static_cast<int>(loop::max_operands) - 16;

bool is_elementwise(const GraphNode &node) noexcept { return !node.leaf && info(node.op).kind == OpKind::elementwise; }
bool is_constant(const GraphNode &node) noexcept { return !node.leaf && node.op == OpCode::constant; }
bool is_reduce(const GraphNode &node) noexcept { return !node.leaf && info(node.op).kind == OpKind::reduce; }

// Units while they grow: disjoint sets of nodes.
class Builder {
 public:
  explicit Builder(const Graph &graph) : graph_(graph), set_(graph.nodes.size()), sets_(graph.nodes.size()) {
    for (uint32_t i = 0; i < graph.nodes.size(); i++) place(i);
  }
  uint32_t find(uint32_t node) noexcept {
    while (set_[node] != node) node = set_[node] = set_[set_[node]];
    return node;
  }

 private:
  struct Set {
    int depth = 0, weight = 0, edges = 0;
  };

  void place(uint32_t i) {
    const GraphNode &node = graph_.nodes[i];
    set_[i] = i;
    if (node.leaf || is_constant(node)) return;
    int deepest = 0, weight = is_elementwise(node) ? loop_weight(graph_, node) : 0;
    for (Edge e : node.inputs) deepest = std::max(deepest, sets_[find(e.node)].depth);
    sets_[i] = {deepest + 1, weight, static_cast<int>(node.inputs.size()) + 1};
    if (!is_elementwise(node) || deepest == 0) return;
    int edges = sets_[i].edges;
    SmallVector<uint32_t, 4> joined;
    for (Edge e : node.inputs) {
      const uint32_t set = find(e.node);
      if (sets_[set].depth < deepest || std::find(joined.begin(), joined.end(), set) != joined.end()) continue;
      const GraphNode &input = graph_.nodes[e.node];
      if (!is_elementwise(input) || input.specs[0].shape != node.specs[0].shape) return;
      weight += sets_[set].weight;
      edges += sets_[set].edges;
      joined.push_back(set);
    }
    if (weight > max_weight || edges > max_edges) return;
    for (uint32_t set : joined) set_[set] = i;
    sets_[i] = {deepest, weight, edges};
  }

  const Graph &graph_;
  std::vector<uint32_t> set_;
  std::vector<Set> sets_;
};

Unit::Kind kind_of(const GraphNode &node) noexcept {
  switch (info(node.op).kind) {
    case OpKind::view:
      return Unit::Kind::view;
    case OpKind::reduce:
      return is_loop_reduction(node) ? Unit::Kind::loop : Unit::Kind::library;
    case OpKind::constant:
    case OpKind::elementwise:
      return Unit::Kind::loop;
    default:
      return Unit::Kind::library;
  }
}

void make_units(const Graph &graph, Fusion &fusion) {
  Builder builder(graph);
  std::vector<uint32_t> unit_of_set(graph.nodes.size(), Fusion::no_unit);
  for (uint32_t i = 0; i < graph.nodes.size(); i++) {
    const GraphNode &node = graph.nodes[i];
    if (node.leaf || is_constant(node)) continue;
    uint32_t &unit = unit_of_set[builder.find(i)];
    if (unit == Fusion::no_unit) {
      unit = static_cast<uint32_t>(fusion.units.size());
      Unit &made = fusion.units.emplace_back();
      made.kind = kind_of(node);
      made.shape = is_reduce(node) ? graph.spec(node.inputs[0]).shape : node.specs[0].shape;
    }
    if (is_reduce(node) && fusion.units[unit].kind == Unit::Kind::loop)
      fusion.units[unit].reduces.push_back(i);
    else
      fusion.units[unit].nodes.push_back(i);
    fusion.unit_of[i] = unit;
  }
}

void mark_stored(const Graph &graph, Fusion &fusion) {
  for (uint32_t i = 0; i < graph.nodes.size(); i++) {
    const uint32_t unit = fusion.unit_of[i];
    if (unit == Fusion::no_unit) continue;
    const bool loop = fusion.units[unit].kind == Unit::Kind::loop;
    for (Edge e : graph.nodes[i].inputs)
      if (fusion.unit_of[e.node] != unit && !(loop && is_constant(graph.nodes[e.node]))) fusion.stored[e.node] = true;
  }
  for (Edge e : graph.outputs) fusion.stored[e.node] = true;
}

// Constants that somebody wants in memory get a loop of their own.
void store_constants(const Graph &graph, Fusion &fusion) {
  for (uint32_t i = 0; i < graph.nodes.size(); i++) {
    if (!is_constant(graph.nodes[i]) || !fusion.stored[i]) continue;
    fusion.unit_of[i] = static_cast<uint32_t>(fusion.units.size());
    fusion.units.emplace_back().nodes.push_back(i);
  }
}

// A loop whose only purpose is to feed reductions over the same axes ends in them instead of storing its result.
void attach_reductions(const Graph &graph, Fusion &fusion) {
  struct Users {
    uint32_t source = Fusion::no_unit;  // the only stored node of the unit
    bool only_reductions = true;
    std::vector<uint32_t> reduces;
  };
  std::vector<Users> users(fusion.units.size());
  for (uint32_t i = 0; i < graph.nodes.size(); i++) {
    const uint32_t unit = fusion.unit_of[i];
    if (unit == Fusion::no_unit || !fusion.stored[i]) continue;
    Users &u = users[unit];
    u.only_reductions &= u.source == Fusion::no_unit && is_elementwise(graph.nodes[i]);
    u.source = i;
  }
  for (Edge e : graph.outputs)
    if (fusion.unit_of[e.node] != Fusion::no_unit) users[fusion.unit_of[e.node]].only_reductions = false;
  for (uint32_t i = 0; i < graph.nodes.size(); i++)
    for (Edge e : graph.nodes[i].inputs) {
      const uint32_t unit = fusion.unit_of[e.node];
      if (unit == Fusion::no_unit || unit == fusion.unit_of[i]) continue;
      Users &u = users[unit];
      const GraphNode &node = graph.nodes[i];
      if (!is_reduce(node) || !is_loop_reduction(node)) {
        u.only_reductions = false;
        continue;
      }
      u.only_reductions &= u.reduces.empty() || graph.nodes[u.reduces[0]].attrs == node.attrs;
      u.reduces.push_back(i);
    }
  for (uint32_t unit = 0; unit < users.size(); unit++) {
    Users &u = users[unit];
    if (!u.only_reductions || u.reduces.empty() || fusion.units[unit].kind != Unit::Kind::loop) continue;
    for (uint32_t r : u.reduces) {
      fusion.units[fusion.unit_of[r]].reduces.clear();
      fusion.unit_of[r] = unit;
      fusion.units[unit].reduces.push_back(r);
    }
    fusion.stored[u.source] = false;
  }
}

// Sorts the units topologically, as close to the order of the nodes as dependencies allow, and drops empty ones.
void order(const Graph &graph, Fusion &fusion) {
  const size_t n = fusion.units.size();
  std::vector<std::vector<uint32_t>> followers(n);
  std::vector<uint32_t> waiting(n, 0);
  for (uint32_t i = 0; i < graph.nodes.size(); i++) {
    const uint32_t unit = fusion.unit_of[i];
    if (unit == Fusion::no_unit) continue;
    for (Edge e : graph.nodes[i].inputs) {
      const uint32_t from = fusion.unit_of[e.node];
      if (from == Fusion::no_unit || from == unit) continue;
      followers[from].push_back(unit);
      waiting[unit]++;
    }
  }
  using Entry = std::pair<uint32_t, uint32_t>;  // last node, unit
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  const auto last_node = [&](uint32_t unit) {
    const Unit &u = fusion.units[unit];
    return u.reduces.empty() ? u.nodes.back() : u.reduces.back();
  };
  for (uint32_t unit = 0; unit < n; unit++)
    if (!waiting[unit] && !(fusion.units[unit].nodes.empty() && fusion.units[unit].reduces.empty()))
      ready.emplace(last_node(unit), unit);
  std::vector<Unit> sorted;
  std::vector<uint32_t> renumbered(n, Fusion::no_unit);
  while (!ready.empty()) {
    const uint32_t unit = ready.top().second;
    ready.pop();
    renumbered[unit] = static_cast<uint32_t>(sorted.size());
    sorted.push_back(std::move(fusion.units[unit]));
    for (uint32_t next : followers[unit])
      if (--waiting[next] == 0) ready.emplace(last_node(next), next);
  }
  fusion.units = std::move(sorted);
  for (uint32_t &unit : fusion.unit_of)
    if (unit != Fusion::no_unit) unit = renumbered[unit];
}

}  // namespace

bool is_loop_reduction(const GraphNode &node) noexcept {
  const bool splits = node.op == OpCode::sum || node.op == OpCode::all || node.op == OpCode::any;
  return splits || !is_complex(node.specs[0].dtype);
}

int loop_weight(const Graph &graph, const GraphNode &node) noexcept {
  const bool complex = is_complex(node.specs[0].dtype) || is_complex(graph.spec(node.inputs[0]).dtype);
  if (node.op == OpCode::to_fp8 || node.op == OpCode::from_fp8) return 100;
  return complex ? 120 : node.specs[0].dtype == DType::bool_ ? 6 : 3;
}

Fusion fuse(const Graph &graph) {
  Fusion fusion;
  fusion.unit_of.assign(graph.nodes.size(), Fusion::no_unit);
  fusion.stored.assign(graph.nodes.size(), false);
  make_units(graph, fusion);
  mark_stored(graph, fusion);
  store_constants(graph, fusion);
  attach_reductions(graph, fusion);
  order(graph, fusion);
  return fusion;
}

}  // namespace mx::lower
