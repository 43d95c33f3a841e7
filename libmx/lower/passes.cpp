// The users decide when an element is computed: backwards through the set, each node hears in which passes its value is
// wanted. It is computed in the first of them. In the others it is computed again or read back, whichever costs less:
//
//   again:  its instruction, and those of its inputs and the reading of what that pass does not have anyway
//   stored: one store, and a load in each later pass
//
// in units of a simple instruction on one block, which takes 2 to 3 ns. While a tile stays in the cache a load costs
// about two such units and a store three, so a difference or a product is computed again (x - mean, in a variance that
// goes on to a normalisation) and an exponential or a quotient is kept. Where no tile fits, a block comes from and goes
// to memory at about 10 bytes a nanosecond, and even exp is cheaper than its own round trip: softmax over long rows
// reads x three times and stores only the result.
#include "lower/passes.hpp"

#include <bit>

namespace mx::lower {
namespace {

struct Costs {
  int load, store;
};
constexpr Costs in_cache = {2, 3}, in_memory = {17, 34};

int cost_of(const GraphNode &node) noexcept {
  switch (node.op) {
    case OpCode::divide:
    case OpCode::sqrt:
    case OpCode::rsqrt:
    case OpCode::reciprocal:
      return 10;
    case OpCode::power:
    case OpCode::remainder:
    case OpCode::floor_divide:
    case OpCode::arctan2:
    case OpCode::logaddexp:
    case OpCode::hypot:
    case OpCode::nextafter:
      return 500;  // lane by lane
    default:
      break;
  }
  const bool is_math = node.op >= OpCode::exp && node.op <= OpCode::sigmoid;
  return (is_math ? 13 : 1) * (itemsize(node.specs[0].dtype) > 4 ? 3 : 1);
}

using Mask = uint64_t;  // of passes
constexpr Mask bit(uint32_t pass) noexcept { return Mask{1} << pass; }
static_assert(max_levels < 64);

class PassBuilder {
 public:
  PassBuilder(const Graph &graph, Fusion &fusion, std::vector<uint32_t> nodes)
      : graph_(graph), fusion_(fusion), sets_(fusion.sets), nodes_(std::move(nodes)), space_(sets_.space(nodes_[0])) {
    wanted_.resize(nodes_.size());
    computed_.resize(nodes_.size());
    int64_t bytes = 1;
    for (uint32_t i : nodes_) {
      n_levels_ = std::max<uint32_t>(n_levels_, sets_.members[i].level + 1u);
      bytes = std::max(bytes, itemsize(graph_.nodes[i].specs[0].dtype));
    }
    tiling_ = make_tiling(space_, bytes);
    costs_ = tiling_.in_cache ? in_cache : in_memory;
    loaded_.resize(n_levels_);
  }

  Unit run() {
    for (size_t k = nodes_.size(); k-- > 0;) sets_.members[nodes_[k]].role == Role::row ? want_inputs(k) : decide(k);
    Unit unit;
    unit.kind = Unit::Kind::rows;
    unit.space = space_;
    unit.shape = space_.shape;
    for (uint32_t level = 0; level < n_levels_; level++) {
      if (level > 0) add(unit, row_loop(level));
      add(unit, element_loop(level));
    }
    if (unit.passes.size() == 1) {
      Unit loop = std::move(unit.passes[0]);
      loop.views = views();
      return loop;
    }
    unit.views = views();
    unit.nodes = std::move(nodes_);
    if (is_worth_tiling(unit)) unit.tiling = std::move(tiling_);
    return unit;
  }

 private:
  std::vector<uint32_t> views() const {
    std::vector<uint32_t> found;
    for (uint32_t i : nodes_)
      if (is_view(graph_.nodes[i])) found.push_back(i);
    return found;
  }
  // Tiles make one pass over the elements no faster; but where rows lie one after the other they do no harm either, and
  // save a step for the loop over the rows.
  bool is_worth_tiling(const Unit &unit) const {
    int n = 0;
    for (const Unit &pass : unit.passes) n += !pass.is_row_loop;
    return n > 1 || space_.axes.back() + 1 == static_cast<int64_t>(space_.shape.size());
  }
  static void add(Unit &unit, Unit pass) {
    if (!pass.stores.empty() || !pass.reduces.empty()) unit.passes.push_back(std::move(pass));
  }
  const Sets::Member &member(uint32_t node) const noexcept { return sets_.members[node]; }
  bool is_inside(uint32_t node) const noexcept { return sets_.together(node, nodes_[0]); }
  size_t position(uint32_t node) const noexcept {
    return static_cast<size_t>(std::lower_bound(nodes_.begin(), nodes_.end(), node) - nodes_.begin());
  }
  bool is_element(Edge e) const noexcept { return is_inside(e.node) && member(e.node).role == Role::element; }

  // A reduction wants its operand in the pass that it ends. A row's value that another loop reads must be in memory.
  void want_inputs(size_t k) {
    const GraphNode &node = graph_.nodes[nodes_[k]];
    for (Edge e : node.inputs) {
      if (!is_inside(e.node)) continue;
      if (member(e.node).role == Role::element)
        wanted_[position(e.node)] |= bit(member(nodes_[k]).level - 1u);
      else if (member(e.node).level != member(nodes_[k]).level)
        store_row(e.node);
    }
  }
  void store_row(uint32_t node) {
    while (is_view(graph_.nodes[node]) && is_inside(graph_.nodes[node].inputs[0].node))
      node = graph_.nodes[node].inputs[0].node;
    fusion_.stored[node] = true;
  }

  // In which passes an element is computed, and whether it is stored.
  void decide(size_t k) {
    const uint32_t i = nodes_[k];
    Mask wanted = wanted_[k];
    if (fusion_.outside[i] && !wanted) wanted = bit(member(i).level);
    if (!wanted) return;
    const Mask later = wanted & (wanted - 1);
    compute(k, wanted & ~later);
    if (!later) return;
    const int reads = costs_.load * std::popcount(later), stored = (fusion_.outside[i] ? 0 : costs_.store) + reads;
    int again = 0;
    for (Mask rest = later; rest && again <= stored; rest &= rest - 1)
      again += cost_again(i, static_cast<uint32_t>(std::countr_zero(rest)), stored - again);
    if (again <= stored)
      compute(k, later);
    else
      fusion_.stored[i] = true;
  }

  void compute(size_t k, Mask passes) {
    computed_[k] |= passes;
    for (Edge e : graph_.nodes[nodes_[k]].inputs) {
      if (is_element(e))
        wanted_[position(e.node)] |= passes;
      else if (is_inside(e.node))
        store_row(e.node);
      else
        for (Mask rest = passes; rest; rest &= rest - 1)
          loaded_[static_cast<size_t>(std::countr_zero(rest))].push_back(e);
    }
  }

  // Of computing a node in one more pass. Stops when the limit is exceeded, so it looks at few nodes.
  int cost_again(uint32_t i, uint32_t pass, int limit) const {
    int cost = cost_of(graph_.nodes[i]);
    for (Edge e : graph_.nodes[i].inputs) {
      if (cost > limit) break;
      if (is_element(e)) {
        if (!(wanted_[position(e.node)] & bit(pass)))
          cost += std::min(cost_again(e.node, pass, limit - cost), costs_.load + costs_.store);
      } else if (!is_inside(e.node)) {
        cost += cost_of_reading(e, pass);
      }
    }
    return cost;
  }
  int cost_of_reading(Edge e, uint32_t pass) const {
    const Dims &shape = graph_.spec(e).shape;
    if (is_constant(graph_.nodes[e.node]) || (!shape.empty() && shape.back() == 1)) return 0;
    const std::vector<Edge> &loaded = loaded_[pass];
    if (std::find(loaded.begin(), loaded.end(), e) != loaded.end()) return 0;
    return shape == space_.shape ? costs_.load : in_cache.load;
  }

  Unit element_loop(uint32_t level) const {
    Unit loop;
    loop.space = space_;
    loop.shape = space_.shape;
    for (size_t k = 0; k < nodes_.size(); k++) {
      const uint32_t i = nodes_[k];
      if (member(i).role == Role::row) {
        if (is_reduce(graph_.nodes[i]) && member(i).level == level + 1) loop.reduces.push_back(i);
      } else if (computed_[k] & bit(level)) {
        loop.nodes.push_back(i);
        if (fusion_.stored[i] && !(computed_[k] & (bit(level) - 1))) loop.stores.push_back(i);
      }
    }
    return loop;
  }

  Unit row_loop(uint32_t level) const {
    Unit loop;
    loop.space = space_;
    loop.is_row_loop = true;
    loop.shape = space_.shape;
    for (int64_t axis : space_.axes) loop.shape[static_cast<size_t>(axis)] = 1;
    for (uint32_t i : nodes_) {
      if (member(i).role != Role::row || is_reduce(graph_.nodes[i]) || member(i).level != level) continue;
      loop.nodes.push_back(i);
      if (!is_view(graph_.nodes[i]) && fusion_.stored[i]) loop.stores.push_back(i);
    }
    return loop;
  }

  const Graph &graph_;
  Fusion &fusion_;
  const Sets &sets_;
  std::vector<uint32_t> nodes_;
  Sets::Space space_;
  uint32_t n_levels_ = 1;
  Tiling tiling_;
  Costs costs_;
  std::vector<Mask> wanted_, computed_;    // per node of the set
  std::vector<std::vector<Edge>> loaded_;  // per pass: what it reads from outside
};

}  // namespace

Unit passes(const Graph &graph, Fusion &fusion, std::vector<uint32_t> nodes) {
  return PassBuilder(graph, fusion, std::move(nodes)).run();
}

}  // namespace mx::lower
