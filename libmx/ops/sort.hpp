// Builders of sorting and searching. Documented in mx/ops.h; axes may be MX_NO_AXIS.
#pragma once
#include "ops/build.hpp"

namespace mx::ops {

Value sort(const Value &a, int64_t axis, bool descending, const StreamRef &s = {});
Value argsort(const Value &a, int64_t axis, bool descending, const StreamRef &s = {});
Value partition(const Value &a, int64_t kth, int64_t axis, const StreamRef &s = {});
Value argpartition(const Value &a, int64_t kth, int64_t axis, const StreamRef &s = {});
Value topk(const Value &a, int64_t k, int64_t axis, const StreamRef &s = {});
Value searchsorted(const Value &a, const Value &values, bool right, const StreamRef &s = {});

}  // namespace mx::ops
