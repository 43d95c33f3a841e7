// From sets to units: which values must exist in memory, what becomes of a set, and in which order units can run.
#include "lower/fuse.hpp"

#include <queue>

#include "lower/passes.hpp"

namespace mx::lower {
namespace {

// Notes the values that somebody else than their own set reads, or that are outputs. A view inside a set is its
// input's memory.
void mark_outside(const Graph &graph, Fusion &fusion) {
  const Sets &sets = fusion.sets;
  const auto mark = [&](uint32_t node) {
    fusion.outside[node] = fusion.stored[node] = true;
    while (is_view(graph.nodes[node]) && sets.members[node].role == Role::row) {
      node = graph.nodes[node].inputs[0].node;
      if (sets.members[node].role != Role::row) return;
      fusion.outside[node] = fusion.stored[node] = true;
    }
  };
  for (uint32_t i = 0; i < graph.nodes.size(); i++) {
    if (graph.nodes[i].leaf || is_constant(graph.nodes[i])) continue;
    const bool loop = sets.members[i].role != Role::alone;
    for (Edge e : graph.nodes[i].inputs)
      if (!sets.together(e.node, i) && !(loop && is_constant(graph.nodes[e.node]))) mark(e.node);
  }
  for (Edge e : graph.outputs) mark(e.node);
}

Unit alone(const Graph &graph, uint32_t i) {
  Unit unit;
  unit.kind = is_view(graph.nodes[i]) ? Unit::Kind::view : Unit::Kind::library;
  unit.nodes = {i};
  unit.shape = graph.nodes[i].specs[0].shape;
  return unit;
}

void make_units(const Graph &graph, Fusion &fusion) {
  std::vector<uint32_t> unit_of_set(graph.nodes.size(), Fusion::no_unit);
  std::vector<std::vector<uint32_t>> nodes;  // per unit
  for (uint32_t i = 0; i < graph.nodes.size(); i++) {
    if (graph.nodes[i].leaf || is_constant(graph.nodes[i])) continue;
    uint32_t &unit = unit_of_set[fusion.sets.members[i].set];
    if (unit == Fusion::no_unit) {
      unit = static_cast<uint32_t>(nodes.size());
      nodes.emplace_back();
    }
    nodes[unit].push_back(i);
    fusion.unit_of[i] = unit;
  }
  for (std::vector<uint32_t> &set : nodes)
    fusion.units.push_back(fusion.sets.members[set[0]].role == Role::alone ? alone(graph, set[0])
                                                                           : passes(graph, fusion, std::move(set)));
}

// Constants that somebody wants in memory get a loop of their own.
void store_constants(const Graph &graph, Fusion &fusion) {
  for (uint32_t i = 0; i < graph.nodes.size(); i++) {
    if (!is_constant(graph.nodes[i]) || !fusion.stored[i]) continue;
    fusion.unit_of[i] = static_cast<uint32_t>(fusion.units.size());
    Unit &unit = fusion.units.emplace_back();
    unit.nodes = unit.stores = {i};
  }
}

// Sorts the units topologically, as close to the order of the nodes as dependencies allow.
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
    if (!waiting[unit]) ready.emplace(last_node(unit), unit);
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

Fusion fuse(const Graph &graph) {
  Fusion fusion;
  fusion.unit_of.assign(graph.nodes.size(), Fusion::no_unit);
  fusion.stored.assign(graph.nodes.size(), false);
  fusion.outside.assign(graph.nodes.size(), false);
  fusion.sets = join(graph);
  mark_outside(graph, fusion);
  make_units(graph, fusion);
  store_constants(graph, fusion);
  order(graph, fusion);
  return fusion;
}

std::string print(const Graph &graph, const Fusion &fusion) {
  std::string text;
  const auto loop = [&](const Unit &unit) {
    text += unit.is_row_loop ? "row " : "loop ";
    const size_t start = text.size();
    for (const std::vector<uint32_t> *nodes : {&unit.nodes, &unit.reduces})
      for (uint32_t i : *nodes) text += (text.size() > start ? "+" : "") + std::string(info(graph.nodes[i].op).name);
    text += " " + to_string(unit.shape);
    for (uint32_t i : unit.stores) text += (i == unit.stores[0] ? " stores %" : " %") + std::to_string(i);
    text += "\n";
  };
  for (const Unit &unit : fusion.units) {
    if (unit.kind == Unit::Kind::loop) {
      loop(unit);
    } else if (unit.kind == Unit::Kind::rows) {
      text += "rows\n";
      for (const Unit &pass : unit.passes) text += "  ", loop(pass);
    } else {
      text += (unit.kind == Unit::Kind::view ? "view " : "library ") +
              std::string(info(graph.nodes[unit.nodes[0]].op).name) + "\n";
    }
  }
  return text;
}

}  // namespace mx::lower
