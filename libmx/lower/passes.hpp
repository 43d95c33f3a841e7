// Passes: how a set runs. A reduction ends a pass over the elements; what depends on it belongs to a later one. In
// between, loops over the rows compute what depends on reductions alone. Relies on the levels in sets.hpp.
#pragma once
#include "lower/fuse.hpp"

namespace mx::lower {

// The unit of a set whose nodes are given in topological order. Marks in `fusion.stored` what crosses from one pass to
// another in memory.
Unit passes(const Graph &graph, Fusion &fusion, std::vector<uint32_t> nodes);

}  // namespace mx::lower
