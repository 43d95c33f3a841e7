// Builders of what looks for elements by value: positions of non-zeros, distinct elements. How many there are depends
// on the values, so results have a size that the caller gives. Documented in mx/ops.h.
#pragma once
#include "ops/build.hpp"

namespace mx::ops {

Value argwhere(const Value &a, int64_t size, const StreamRef &s = {});

struct Unique {
  Value values, index, inverse, counts, total;
};
// Without a `fill`: the smallest element.
Unique unique(const Value &a, int64_t size, const Value *fill, const StreamRef &s = {});

}  // namespace mx::ops
