// What a compiled_call node carries as its payload: something that has a program for its inputs. compile/ implements
// it, so that evaluation need not know about entries.
#pragma once
#include <memory>
#include <span>

#include "core/node.hpp"
#include "lower/program.hpp"

namespace mx {

// Lives as long as what gave it out: a callable, or the cache that it shares it with.
using ProgramRef = std::shared_ptr<const lower::Program>;

class Callable : public Object {
 public:
  // The program of a backend for inputs that all have their values, if it was lowered before.
  virtual ProgramRef find_program(std::span<const Value> inputs, Backend &backend) = 0;
  // The same, lowered now if need be.
  virtual ProgramRef program_for(std::span<const Value> inputs, Backend &backend) = 0;
  // What the program reads beside the inputs, as its leaves after those. `inputs` may hold more values than it reads.
  virtual uint32_t n_arguments() const noexcept = 0;
  virtual std::span<const Value> constants() const noexcept = 0;
  // What program_for lowers, for explain and drawings: leaves are the inputs, then constants. Inputs without a value
  // count as row-major.
  virtual lower::Graph graph_for(std::span<const Value> inputs) = 0;
};

}  // namespace mx
