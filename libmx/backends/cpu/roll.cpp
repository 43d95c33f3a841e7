// roll: what moves along and what comes back at the other end are two copies. The amount is taken modulo the size here,
// not where the graph is built, because a shapeless trace meets other sizes.
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/strided_copy.hpp"

namespace mx::cpu {
namespace {

void roll_axis(Tensor out, Tensor in, size_t axis, int64_t shift) {
  const int64_t n = in.shape[axis];
  if (n == 0) return;
  const int64_t moved = (shift % n + n) % n;  // the last `moved` elements come first
  const auto part = [&](int64_t to, int64_t from, int64_t size) {
    Tensor target = out, source = in;
    target.shape[axis] = source.shape[axis] = size;
    target.data += to * target.strides[axis];
    source.data += from * source.strides[axis];
    copy(target, source);
  };
  if (moved) part(0, n - moved, moved);
  part(moved, 0, n - moved);
}

Tensor flat(const Tensor &t) { return {t.dtype, {element_count(t.shape)}, {itemsize(t.dtype)}, t.data}; }

}  // namespace

void roll(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const int64_t shift = attrs.integer(), axis = attrs.integer();
  if (axis >= 0) return roll_axis(call.outputs[0], call.inputs[0], static_cast<size_t>(axis), shift);
  const RowMajor in(call.inputs[0]);
  roll_axis(flat(call.outputs[0]), flat(in.tensor()), 0, shift);
}

}  // namespace mx::cpu
