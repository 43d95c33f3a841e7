// Builders of linear algebra over the last two axes. Documented in mx/linalg.h.
#pragma once
#include "mx/linalg.h"
#include "ops/build.hpp"
#include "ops/shape.hpp"

namespace mx::ops {

Value norm(const Value &a, mx_norm_kind kind, double ord, const Axes &axes, bool keepdims, const StreamRef &s = {});
ValueList svd(const Value &a, bool vectors, const StreamRef &s = {});  // u s vt | s
ValueList qr(const Value &a, const StreamRef &s = {});                 // q r
ValueList lu(const Value &a, const StreamRef &s = {});                 // p l u
ValueList lu_factor(const Value &a, const StreamRef &s = {});          // packed, pivots
Value cholesky(const Value &a, bool upper, const StreamRef &s = {});
Value cholesky_inv(const Value &a, bool upper, const StreamRef &s = {});
Value inv(const Value &a, const StreamRef &s = {});
Value tri_inv(const Value &a, bool upper, const StreamRef &s = {});
Value pinv(const Value &a, const StreamRef &s = {});
Value solve(const Value &a, const Value &b, const StreamRef &s = {});
Value solve_triangular(const Value &a, const Value &b, bool upper, const StreamRef &s = {});
ValueList eigh(const Value &a, bool upper, bool vectors, const StreamRef &s = {});  // w [v]
ValueList eig(const Value &a, bool vectors, const StreamRef &s = {});               // w [v]
Value cross(const Value &a, const Value &b, int64_t axis, const StreamRef &s = {});
Value det(const Value &a, const StreamRef &s = {});
ValueList slogdet(const Value &a, const StreamRef &s = {});  // sign, log |det|

}  // namespace mx::ops
