// Builders of arrays from nothing or from the shape of another array. Documented in mx/shape.h.
#pragma once
#include "ops/build.hpp"

namespace mx::ops {

// A 0-d constant. Throws OVERFLOW if an integer does not fit.
Value constant(const Scalar &value, DType dtype);
Value scalar(double value, DType dtype);
// The largest finite number of a floating dtype.
double largest_finite(DType d) noexcept;

Value arange(const Scalar &start, const Scalar &stop, const Scalar &step, DType dtype, const StreamRef &s = {});
// 0, 1, ... n - 1.
Value arange(int64_t n, DType dtype, const StreamRef &s = {});
Value linspace(const Scalar &start, const Scalar &stop, int64_t n, bool endpoint, DType dtype, const StreamRef &s = {});
Value full(List shape, const Value &value, DType dtype, const StreamRef &s = {});
Value full_like(const Value &a, const Value &value, DType dtype, const StreamRef &s = {});
Value zeros(List shape, DType dtype, const StreamRef &s = {});
Value ones(List shape, DType dtype, const StreamRef &s = {});
Value zeros_like(const Value &a, DType dtype, const StreamRef &s = {});
Value ones_like(const Value &a, DType dtype, const StreamRef &s = {});
Value tri(int64_t n, int64_t m, int64_t k, DType dtype, const StreamRef &s = {});
Value eye(int64_t n, int64_t m, int64_t k, DType dtype, const StreamRef &s = {});
Value tril(const Value &a, int64_t k, const StreamRef &s = {});
Value triu(const Value &a, int64_t k, const StreamRef &s = {});
SmallVector<Value, 2> meshgrid(Values xs, bool sparse, bool ij, const StreamRef &s = {});
Value bartlett(int64_t n, const StreamRef &s = {});
Value hanning(int64_t n, const StreamRef &s = {});
Value hamming(int64_t n, const StreamRef &s = {});
Value blackman(int64_t n, const StreamRef &s = {});

// The shape of `a` with size 1 at `axis`, and nothing of its values: follows the shape when a trace is replayed.
Value slab_like(const Value &a, size_t axis, const StreamRef &s = {});
// 0, 1, ... along an axis of `a`, as int32 (n); follows the shape when a trace is replayed.
Value axis_iota(const Value &a, size_t axis, const StreamRef &s = {});
// 0-d: the product of sizes, or 1 over it; follows the shape when a trace is replayed.
Value number_of_elements(const Value &a, const Axes &axes, bool inverted, DType dtype, const StreamRef &s = {});

}  // namespace mx::ops
