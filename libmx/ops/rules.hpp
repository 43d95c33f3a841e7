// The rows of the op table: for every op X of ops.def a function infer_X, for every view op a function view_X. They are
// defined in the family files of this folder. Also what the rules share.
#pragma once
#include "base/status.hpp"
#include "core/op.hpp"

namespace mx::rules {

using Specs = std::span<const Spec *const>;
using Outs = SmallVector<Spec, 1>;

#define MX_OP(name, kind, schema) void infer_##name(const Attrs &attrs, Specs in, Outs &out);
#include "ops/ops.def"
#undef MX_OP

#define MX_RULE_constant(name)
#define MX_RULE_elementwise(name)
#define MX_RULE_reduce(name)
#define MX_RULE_library(name)
#define MX_RULE_call(name)
#define MX_RULE_view(name) \
  bool view_##name(const Attrs &, const Spec &in, const Layout &, const Spec &out, Layout &view);
#define MX_OP(name, kind, schema) MX_RULE_##kind(name)
#include "ops/ops.def"
#undef MX_OP
#undef MX_RULE_view

// Throws INVALID_ARGUMENT unless there are `least` to `most` inputs.
void need_inputs(Specs in, size_t least, size_t most, const char *op);
// Throws DTYPE unless `ok`.
void need_dtype(bool ok, DType d, const char *op, const char *allowed);
// Throws DTYPE unless all inputs from `first` on have one dtype.
void need_same_dtype(Specs in, size_t first, const char *op);
// Throws SHAPE unless `shape` broadcasts to `target`.
void need_broadcastable(std::span<const int64_t> shape, std::span<const int64_t> target, const char *op);
// Throws OVERFLOW for sizes beyond 32 bits: indices are uint32.
void check_sizes(std::span<const int64_t> shape);
// Appends an output. Throws SHAPE for too many dimensions or a negative size, OVERFLOW for too many bytes.
void put_spec(Outs &out, DType dtype, Dims shape, const char *op);
// An axis attribute: not negative and below the rank. Throws AXIS.
size_t axis_of(int64_t axis, const Spec &in, const char *op);
// Throws AXIS unless the list is sorted, without repetition and within the rank.
void need_axes(std::span<const int64_t> axes, size_t rank, const char *op);

// Python's slice rules for one axis of size n: the first index, how many, and the step, which is not 0.
struct Range {
  int64_t first, count, step;
};
Range slice_range(int64_t start, int64_t stop, int64_t step, int64_t n) noexcept;

}  // namespace mx::rules
