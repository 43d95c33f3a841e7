// One rule an op: how it is computed for all lanes at once.
#pragma once
#include "transforms/mapped.hpp"

namespace mx::vmap {

// An op of the mapped function.
struct LaneOp {
  OpCode op;
  const Attrs &attrs;
  const StreamRef &s;
  const Ref<Object> &payload;
  std::span<const Mapped> in;  // for a rule: at least one differs between the lanes
  const Lanes &lanes;
};

// All outputs of the op; also if all inputs are the same in all lanes.
MappedList apply(const LaneOp &call);

using Rule = MappedList (*)(const LaneOp &);
Rule rule_of(OpCode op) noexcept;

// The op with its attributes on other inputs.
inline Value same_op(const LaneOp &call, ValueVector in) {
  return make(call.op, call.attrs, std::move(in), call.s, call.payload);
}
// What the op gives in a lane.
SmallVector<Spec, 1> lane_outputs(const LaneOp &call);

// clang-format off
#define MX_VMAP_RULES(X) \
  X(elementwise) X(full) X(reduce) X(number_of_elements) X(last_axis) X(scan) X(arg_reduce) X(sort) X(partition) \
  X(concatenate) X(roll) X(reshape) X(flatten) X(unflatten) X(squeeze) X(expand_dims) X(transpose) X(broadcast_to) \
  X(broadcast_like) X(slice) X(diagonal) X(as_strided) X(contiguous) X(depends) X(view_dtype) X(gather) \
  X(gather_axis) X(scatter) X(scatter_axis) X(slice_update) X(masked_scatter) X(dynamic_slice) \
  X(dynamic_slice_update) X(searchsorted) X(matmul) X(addmm) X(random_bits) X(norm) X(rope) X(attention) X(leading) \
  X(solve) X(quantized_matmul) X(packed) X(compiled_call) X(unrolled)
// clang-format on
#define X(name) MappedList map_##name(const LaneOp &call);
MX_VMAP_RULES(X)
#undef X

}  // namespace mx::vmap
