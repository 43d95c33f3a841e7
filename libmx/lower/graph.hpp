// The form in which the compiler sees a computation: nodes in topological order that refer to each other by index.
// Built from array nodes (eval/, compile/), changed by simplify, read by fuse and plan. No threads, no locks, no device
// code.
#pragma once
#include <string>
#include <vector>

#include "base/object.hpp"
#include "core/op.hpp"

namespace mx::lower {

// Output `index` of node `node`.
struct Edge {
  uint32_t node = 0;
  uint32_t index = 0;
  bool operator==(const Edge &) const noexcept = default;
};

struct GraphNode {
  OpCode op = OpCode::copy;
  bool leaf = false;  // its value comes from outside; `leaf_index` says which
  uint32_t leaf_index = 0;
  Attrs attrs;
  Ref<Object> payload;
  SmallVector<Edge, 2> inputs;
  SmallVector<Spec, 1> specs;  // of the outputs
};

struct Graph {
  std::vector<GraphNode> nodes;          // inputs come before their users
  std::vector<Layout> leaves;            // where the leaves' elements lie; filled in just before lowering
  uint32_t first_constant = UINT32_MAX;  // leaves from this one on have the same memory in every run
  std::vector<Edge> outputs;             // what must exist afterwards, in the caller's order; may repeat

  const Spec &spec(Edge e) const noexcept { return nodes[e.node].specs[e.index]; }
  uint32_t add_leaf(const Spec &spec);
  // Recomputes every spec from those of the leaves: how a shapeless trace is replayed on new shapes.
  void infer();
};

// One line a node, for tests, explain and debugging: "%2 = add %0 %1 : float32 (2, 3)".
std::string print(const Graph &graph);

// Merges equal nodes, folds what is known from shapes alone, drops identities and whatever no output needs. Keeps the
// order of the outputs. Values do not change by a bit.
void simplify(Graph &graph);

// Composes library ops of others, where those fuse with their inputs. Values do not change by a bit.
void expand(Graph &graph);

}  // namespace mx::lower
