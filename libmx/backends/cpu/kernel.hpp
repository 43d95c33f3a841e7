// Library kernels: what is not a fused loop. One function per op; found through the table in kernels.cpp, never by a
// switch.
#pragma once
#include <span>

#include "base/object.hpp"
#include "core/op.hpp"

namespace mx::cpu {

struct Tensor {
  DType dtype;
  Dims shape;
  Dims strides;  // bytes; may be 0 (broadcast) or negative
  char *data;    // first element
};

// Inputs have any strides. Outputs are row-major, allocated and uninitialised, and overlap no input, except for ops
// that write into their first input (`in_place`): there outputs[0] already holds a copy of, or is, inputs[0].
struct KernelCall {
  OpCode op;
  const Attrs &attrs;
  std::span<const Tensor> inputs;
  std::span<const Tensor> outputs;
  Object *payload = nullptr;
  // Of products only: what follows block by block (epilogue.hpp), and where the packed right operand is kept if it is
  // the same in every call (matmul_packs.hpp).
  const class Epilogue *epilogue = nullptr;
  class PackCache *packs = nullptr;
};

using KernelFunction = void (*)(const KernelCall &);

struct KernelInfo {
  KernelFunction run = nullptr;
  bool in_place = false;  // slice_update and the scatters
};

// nullptr `run` if the op has no library kernel.
const KernelInfo &kernel_for(OpCode op) noexcept;

}  // namespace mx::cpu
