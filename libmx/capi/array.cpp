// mx/array.h: arrays from host memory, what is known about them, evaluation, pins.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "backends/cpu/strided_copy.hpp"
#include "capi.h"
#include "capi/convert.hpp"
#include "eval/eval.hpp"
#include "ops/rules.hpp"
#include "runtime/lifecycle.hpp"

namespace mx::capi {
namespace {

Spec checked_spec(const int64_t *dims, size_t n_dims, mx_dtype dtype, const char *function) {
  if (n_dims > MX_MAX_DIMS)
    fail(MX_ERROR_SHAPE, "%s: %zu dimensions, the most is %d", function, n_dims, int{MX_MAX_DIMS});
  Spec spec;
  spec.dtype = to_dtype(dtype);
  rules::check_sizes({dims, n_dims});
  for (size_t i = 0; i < n_dims; i++) {
    if (dims[i] < 0)
      fail(MX_ERROR_SHAPE, "%s: dimension %zu is negative: %lld", function, i, static_cast<long long>(dims[i]));
    spec.shape.push_back(dims[i]);
  }
  byte_count(spec);
  return spec;
}

Dims checked_strides(const Spec &spec, const int64_t *strides, size_t n_strides, const char *function) {
  if (n_strides != spec.shape.size())
    fail(MX_ERROR_INVALID_ARGUMENT, "%s: %zu strides for %zu dimensions", function, n_strides, spec.shape.size());
  return Dims(strides, strides + n_strides);
}

// The bytes that a strided array spans around its first element: [first + low, first + high).
struct Extent {
  int64_t low = 0, high = 0;
};
Extent extent(const Spec &spec, const Dims &strides, const char *function) {
  if (element_count(spec.shape) == 0) return {};
  Extent e;
  for (size_t i = 0; i < strides.size(); i++) {
    int64_t reach;
    if (__builtin_mul_overflow(strides[i], spec.shape[i] - 1, &reach) ||
        __builtin_add_overflow(reach < 0 ? e.low : e.high, reach, reach < 0 ? &e.low : &e.high))
      fail(MX_ERROR_OVERFLOW, "%s: the strides reach too far", function);
  }
  e.high += itemsize(spec.dtype);
  return e;
}

HostMemory host_memory(const void *data, const Extent &e, bool read_only) {
  return {static_cast<const char *>(data) + e.low, static_cast<size_t>(e.high - e.low), read_only};
}

void check_kind(const Scalar &value, const char *function) {
  if (static_cast<unsigned>(value.kind) > MX_SCALAR_COMPLEX)
    fail(MX_ERROR_INVALID_ARGUMENT, "%s: %d is not a kind of scalar", function, static_cast<int>(value.kind));
}

Value scalar_array(const Scalar &value, DType dtype) {
  int64_t bits[2] = {0, 0};
  store_scalar(bits, dtype, value);
  return make(OpCode::constant, Attrs().put(bits[0]).put(bits[1]).put(dtype), {});
}

// Whether two elements may lie in the same place: along each dimension, from the closest to the widest stride, a step
// must lead past all that the dimensions before span.
bool may_overlap(const Spec &spec, const Dims &strides) {
  SmallVector<size_t, 8> order;
  for (size_t i = 0; i < strides.size(); i++) {
    if (spec.shape[i] == 0) return false;
    if (spec.shape[i] > 1) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::abs(strides[a]) < std::abs(strides[b]); });
  int64_t span = itemsize(spec.dtype);
  for (size_t i : order) {
    if (std::abs(strides[i]) < span) return true;
    span += (spec.shape[i] - 1) * std::abs(strides[i]);
  }
  return false;
}

void describe(mx_view *view, const Pin &pin) {
  mx_view v = {};
  const Output &output = pin.output();
  v.data = pin.data();
  v.dtype = static_cast<mx_dtype>(output.spec.dtype);
  v.itemsize = static_cast<uint32_t>(itemsize(output.spec.dtype));
  v.read_only = output.buffer->read_only() || may_overlap(output.spec, output.layout.strides);
  v.n_dims = static_cast<uint32_t>(output.spec.shape.size());
  for (size_t i = 0; i < output.spec.shape.size(); i++) {
    v.dims[i] = output.spec.shape[i];
    v.strides[i] = output.layout.strides[i];
  }
  *view = v;
}

}  // namespace

Value array_new(const void *data, size_t n_bytes, const int64_t *dims, size_t n_dims, mx_dtype dtype) {
  Spec spec = checked_spec(dims, n_dims, dtype, "array_new");
  const size_t size = static_cast<size_t>(byte_count(spec));
  if (n_bytes != size)
    fail(MX_ERROR_INVALID_ARGUMENT, "array_new: %zu bytes of data for shape %s of %s, which takes %zu", n_bytes,
         to_string(spec.shape).c_str(), name(spec.dtype), size);
  require_not_closed();
  Ref<Buffer> buffer = allocate(size);
  if (size) std::memcpy(buffer->data(), data, size);
  Dims strides = row_major(spec.shape, itemsize(spec.dtype));
  return make_done(std::move(spec), {std::move(strides), 0}, std::move(buffer));
}

Value array_new_strided(const void *data, const int64_t *dims, size_t n_dims, const int64_t *strides, size_t n_strides,
                        mx_dtype dtype) {
  Spec spec = checked_spec(dims, n_dims, dtype, "array_new_strided");
  const Dims from = checked_strides(spec, strides, n_strides, "array_new_strided");
  extent(spec, from, "array_new_strided");
  require_not_closed();
  Ref<Buffer> buffer = allocate(static_cast<size_t>(byte_count(spec)));
  Dims to = row_major(spec.shape, itemsize(spec.dtype));
  cpu::strided_copy(spec.shape, itemsize(spec.dtype), reinterpret_cast<char *>(buffer->data()), to,
                    static_cast<const char *>(data), from);
  return make_done(std::move(spec), {std::move(to), 0}, std::move(buffer));
}

Value array_borrow(const void *data, const int64_t *dims, size_t n_dims, const int64_t *strides, size_t n_strides,
                   mx_dtype dtype, bool read_only, Client &client, uint64_t token) {
  Spec spec = checked_spec(dims, n_dims, dtype, "array_borrow");
  Dims from = checked_strides(spec, strides, n_strides, "array_borrow");
  const Extent e = extent(spec, from, "array_borrow");
  require_not_closed();
  Ref<Buffer> buffer = borrow(host_memory(data, e, read_only), client, token);
  return make_done(std::move(spec), {std::move(from), -e.low}, std::move(buffer));
}

Value array_borrow_with(const void *data, const int64_t *dims, size_t n_dims, const int64_t *strides, size_t n_strides,
                        mx_dtype dtype, bool read_only, void (*destroy)(void *), void *payload) {
  Spec spec;
  Layout layout;
  Extent e;
  try {
    spec = checked_spec(dims, n_dims, dtype, "array_borrow_with");
    layout.strides = checked_strides(spec, strides, n_strides, "array_borrow_with");
    e = extent(spec, layout.strides, "array_borrow_with");
    require_not_closed();
  } catch (...) {
    if (destroy) destroy(payload);
    throw;
  }
  layout.offset = -e.low;
  // From here on borrow answers for the payload, also when it fails.
  Ref<Buffer> buffer = borrow(host_memory(data, e, read_only), destroy, payload);
  return make_done(std::move(spec), std::move(layout), std::move(buffer));
}

Value array_scalar(mx_scalar value, mx_dtype dtype) {
  check_kind(value, "array_scalar");
  return scalar_array(value, to_dtype(dtype));
}

Value array_scalar_weak(mx_scalar value, mx_dtype beside) {
  check_kind(value, "array_scalar_weak");
  return scalar_array(value, weak_dtype(value, to_dtype(beside)));
}

void array_shape(int64_t *dims, size_t cap, size_t *n_dims_out, Value x) {
  const Dims &shape = spec_of(x).shape;
  if (cap < shape.size())
    fail(MX_ERROR_INVALID_ARGUMENT, "array_shape: cap is %zu for %zu dimensions", cap, shape.size());
  std::copy(shape.begin(), shape.end(), dims);
  *n_dims_out = shape.size();
}

void array_dtype(mx_dtype *out, Value x) { *out = static_cast<mx_dtype>(spec_of(x).dtype); }
void array_ndim(size_t *n_out, Value x) { *n_out = spec_of(x).shape.size(); }
void array_size(size_t *n_out, Value x) { *n_out = static_cast<size_t>(element_count(spec_of(x).shape)); }
void array_same(bool *same_out, Value a, Value b) { *same_out = a == b; }
void array_is_tracer(bool *is_tracer_out, Value x) { *is_tracer_out = is_tracer(x); }
void array_is_ready(bool *is_ready_out, Value x) { *is_ready_out = x.node->state() == NodeState::done; }

void eval(ValueVector xs) {
  mx::eval(xs);
  bury_waiting_nodes();
}

void eval_for(ValueVector xs, uint32_t timeout_ms) {
  const bool done = mx::eval(xs, timeout_ms);
  bury_waiting_nodes();
  if (!done) fail(MX_ERROR_TIMEOUT, "eval_for: not done after %u ms", timeout_ms);
}

void async_eval(ValueVector xs) {
  for (const Value &x : xs)
    if (is_tracer(x))
      fail(MX_ERROR_TRACE, "async_eval: not possible inside a transform for what derives from its arguments; use eval");
  start(xs);
  bury_waiting_nodes();
}

void eval_inline(bool *done_out, ValueVector xs) { *done_out = start_if_small(xs); }

void wait(Value x, uint32_t timeout_ms) {
  const bool done = mx::wait(x, timeout_ms);
  bury_waiting_nodes();
  if (!done) fail(MX_ERROR_TIMEOUT, "wait: not done after %u ms", timeout_ms);
}

void array_read(void *data, size_t n_bytes, Value x) { read(data, n_bytes, x); }
void array_item(mx_scalar *value_out, Value x) { *value_out = item(x); }

Ref<Pin> array_pin(mx_view *view_out, Value x) {
  Ref<Pin> pinned = mx::pin(x);
  describe(view_out, *pinned);
  return pinned;
}

Ref<Pin> array_try_pin(mx_view *view_out, Value x) {
  if (x.node->state() != NodeState::done) fail(MX_ERROR_TIMEOUT, "array_try_pin: the array has no value yet");
  return array_pin(view_out, x);
}

}  // namespace mx::capi
