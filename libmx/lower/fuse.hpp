// Fusion: the units of a program. A unit is a set of nodes that run together (sets.hpp), as one loop or as several
// passes over rows (passes.hpp), or a node that is a view or a call of a library kernel. Pure functions over a graph.
#pragma once
#include "lower/tiling.hpp"

namespace mx::lower {

// Nodes that become one step (or none, for a view).
struct Unit {
  enum class Kind : uint8_t {
    loop,
    library,
    view,
    rows  // `passes`, one after the other
  };
  Kind kind = Kind::loop;
  std::vector<uint32_t> nodes;    // in topological order; one node unless it is a loop or rows
  std::vector<uint32_t> reduces;  // loop: reductions at the end of the loop; all over the same axes
  std::vector<uint32_t> stores;   // loop: the nodes whose values it writes
  std::vector<uint32_t> views;    // loop, rows: views of row values, which are memory of what they view
  Dims shape;                     // loop: the iteration space
  Sets::Space space;              // loop, rows: the space of the set; that of a row loop has `shape` 1 where it reduces
  std::vector<Unit> passes;       // rows: loops over the elements, and over the rows between them
  Tiling tiling;                  // rows: the passes run tile by tile; else each over the whole space
  bool is_row_loop = false;       // loop: over the rows of `space`
};

struct Fusion {
  std::vector<Unit> units;        // in an order in which they can run
  std::vector<uint32_t> unit_of;  // node -> unit; no_unit for leaves and for constants that are only scalars of loops
  std::vector<bool> stored;       // node -> its value must exist in memory
  std::vector<bool> outside;      // node -> and is read by other units than its own, or is an output
  Sets sets;
  static constexpr uint32_t no_unit = UINT32_MAX;
};

Fusion fuse(const Graph &graph);

// One line a loop, for tests: "unit 0: pass exp+sum (4, 5) stores %1".
std::string print(const Graph &graph, const Fusion &fusion);

}  // namespace mx::lower
