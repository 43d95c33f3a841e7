// Builders of ops that change the shape, order or layout. Documented in mx/shape.h.
#pragma once
#include "mx/shape.h"
#include "ops/build.hpp"

namespace mx::ops {

using ValueList = SmallVector<Value, 2>;

Value reshape(const Value &a, List shape, const StreamRef &s = {});
Value flatten(const Value &a, int64_t start, int64_t end, const StreamRef &s = {});
Value unflatten(const Value &a, int64_t axis, List shape, const StreamRef &s = {});
Value squeeze(const Value &a, const Axes &axes, const StreamRef &s = {});
Value expand_dims(const Value &a, List axes, const StreamRef &s = {});
Value transpose(const Value &a, const Axes &axes, const StreamRef &s = {});
Value moveaxis(const Value &a, int64_t source, int64_t destination, const StreamRef &s = {});
Value swapaxes(const Value &a, int64_t axis1, int64_t axis2, const StreamRef &s = {});
Value flip(const Value &a, const Axes &axes, const StreamRef &s = {});
Value broadcast_to(const Value &a, List shape, const StreamRef &s = {});
Value broadcast_like(const Value &a, const Value &other, const StreamRef &s = {});
ValueList broadcast_arrays(Values xs, const StreamRef &s = {});
ValueList split(const Value &a, List indices, int64_t axis, const StreamRef &s = {});
ValueList split_equal(const Value &a, int64_t sections, int64_t axis, const StreamRef &s = {});
ValueList unstack(const Value &a, int64_t axis, const StreamRef &s = {});
Value concatenate(Values xs, int64_t axis, const StreamRef &s = {});
Value stack(Values xs, int64_t axis, const StreamRef &s = {});
Value repeat(const Value &a, int64_t repeats, int64_t axis, const StreamRef &s = {});
Value tile(const Value &a, List reps, const StreamRef &s = {});
Value pad(const Value &a, List axes, List low, List high, mx_pad_mode mode, const Value &value,
          const StreamRef &s = {});
Value roll(const Value &a, List shifts, const Axes &axes, const StreamRef &s = {});
Value atleast(const Value &a, size_t rank, const StreamRef &s = {});  // 1 to 3
Value diagonal(const Value &a, int64_t offset, int64_t axis1, int64_t axis2, const StreamRef &s = {});
Value diag(const Value &a, int64_t k, const StreamRef &s = {});
ValueList depends(Values xs, Values deps, const StreamRef &s = {});
Value as_strided(const Value &a, List shape, List strides, int64_t offset, const StreamRef &s = {});
Value view_dtype(const Value &a, DType dtype, const StreamRef &s = {});
Value contiguous(const Value &a, bool col_major, const StreamRef &s = {});

}  // namespace mx::ops
