// What a compiled_call node carries as its payload: something that computes outputs from inputs. compile/ implements it,
// so that evaluation need not know about entries.
#pragma once
#include <vector>

#include "core/output.hpp"

namespace mx {

class Callable : public Object {
 public:
  // Computes all outputs. Takes over the inputs' references. Throws what kernels throw.
  virtual std::vector<Output> run(std::vector<Output> inputs) = 0;
  // Roughly, on one thread.
  virtual int64_t estimate_ns(std::span<const Output> inputs) = 0;
};

}  // namespace mx
