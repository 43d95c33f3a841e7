// dynamic_slice and dynamic_slice_update: slices whose start is an array. Starts are clipped so that the slice fits.
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/strided_copy.hpp"

namespace mx::cpu {
namespace {

// The part of x of this shape that begins at `start` (one number per axis of `axes`; the others begin at 0).
Tensor window(const Tensor &x, const Dims &shape, const Tensor &start, std::span<const int64_t> axes) {
  const RowMajor starts(start, DType::int64);
  Tensor part = x;
  part.shape = shape;
  for (size_t i = 0; i < axes.size(); i++) {
    const auto axis = static_cast<size_t>(normalize_axis(axes[i], x.shape.size(), "dynamic_slice"));
    const int64_t last = x.shape[axis] - shape[axis];
    part.data += std::clamp<int64_t>(starts.as<int64_t>()[i], 0, std::max<int64_t>(last, 0)) * x.strides[axis];
  }
  return part;
}

}  // namespace

void dynamic_slice(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const Tensor &out = call.outputs[0];
  copy(out, window(call.inputs[0], out.shape, call.inputs[1], attrs.list()));
}

void dynamic_slice_update(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const Tensor &out = call.outputs[0], &update = call.inputs[1];
  // The update may have fewer axes, or size 1 where `out` is longer: the window has the update's shape, aligned right.
  Dims shape(out.shape.size(), 1);
  std::copy_backward(update.shape.begin(), update.shape.end(), shape.end());
  copy(window(out, shape, call.inputs[2], attrs.list()), update);
}

}  // namespace mx::cpu
