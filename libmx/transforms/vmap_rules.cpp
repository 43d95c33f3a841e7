// The table of rules.
#include "transforms/vmap_rules.hpp"

#include <algorithm>

namespace mx::vmap {

Rule rule_of(OpCode op) noexcept {
  if (op == OpCode::full) return map_full;
  if (info(op).kind == OpKind::elementwise) return map_elementwise;
  if (info(op).kind == OpKind::reduce) return map_reduce;
  switch (op) {
#define RULE(name)   \
  case OpCode::name: \
    return map_##name;
    RULE(number_of_elements)
    RULE(reshape)
    RULE(flatten)
    RULE(unflatten)
    RULE(squeeze)
    RULE(expand_dims)
    RULE(transpose)
    RULE(broadcast_to)
    RULE(broadcast_like)
    RULE(slice)
    RULE(diagonal)
    RULE(as_strided)
    RULE(contiguous)
    RULE(depends)
    RULE(view_dtype)
    RULE(scan)
    RULE(arg_reduce)
    RULE(searchsorted)
    RULE(concatenate)
    RULE(roll)
    RULE(gather)
    RULE(gather_axis)
    RULE(scatter)
    RULE(scatter_axis)
    RULE(slice_update)
    RULE(masked_scatter)
    RULE(dynamic_slice)
    RULE(dynamic_slice_update)
    RULE(matmul)
    RULE(addmm)
    RULE(random_bits)
    RULE(rope)
    RULE(attention)
    RULE(solve)
    RULE(quantized_matmul)
    RULE(compiled_call)
#undef RULE
    case OpCode::sort:
    case OpCode::argsort:
      return map_sort;
    case OpCode::partition:
    case OpCode::argpartition:
      return map_partition;
    case OpCode::softmax:
    case OpCode::logsumexp:
      return map_last_axis;
    case OpCode::cholesky:
    case OpCode::inverse:
    case OpCode::lu:
    case OpCode::lu_permutation:
    case OpCode::qr:
    case OpCode::svd:
    case OpCode::eigh:
    case OpCode::eig:
      return map_leading;
    case OpCode::quantize:
    case OpCode::dequantize:
      return map_packed;
    case OpCode::layer_norm:
    case OpCode::rms_norm:
      return map_norm;
    default:
      return map_unrolled;
  }
}

MappedList apply(const LaneOp &call) {
  const bool differs = std::any_of(call.in.begin(), call.in.end(), [](const Mapped &x) { return x.differs(); });
  if (!differs && call.op != OpCode::compiled_call) {
    ValueVector in;
    for (const Mapped &x : call.in) in.push_back(x.value);
    MappedList out;
    for (Value &value : outputs_of(same_op(call, std::move(in)))) out.push_back({std::move(value), -1});
    return out;
  }
  return rule_of(call.op)(call);
}

SmallVector<Spec, 1> lane_outputs(const LaneOp &call) {
  SmallVector<Spec, 4> specs;
  for (const Mapped &x : call.in) specs.push_back(lane_spec(x));
  SmallVector<const Spec *, 4> in;
  for (const Spec &spec : specs) in.push_back(&spec);
  SmallVector<Spec, 1> out;
  info(call.op).infer(call.attrs, std::span<const Spec *const>(in.data(), in.size()), out);
  return out;
}

}  // namespace mx::vmap
