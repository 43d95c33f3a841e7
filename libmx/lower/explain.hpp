// What lowering decided, in words: for explain and for drawings. Pure functions that lower anew, so that programs carry
// nothing for their sake but a label.
#pragma once
#include "lower/fuse.hpp"
#include "lower/program.hpp"

namespace mx::lower {

// The name of a unit in drawings: "Matmul" for one op, "CompiledBroadcastMultiplyAdd" for several that were fused.
// "Broadcast" stands where the next op is the first that stretches one of its inputs.
std::string unit_name(const Graph &graph, const Unit &unit);
std::string op_name(OpCode op);  // "ArgReduce"

// The program of a graph whose leaves have layouts: inputs, steps with their bytes and flops, outputs, memory, and why
// each step was not joined with one that it reads from.
std::string explain(Graph graph, Backend &backend = backend_for({}));

}  // namespace mx::lower
