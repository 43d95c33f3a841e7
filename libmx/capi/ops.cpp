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
  Ref<Array> name(Array &a, Stream *stream) { return wrap(ops::builder(a.value(), share(stream))); }
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

                Ref<Array> positive(Array &a, Stream *) {
  return wrap(a.value());
}

Ref<Array> round(Array &a, int64_t decimals, Stream *stream) {
  return wrap(ops::round(a.value(), decimals, share(stream)));
}

Ref<Array> nan_to_num(Array &a, double nan, Array *posinf, Array *neginf, Stream *stream) {
  return wrap(ops::nan_to_num(a.value(), nan, Optional(posinf), Optional(neginf), share(stream)));
}

Ref<Array> from_fp8(Array &a, mx_dtype dtype, Stream *stream) {
  return wrap(ops::from_fp8(a.value(), to_dtype(dtype), share(stream)));
}

#define X(name) \
  Ref<Array> name(Array &a, Array &b, Stream *stream) { return wrap(ops::name(a.value(), b.value(), share(stream))); }
// clang-format off
MX_BINARY(X)
X(matmul) X(inner) X(outer) X(kron)
// clang-format on
#undef X

    void divmod(Ref<Array> *quotient_out, Ref<Array> *remainder_out, Array &a, Array &b, Stream *stream) {
  const Value x = a.value(), y = b.value();
  Ref<Array> quotient = wrap(ops::floor_divide(x, y, share(stream)));
  *remainder_out = wrap(ops::remainder(x, y, share(stream)));
  *quotient_out = std::move(quotient);
}

Ref<Array> array_equal(Array &a, Array &b, bool equal_nan, Stream *stream) {
  return wrap(ops::array_equal(a.value(), b.value(), equal_nan, share(stream)));
}

Ref<Array> isclose(Array &a, Array &b, double rtol, double atol, bool equal_nan, Stream *stream) {
  return wrap(ops::isclose(a.value(), b.value(), rtol, atol, equal_nan, share(stream)));
}

Ref<Array> allclose(Array &a, Array &b, double rtol, double atol, bool equal_nan, Stream *stream) {
  return wrap(ops::allclose(a.value(), b.value(), rtol, atol, equal_nan, share(stream)));
}

Ref<Array> where(Array &condition, Array &a, Array &b, Stream *stream) {
  return wrap(ops::where(condition.value(), a.value(), b.value(), share(stream)));
}

Ref<Array> clip(Array &a, Array *a_min, Array *a_max, Stream *stream) {
  return wrap(ops::clip(a.value(), Optional(a_min), Optional(a_max), share(stream)));
}

#define X(name)                                                                                  \
  Ref<Array> name(Array &a, const int64_t *axes, size_t n_axes, bool keepdims, Stream *stream) { \
    return wrap(ops::name(a.value(), optional_list(axes, n_axes), keepdims, share(stream)));     \
  }
MX_REDUCE(X)
#undef X

Ref<Array> var(Array &a, const int64_t *axes, size_t n_axes, bool keepdims, int64_t ddof, Stream *stream) {
  return wrap(ops::var(a.value(), optional_list(axes, n_axes), keepdims, ddof, share(stream)));
}

Ref<Array> std(Array &a, const int64_t *axes, size_t n_axes, bool keepdims, int64_t ddof, Stream *stream) {
  return wrap(ops::stddev(a.value(), optional_list(axes, n_axes), keepdims, ddof, share(stream)));
}

Ref<Array> softmax(Array &a, const int64_t *axes, size_t n_axes, bool precise, Stream *stream) {
  return wrap(ops::softmax(a.value(), optional_list(axes, n_axes), precise, share(stream)));
}

Ref<Array> argmin(Array &a, int64_t axis, bool keepdims, Stream *stream) {
  return wrap(ops::arg_reduce(false, a.value(), axis, keepdims, share(stream)));
}

Ref<Array> argmax(Array &a, int64_t axis, bool keepdims, Stream *stream) {
  return wrap(ops::arg_reduce(true, a.value(), axis, keepdims, share(stream)));
}

#define SCAN(name, kind)                                                                        \
  Ref<Array> name(Array &a, int64_t axis, bool reverse, bool inclusive, Stream *stream) {       \
    return wrap(ops::scan(ScanKind::kind, a.value(), axis, reverse, inclusive, share(stream))); \
  }
SCAN(cumsum, sum)
SCAN(cumprod, prod)
SCAN(cummax, max)
SCAN(cummin, min)
SCAN(logcumsumexp, logaddexp)
#undef SCAN

Ref<Array> diff(Array &a, int64_t n, int64_t axis, Stream *stream) {
  return wrap(ops::diff(a.value(), n, axis, share(stream)));
}

Ref<Array> sort(Array &a, int64_t axis, bool descending, Stream *stream) {
  return wrap(ops::sort(a.value(), axis, descending, share(stream)));
}

Ref<Array> argsort(Array &a, int64_t axis, bool descending, Stream *stream) {
  return wrap(ops::argsort(a.value(), axis, descending, share(stream)));
}

Ref<Array> argwhere(Array &a, int64_t size, Stream *stream) {
  return wrap(ops::argwhere(a.value(), size, share(stream)));
}

void unique(Ref<Array> *values_out, Ref<Array> *index_out, Ref<Array> *inverse_out, Ref<Array> *counts_out,
            Ref<Array> *total_out, Array &a, int64_t size, Array *fill, Stream *stream) {
  ops::Unique found = ops::unique(a.value(), size, Optional(fill), share(stream));
  *values_out = wrap(std::move(found.values));
  *index_out = wrap(std::move(found.index));
  *inverse_out = wrap(std::move(found.inverse));
  *counts_out = wrap(std::move(found.counts));
  *total_out = wrap(std::move(found.total));
}

Ref<Array> convolve(Array &a, Array &v, mx_convolve_mode mode, Stream *stream) {
  return wrap(ops::convolve(a.value(), v.value(), mode, share(stream)));
}

Ref<Array> einsum(const char *subscripts, std::span<Array *const> xs, Stream *stream) {
  return wrap(ops::einsum(subscripts, span(values(xs)), share(stream)));
}

void einsum_path(int64_t *steps, size_t cap, size_t *n_steps_out, const char *subscripts, std::span<Array *const> xs) {
  std::vector<int64_t> flat;
  for (const ops::Contraction &step : ops::einsum_path(subscripts, span(values(xs)))) {
    flat.push_back(static_cast<int64_t>(step.size()));
    flat.insert(flat.end(), step.begin(), step.end());
  }
  if (cap < flat.size())
    fail(MX_ERROR_INVALID_ARGUMENT, "einsum_path: room for %zu numbers, but there are %zu", cap, flat.size());
  std::copy(flat.begin(), flat.end(), steps);
  *n_steps_out = flat.size();
}

Ref<Array> partition(Array &a, int64_t kth, int64_t axis, Stream *stream) {
  return wrap(ops::partition(a.value(), kth, axis, share(stream)));
}

Ref<Array> argpartition(Array &a, int64_t kth, int64_t axis, Stream *stream) {
  return wrap(ops::argpartition(a.value(), kth, axis, share(stream)));
}

Ref<Array> topk(Array &a, int64_t k, int64_t axis, Stream *stream) {
  return wrap(ops::topk(a.value(), k, axis, share(stream)));
}

Ref<Array> searchsorted(Array &a, Array &values, bool right, Stream *stream) {
  return wrap(ops::searchsorted(a.value(), values.value(), right, share(stream)));
}

Ref<Array> addmm(Array &c, Array &a, Array &b, double alpha, double beta, Stream *stream) {
  return wrap(ops::addmm(c.value(), a.value(), b.value(), alpha, beta, share(stream)));
}

Ref<Array> vecdot(Array &a, Array &b, int64_t axis, Stream *stream) {
  return wrap(ops::vecdot(a.value(), b.value(), axis, share(stream)));
}

Ref<Array> tensordot(Array &a, Array &b, const int64_t *axes_a, size_t n_axes_a, const int64_t *axes_b, size_t n_axes_b,
                     Stream *stream) {
  return wrap(ops::tensordot(a.value(), b.value(), list(axes_a, n_axes_a), list(axes_b, n_axes_b), share(stream)));
}

Ref<Array> trace(Array &a, int64_t offset, int64_t axis1, int64_t axis2, mx_dtype dtype, Stream *stream) {
  return wrap(ops::trace(a.value(), offset, axis1, axis2, to_dtype(dtype), share(stream)));
}

}  // namespace mx::capi
