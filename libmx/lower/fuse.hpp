// Fusion: which nodes run together. Pure functions over a graph.
#pragma once
#include "lower/graph.hpp"

namespace mx::lower {

// Nodes that become one step (or none, for a view).
struct Unit {
  enum class Kind : uint8_t { loop, library, view };
  Kind kind = Kind::loop;
  std::vector<uint32_t> nodes;    // in topological order; one node unless it is a loop
  std::vector<uint32_t> reduces;  // loop: reductions at the end of the loop; all over the same axes
  Dims shape;                     // loop: the iteration space
};

struct Fusion {
  std::vector<Unit> units;        // in an order in which they can run
  std::vector<uint32_t> unit_of;  // node -> unit; no_unit for leaves and for constants that are only scalars of loops
  std::vector<bool> stored;       // node -> its value must exist in memory
  static constexpr uint32_t no_unit = UINT32_MAX;
};

Fusion fuse(const Graph &graph);

// The number of loop instructions that an elementwise node becomes, at most.
int loop_weight(const Graph &graph, const GraphNode &node) noexcept;

// Complex products, minima and maxima do not split into real loops: the library computes them.
bool is_loop_reduction(const GraphNode &node) noexcept;

}  // namespace mx::lower
