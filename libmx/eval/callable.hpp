// What a compiled_call node carries as its payload: something that has a program for its inputs. compile/ implements
// it, so that evaluation need not know about entries.
#pragma once
#include <span>
#include <vector>

#include "core/node.hpp"
#include "lower/program.hpp"

namespace mx {

class Callable : public Object {
 public:
  // The program for inputs that all have their values, and what it wants beside them: constants of the callable.
  virtual std::shared_ptr<const lower::Program> program_for(std::span<const Value> inputs) = 0;
  // The leaves of that program. `inputs` may hold more values than it reads.
  virtual std::vector<lower::Leaf> leaves(std::span<const Value> inputs) = 0;
  // What program_for lowers, for explain and drawings: leaves are the inputs, then constants. Inputs without a value
  // count as row-major.
  virtual lower::Graph graph_for(std::span<const Value> inputs) = 0;
};

}  // namespace mx
