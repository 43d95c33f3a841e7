// Reasons are found afterwards, from the same facts that fuse decides by: kinds, shapes, readers and budgets.
#include "lower/why.hpp"

#include <algorithm>

#include "backends/loop/ir.hpp"

namespace mx::lower {
namespace {

class Reasons {
 public:
  Reasons(const Graph &graph, const Fusion &fusion) : graph_(graph), fusion_(fusion) {}

  std::vector<Split> run() {
    for (uint32_t unit = 0; unit < fusion_.units.size(); unit++) {
      const Unit &u = fusion_.units[unit];
      if (u.kind == Unit::Kind::view) continue;
      for (const std::vector<uint32_t> *nodes : {&u.nodes, &u.reduces})
        for (uint32_t i : *nodes)
          for (Edge e : graph_.nodes[i].inputs) look(unit, i, e);
    }
    return std::move(found_);
  }

 private:
  // From a reader's input back to whoever stores it.
  void look(uint32_t unit, uint32_t reader, Edge input) {
    OpCode view = OpCode::copy;
    while (is_view(input.node)) {
      view = graph_.nodes[input.node].op;
      input = graph_.nodes[input.node].inputs[0];
    }
    const uint32_t producer = fusion_.unit_of[input.node];
    if (producer == unit || producer == Fusion::no_unit) return;
    const bool known = std::any_of(found_.begin(), found_.end(),
                                   [&](const Split &s) { return s.producer == producer && s.reader == unit; });
    if (!known) found_.push_back({producer, unit, why(unit, reader, producer, input.node, view)});
  }

  bool is_view(uint32_t node) const {
    const uint32_t unit = fusion_.unit_of[node];
    return unit != Fusion::no_unit && fusion_.units[unit].kind == Unit::Kind::view;
  }

  std::string why(uint32_t unit, uint32_t reader, uint32_t producer, uint32_t value, OpCode view) const {
    const Unit &u = fusion_.units[unit], &p = fusion_.units[producer];
    const GraphNode &node = graph_.nodes[reader], &from = graph_.nodes[value];
    if (u.kind == Unit::Kind::library) return std::string(info(node.op).name) + " is a kernel of the library";
    if (p.kind == Unit::Kind::library) return std::string(info(from.op).name) + " is a kernel of the library";
    if (is_reduce(from)) return std::string(info(from.op).name) + " has its results only at the end of its loop";
    if (view != OpCode::copy)
      return std::string(info(from.op).name) + " is read through " + info(view).name + ", in another order";
    if (is_reduce(node) && !p.space.axes.empty() && p.space.axes != axes_of(node))
      return std::string(info(node.op).name) + " reduces over other axes than the loop of " + info(from.op).name;
    if (!(u.shape == p.shape)) return "a loop over " + to_string(u.shape) + " and one over " + to_string(p.shape);
    if (weight(u) + weight(p) > static_cast<int>(loop::max_instructions) / 2)
      return "together they would exceed the " + std::to_string(loop::max_instructions) + " instructions of a loop";
    return "joining them would exceed the operands of a loop, or make two loops wait for each other";
  }

  int weight(const Unit &unit) const {
    int weight = 0;
    for (uint32_t i : unit.nodes)
      if (is_elementwise(graph_.nodes[i])) weight += loop_weight(graph_, graph_.nodes[i]);
    return weight;
  }

  const Graph &graph_;
  const Fusion &fusion_;
  std::vector<Split> found_;
};

}  // namespace

std::vector<Split> splits(const Graph &graph, const Fusion &fusion) { return Reasons(graph, fusion).run(); }

}  // namespace mx::lower
