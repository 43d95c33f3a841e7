// Builders of products and contractions. Documented in mx/ops.h.
#pragma once
#include "ops/build.hpp"

namespace mx::ops {

Value matmul(const Value &a, const Value &b, const StreamRef &s = {});
Value addmm(const Value &c, const Value &a, const Value &b, double alpha, double beta, const StreamRef &s = {});
Value inner(const Value &a, const Value &b, const StreamRef &s = {});
Value outer(const Value &a, const Value &b, const StreamRef &s = {});
Value vecdot(const Value &a, const Value &b, int64_t axis, const StreamRef &s = {});
Value tensordot(const Value &a, const Value &b, List axes_a, List axes_b, const StreamRef &s = {});
Value kron(const Value &a, const Value &b, const StreamRef &s = {});
Value trace(const Value &a, int64_t offset, int64_t axis1, int64_t axis2, DType dtype, const StreamRef &s = {});

}  // namespace mx::ops
