// Programs of small graphs, kept by structure: loops in host code build the same few graphs again and again, and then
// evaluation is a lookup and a run. Process-wide, bounded, leaked.
#pragma once
#include <memory>

#include "core/node.hpp"
#include "lower/program.hpp"

namespace mx::evaluation {

// The program of a graph whose leaves have layouts: found, or made and kept. Graphs that are large, or whose nodes
// carry payloads, are lowered anew.
std::shared_ptr<const lower::Program> program_for(lower::Graph graph);

// The same for a single node whose inputs all have their values; one leaf for each input.
std::shared_ptr<const lower::Program> program_for(const Node &node, std::span<const Value> inputs);

}  // namespace mx::evaluation
