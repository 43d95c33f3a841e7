// Walking the graph of lazy nodes under some values: a consistent copy of it, cut into regions that run as one task
// each. A region lies on one stream; a compiled call is a region of its own; what crosses a cut is materialised.
#pragma once
#include <span>
#include <vector>

#include "core/node.hpp"

namespace mx::evaluation {

struct WalkNode {
  Ref<Node> node;
  bool leaf = false;         // has its value, or somebody else computes it
  bool needed = false;       // must be materialised: asked for, crosses a cut, or alive outside
  uint32_t level = 0;        // regions of a level depend on lower levels only
  uint32_t uses = 0;         // edges into it that no region has consumed yet
  Stream *stream = nullptr;  // where it runs
  Ref<Event> event;          // of a pending leaf
  SmallVector<Value, 2> inputs;
  SmallVector<uint32_t, 2> sources;  // walk index of each input
};

struct Walk {
  std::vector<WalkNode> nodes;                 // inputs before users
  std::vector<std::vector<uint32_t>> regions;  // node indices, in an order in which the regions can run
  std::vector<Ref<Stream>> streams;            // keeps WalkNode::stream alive
};

// Walks from `roots`. Throws TRACE when a placeholder is reached, and the stored failure of a node that failed. With
// max_nodes, returns false as soon as there are more lazy nodes.
bool walk(std::span<const Value> roots, size_t max_nodes, Walk &out);

}  // namespace mx::evaluation
