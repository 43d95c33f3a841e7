// mx/ops.h: elementwise ops, reductions, scans, sorting and products.
#include "capi/convert.hpp"
#include "ops/binary.hpp"
#include "ops/convolve.hpp"
#include "ops/einsum.hpp"
#include "ops/find.hpp"
#include "ops/matmul.hpp"
#include "ops/reduce.hpp"
#include "ops/sort.hpp"
#include "ops/unary.hpp"

namespace mx::capi {

#define UNARY(name, builder) \
  Value name(Value a, Stream *stream) { return ops::builder(std::move(a), share(stream)); }
#define X(name) UNARY(name, name)
// clang-format off
UNARY(abs, absolute)
X(sign) X(negative) X(square) X(sqrt) X(rsqrt) X(reciprocal) X(exp) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sin)
X(cos) X(tan) X(arcsin) X(arccos) X(arctan) X(sinh) X(cosh) X(tanh) X(arcsinh) X(arccosh) X(arctanh) X(degrees)
X(radians) X(erf) X(erfinv) X(sigmoid) X(floor) X(ceil) X(trunc) X(isnan) X(isinf) X(isfinite) X(signbit) X(isposinf) X(isneginf)
X(conjugate) X(real) X(imag) X(logical_not) X(bitwise_invert) X(stop_gradient) X(to_fp8)
// clang-format on
#undef X
#undef UNARY

                Value positive(Value a, Stream *) {
  return a;
}

Value round(Value a, int64_t decimals, Stream *stream) { return ops::round(a, decimals, share(stream)); }

Value nan_to_num(Value a, double nan, Value posinf, Value neginf, Stream *stream) {
  return ops::nan_to_num(a, nan, Optional(posinf), Optional(neginf), share(stream));
}

Value from_fp8(Value a, mx_dtype dtype, Stream *stream) { return ops::from_fp8(a, to_dtype(dtype), share(stream)); }

#define X(name) \
  Value name(Value a, Value b, Stream *stream) { return ops::name(std::move(a), std::move(b), share(stream)); }
// clang-format off
MX_BINARY(X)
X(matmul) X(inner) X(outer) X(kron)
// clang-format on
#undef X

    void divmod(Value *quotient_out, Value *remainder_out, Value a, Value b, Stream *stream) {
  const Value x = a, y = b;
  Value quotient = ops::floor_divide(x, y, share(stream));
  *remainder_out = ops::remainder(x, y, share(stream));
  *quotient_out = std::move(quotient);
}

Value array_equal(Value a, Value b, bool equal_nan, Stream *stream) {
  return ops::array_equal(a, b, equal_nan, share(stream));
}

Value isclose(Value a, Value b, double rtol, double atol, bool equal_nan, Stream *stream) {
  return ops::isclose(a, b, rtol, atol, equal_nan, share(stream));
}

Value allclose(Value a, Value b, double rtol, double atol, bool equal_nan, Stream *stream) {
  return ops::allclose(a, b, rtol, atol, equal_nan, share(stream));
}

Value where(Value condition, Value a, Value b, Stream *stream) { return ops::where(condition, a, b, share(stream)); }

Value clip(Value a, Value a_min, Value a_max, Stream *stream) {
  return ops::clip(a, Optional(a_min), Optional(a_max), share(stream));
}

#define X(name)                                                                            \
  Value name(Value a, const int64_t *axes, size_t n_axes, bool keepdims, Stream *stream) { \
    return ops::name(a, optional_list(axes, n_axes), keepdims, share(stream));             \
  }
MX_REDUCE(X)
#undef X

Value var(Value a, const int64_t *axes, size_t n_axes, bool keepdims, int64_t ddof, Stream *stream) {
  return ops::var(a, optional_list(axes, n_axes), keepdims, ddof, share(stream));
}

Value std(Value a, const int64_t *axes, size_t n_axes, bool keepdims, int64_t ddof, Stream *stream) {
  return ops::stddev(a, optional_list(axes, n_axes), keepdims, ddof, share(stream));
}

Value softmax(Value a, const int64_t *axes, size_t n_axes, bool precise, Stream *stream) {
  return ops::softmax(a, optional_list(axes, n_axes), precise, share(stream));
}

Value argmin(Value a, int64_t axis, bool keepdims, Stream *stream) {
  return ops::arg_reduce(false, a, axis, keepdims, share(stream));
}

Value argmax(Value a, int64_t axis, bool keepdims, Stream *stream) {
  return ops::arg_reduce(true, a, axis, keepdims, share(stream));
}

#define SCAN(name, kind)                                                            \
  Value name(Value a, int64_t axis, bool reverse, bool inclusive, Stream *stream) { \
    return ops::scan(ScanKind::kind, a, axis, reverse, inclusive, share(stream));   \
  }
SCAN(cumsum, sum)
SCAN(cumprod, prod)
SCAN(cummax, max)
SCAN(cummin, min)
SCAN(logcumsumexp, logaddexp)
#undef SCAN

Value diff(Value a, int64_t n, int64_t axis, Stream *stream) { return ops::diff(a, n, axis, share(stream)); }

Value sort(Value a, int64_t axis, bool descending, Stream *stream) {
  return ops::sort(a, axis, descending, share(stream));
}

Value argsort(Value a, int64_t axis, bool descending, Stream *stream) {
  return ops::argsort(a, axis, descending, share(stream));
}

Value partition(Value a, int64_t kth, int64_t axis, Stream *stream) {
  return ops::partition(a, kth, axis, share(stream));
}

Value argwhere(Value a, int64_t size, Stream *stream) { return ops::argwhere(a, size, share(stream)); }

void unique(Value *values_out, Value *index_out, Value *inverse_out, Value *counts_out, Value *total_out, Value a,
            int64_t size, Value fill, Stream *stream) {
  ops::Unique found = ops::unique(a, size, Optional(fill), share(stream));
  *values_out = std::move(found.values);
  *index_out = std::move(found.index);
  *inverse_out = std::move(found.inverse);
  *counts_out = std::move(found.counts);
  *total_out = std::move(found.total);
}

Value convolve(Value a, Value v, mx_convolve_mode mode, Stream *stream) {
  return ops::convolve(a, v, mode, share(stream));
}

Value einsum(const char *subscripts, ValueVector xs, Stream *stream) {
  return ops::einsum(subscripts, xs, share(stream));
}

void einsum_path(int64_t *steps, size_t cap, size_t *n_steps_out, const char *subscripts, ValueVector xs) {
  std::vector<int64_t> flat;
  for (const ops::Contraction &step : ops::einsum_path(subscripts, xs)) {
    flat.push_back(static_cast<int64_t>(step.size()));
    flat.insert(flat.end(), step.begin(), step.end());
  }
  if (cap < flat.size())
    fail(MX_ERROR_INVALID_ARGUMENT, "einsum_path: room for %zu numbers, but there are %zu", cap, flat.size());
  std::copy(flat.begin(), flat.end(), steps);
  *n_steps_out = flat.size();
}

Value argpartition(Value a, int64_t kth, int64_t axis, Stream *stream) {
  return ops::argpartition(a, kth, axis, share(stream));
}

Value topk(Value a, int64_t k, int64_t axis, Stream *stream) { return ops::topk(a, k, axis, share(stream)); }

Value searchsorted(Value a, Value values, bool right, Stream *stream) {
  return ops::searchsorted(a, values, right, share(stream));
}

Value addmm(Value c, Value a, Value b, double alpha, double beta, Stream *stream) {
  return ops::addmm(c, a, b, alpha, beta, share(stream));
}

Value vecdot(Value a, Value b, int64_t axis, Stream *stream) { return ops::vecdot(a, b, axis, share(stream)); }

Value tensordot(Value a, Value b, const int64_t *axes_a, size_t n_axes_a, const int64_t *axes_b, size_t n_axes_b,
                Stream *stream) {
  return ops::tensordot(a, b, list(axes_a, n_axes_a), list(axes_b, n_axes_b), share(stream));
}

Value trace(Value a, int64_t offset, int64_t axis1, int64_t axis2, mx_dtype dtype, Stream *stream) {
  return ops::trace(a, offset, axis1, axis2, to_dtype(dtype), share(stream));
}

}  // namespace mx::capi
