// Library kernels: what is not a fused loop. One function per op and backend.
#pragma once
#include <span>

#include "backends/epilogue.hpp"
#include "base/object.hpp"
#include "core/op.hpp"

namespace mx {

struct Tensor {
  DType dtype;
  Dims shape;
  Dims strides;  // bytes; may be 0 (broadcast) or negative
  char *data;    // first element
};

// What a backend keeps of constant operands of products, in a form of its own. Belongs to whoever owns the constants
// and drops it first (a compiled entry); what it holds counts as active memory, as all buffers do.
class PackedConstants : public Object {
 public:
  virtual int64_t bytes() const noexcept = 0;
};

// Inputs have any strides. Outputs are row-major, allocated and uninitialised, and overlap no input, except for ops
// that write into their first input (`in_place`): there outputs[0] already holds a copy of, or is, inputs[0].
struct KernelCall {
  OpCode op;
  const Attrs &attrs;
  std::span<const Tensor> inputs;
  std::span<const Tensor> outputs;
  Object *payload = nullptr;
  // Of products only: what follows block by block, and where the packed right operand is kept if it is the same in
  // every call.
  const Epilogue *epilogue = nullptr;
  PackedConstants *packed = nullptr;
};

using KernelFunction = void (*)(const KernelCall &);

struct KernelInfo {
  KernelFunction run = nullptr;  // nullptr if the op has no library kernel
  bool in_place = false;         // slice_update and the scatters
};

}  // namespace mx
