// Sets: which nodes run together. A set computes the elements of one space, and whatever is reduced from them over one
// choice of axes; its passes (passes.hpp) say in how many loops. Relies on the order of the graph's nodes only.
#pragma once
#include "lower/graph.hpp"

namespace mx::lower {

// What a node of a set is computed for.
enum class Role : uint8_t {
  alone,    // a set of its own that nothing joins: library kernels, views
  element,  // every element of the space
  row       // every row of it: a reduction, and what is computed from reductions alone
};

struct Sets {
  struct Member {
    uint32_t set = 0;  // a node that stands for it
    Role role = Role::alone;
    // How many reductions, one after the other, come before: an element can be computed by pass `level` at the
    // earliest, a row's value just before that pass.
    uint8_t level = 0;
  };
  struct Space {
    Dims shape;
    Dims axes;  // that are reduced; empty if none is
  };
  std::vector<Member> members;  // per node
  std::vector<Space> spaces;    // per node that stands for a set

  const Space &space(uint32_t node) const noexcept { return spaces[members[node].set]; }
  bool together(uint32_t a, uint32_t b) const noexcept { return members[a].set == members[b].set; }
};

// Masks of passes have so many bits.
constexpr int max_levels = 60;

Sets join(const Graph &graph);

// The dimension of the space that each dimension of a row value lies along: the value has as many dimensions, with
// reduced ones of size 1, or lacks those. False if it does not look like that.
bool row_dimensions(const Sets::Space &space, const Dims &shape, Dims &dimensions);

// The number of loop instructions that an elementwise node becomes, at most.
int loop_weight(const Graph &graph, const GraphNode &node) noexcept;

// Complex products, minima and maxima do not split into real loops: the library computes them.
bool is_loop_reduction(const GraphNode &node) noexcept;

inline bool is_elementwise(const GraphNode &node) noexcept {
  return !node.leaf && info(node.op).kind == OpKind::elementwise;
}
inline bool is_constant(const GraphNode &node) noexcept { return !node.leaf && node.op == OpCode::constant; }
inline bool is_reduce(const GraphNode &node) noexcept { return !node.leaf && info(node.op).kind == OpKind::reduce; }
inline bool is_view(const GraphNode &node) noexcept { return !node.leaf && info(node.op).kind == OpKind::view; }
inline Dims axes_of(const GraphNode &reduce) {
  const auto axes = AttrReader(reduce.attrs).list();
  return Dims(axes.begin(), axes.end());
}

}  // namespace mx::lower
