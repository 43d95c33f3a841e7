// From what a traced function returned to a graph whose leaves are the call's arguments, hidden keys and constants.
#pragma once
#include "core/node.hpp"
#include "lower/graph.hpp"

namespace mx {

struct TracedGraph {
  lower::Graph graph;  // leaves: inputs, then keys, then constants
  uint32_t n_inputs = 0;
  uint32_t n_keys = 0;           // draws of the calling thread's random key, one each per call
  std::vector<Value> constants;  // closure arrays and what derives from them alone
  bool escapes = false;          // reaches a placeholder of an outer trace: cannot be an entry
};

// Copies the graph between `placeholders` and `outputs`. Throws TRACE if it reaches a placeholder of an ended or
// foreign trace, or one of `arguments` (the call's own inputs) other than through its placeholder.
TracedGraph copy_trace(std::span<const Value> placeholders, std::span<const Value> arguments,
                       std::span<const Value> outputs);

// The same computation on other values: builds new nodes from `outputs` with placeholders replaced by `arguments`.
SmallVector<Value, 2> inline_trace(std::span<const Value> placeholders, std::span<const Value> arguments,
                                   std::span<const Value> outputs);

}  // namespace mx
