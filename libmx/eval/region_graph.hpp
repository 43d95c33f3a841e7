// A region of a walk as a graph that can be lowered.
#pragma once
#include "eval/walk.hpp"
#include "lower/graph.hpp"

namespace mx::evaluation {

// Copies a region's nodes; what lies outside becomes a leaf, its value goes to `leaves`. Layouts are left open.
void copy_graph(const Walk &walk, std::span<const uint32_t> region, lower::Graph &graph, std::vector<Value> &leaves);

}  // namespace mx::evaluation
