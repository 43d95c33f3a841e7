// Builders of reductions, scans and what is composed of them. Documented in mx/ops.h.
#pragma once
#include "ops/build.hpp"
#include "ops/kinds.hpp"

namespace mx::ops {

#define MX_REDUCE(X) X(all) X(any) X(sum) X(prod) X(min) X(max) X(mean) X(median) X(logsumexp) X(count_nonzero)
#define X(name) Value name(const Value &a, const Axes &axes, bool keepdims, const StreamRef &s = {});
MX_REDUCE(X)
#undef X

Value var(const Value &a, const Axes &axes, bool keepdims, int64_t ddof, const StreamRef &s = {});
Value stddev(const Value &a, const Axes &axes, bool keepdims, int64_t ddof, const StreamRef &s = {});
Value softmax(const Value &a, const Axes &axes, bool precise, const StreamRef &s = {});
// axis may be MX_NO_AXIS.
Value arg_reduce(bool is_max, const Value &a, int64_t axis, bool keepdims, const StreamRef &s = {});
Value scan(ScanKind kind, const Value &a, int64_t axis, bool reverse, bool inclusive, const StreamRef &s = {});
Value diff(const Value &a, int64_t n, int64_t axis, const StreamRef &s = {});

}  // namespace mx::ops
