// concatenate: each input is copied into its part of the output.
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/strided_copy.hpp"

namespace mx::cpu {

void concatenate(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const auto axis = static_cast<size_t>(normalize_axis(attrs.integer(), call.outputs[0].shape.size(), "concatenate"));
  Tensor part = call.outputs[0];
  for (const Tensor &in : call.inputs) {
    part.shape[axis] = in.shape[axis];
    copy(part, in);
    part.data += in.shape[axis] * part.strides[axis];
  }
}

}  // namespace mx::cpu
