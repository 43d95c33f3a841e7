// Programs of small graphs, kept by structure: loops in host code build the same few graphs again and again, and then
// evaluation is a lookup and a run. Process-wide, bounded, leaked.
#pragma once
#include "eval/callable.hpp"

namespace mx::evaluation {

// Larger graphs are lowered anew, and so are those whose nodes carry payloads.
constexpr size_t most_kept_nodes = 4096;

// The program of a graph whose leaves have layouts, if it was lowered before.
ProgramRef find_program(const lower::Graph &graph, const Backend &backend);
// The same, lowered now if need be.
ProgramRef program_for(lower::Graph graph, Backend &backend);

// The same for a single node whose inputs all have their values, on the CPU; one leaf for each input.
ProgramRef find_program(const Node &node, std::span<const Value> inputs);
ProgramRef program_for(const Node &node, std::span<const Value> inputs);

}  // namespace mx::evaluation
