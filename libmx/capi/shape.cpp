// mx/shape.h: making arrays, shape and layout, indexing.
#include "ops/shape.hpp"

#include "capi/convert.hpp"
#include "ops/create.hpp"
#include "ops/index.hpp"
#include "ops/unary.hpp"

namespace mx::capi {
namespace {

ScatterMode scatter_mode(mx_update_mode mode) noexcept { return static_cast<ScatterMode>(mode); }  // checked by infer

}  // namespace

Value arange(mx_scalar start, mx_scalar stop, mx_scalar step, mx_dtype dtype, Stream *stream) {
  return ops::arange(start, stop, step, to_dtype(dtype), share(stream));
}

Value linspace(mx_scalar start, mx_scalar stop, int64_t n, bool endpoint, mx_dtype dtype, Stream *stream) {
  return ops::linspace(start, stop, n, endpoint, to_dtype(dtype), share(stream));
}

Value full(const int64_t *shape, size_t n_shape, Value value, mx_dtype dtype, Stream *stream) {
  return ops::full(list(shape, n_shape), value, to_dtype(dtype), share(stream));
}

Value full_like(Value a, Value value, mx_dtype dtype, Stream *stream) {
  return ops::full_like(a, value, to_dtype(dtype), share(stream));
}

Value zeros(const int64_t *shape, size_t n_shape, mx_dtype dtype, Stream *stream) {
  return ops::zeros(list(shape, n_shape), to_dtype(dtype), share(stream));
}

Value ones(const int64_t *shape, size_t n_shape, mx_dtype dtype, Stream *stream) {
  return ops::ones(list(shape, n_shape), to_dtype(dtype), share(stream));
}

Value zeros_like(Value a, mx_dtype dtype, Stream *stream) { return ops::zeros_like(a, to_dtype(dtype), share(stream)); }

Value ones_like(Value a, mx_dtype dtype, Stream *stream) { return ops::ones_like(a, to_dtype(dtype), share(stream)); }

Value eye(int64_t n, int64_t m, int64_t k, mx_dtype dtype, Stream *stream) {
  return ops::eye(n, m, k, to_dtype(dtype), share(stream));
}

Value identity(int64_t n, mx_dtype dtype, Stream *stream) { return ops::eye(n, n, 0, to_dtype(dtype), share(stream)); }

Value tri(int64_t n, int64_t m, int64_t k, mx_dtype dtype, Stream *stream) {
  return ops::tri(n, m, k, to_dtype(dtype), share(stream));
}

Value tril(Value a, int64_t k, Stream *stream) { return ops::tril(a, k, share(stream)); }
Value triu(Value a, int64_t k, Stream *stream) { return ops::triu(a, k, share(stream)); }

ValueVector meshgrid(ValueVector xs, bool sparse, bool ij, Stream *stream) {
  return ops::meshgrid(xs, sparse, ij, share(stream));
}

Value bartlett(int64_t n, Stream *stream) { return ops::bartlett(n, share(stream)); }
Value hanning(int64_t n, Stream *stream) { return ops::hanning(n, share(stream)); }
Value hamming(int64_t n, Stream *stream) { return ops::hamming(n, share(stream)); }
Value blackman(int64_t n, Stream *stream) { return ops::blackman(n, share(stream)); }

Value astype(Value a, mx_dtype dtype, Stream *stream) { return ops::astype(a, to_dtype(dtype), share(stream)); }

Value view_dtype(Value a, mx_dtype dtype, Stream *stream) { return ops::view_dtype(a, to_dtype(dtype), share(stream)); }

Value contiguous(Value a, bool col_major, Stream *stream) { return ops::contiguous(a, col_major, share(stream)); }

Value as_strided(Value a, const int64_t *shape, size_t n_shape, const int64_t *strides, size_t n_strides,
                 int64_t offset, Stream *stream) {
  return ops::as_strided(a, list(shape, n_shape), list(strides, n_strides), offset, share(stream));
}

Value copy(Value a, Stream *stream) { return ops::copy(a, share(stream)); }

Value reshape(Value a, const int64_t *shape, size_t n_shape, Stream *stream) {
  return ops::reshape(a, list(shape, n_shape), share(stream));
}

Value flatten(Value a, int64_t start_axis, int64_t end_axis, Stream *stream) {
  return ops::flatten(a, start_axis, end_axis, share(stream));
}

Value unflatten(Value a, int64_t axis, const int64_t *shape, size_t n_shape, Stream *stream) {
  return ops::unflatten(a, axis, list(shape, n_shape), share(stream));
}

Value squeeze(Value a, const int64_t *axes, size_t n_axes, Stream *stream) {
  return ops::squeeze(a, optional_list(axes, n_axes), share(stream));
}

Value expand_dims(Value a, const int64_t *axes, size_t n_axes, Stream *stream) {
  return ops::expand_dims(a, list(axes, n_axes), share(stream));
}

Value transpose(Value a, const int64_t *axes, size_t n_axes, Stream *stream) {
  return ops::transpose(a, optional_list(axes, n_axes), share(stream));
}

Value moveaxis(Value a, int64_t source, int64_t destination, Stream *stream) {
  return ops::moveaxis(a, source, destination, share(stream));
}

Value swapaxes(Value a, int64_t axis1, int64_t axis2, Stream *stream) {
  return ops::swapaxes(a, axis1, axis2, share(stream));
}

Value flip(Value a, const int64_t *axes, size_t n_axes, Stream *stream) {
  return ops::flip(a, optional_list(axes, n_axes), share(stream));
}

Value broadcast_to(Value a, const int64_t *shape, size_t n_shape, Stream *stream) {
  return ops::broadcast_to(a, list(shape, n_shape), share(stream));
}

ValueVector broadcast_arrays(ValueVector xs, Stream *stream) { return ops::broadcast_arrays(xs, share(stream)); }

ValueVector split(Value a, const int64_t *indices, size_t n_indices, int64_t axis, Stream *stream) {
  return ops::split(a, list(indices, n_indices), axis, share(stream));
}

ValueVector split_equal(Value a, int64_t sections, int64_t axis, Stream *stream) {
  return ops::split_equal(a, sections, axis, share(stream));
}

ValueVector unstack(Value a, int64_t axis, Stream *stream) { return ops::unstack(a, axis, share(stream)); }

Value concatenate(ValueVector xs, int64_t axis, Stream *stream) { return ops::concatenate(xs, axis, share(stream)); }

Value stack(ValueVector xs, int64_t axis, Stream *stream) { return ops::stack(xs, axis, share(stream)); }

Value repeat(Value a, int64_t repeats, int64_t axis, Stream *stream) {
  return ops::repeat(a, repeats, axis, share(stream));
}

Value tile(Value a, const int64_t *reps, size_t n_reps, Stream *stream) {
  return ops::tile(a, list(reps, n_reps), share(stream));
}

Value pad(Value a, const int64_t *axes, size_t n_axes, const int64_t *low, size_t n_low, const int64_t *high,
          size_t n_high, mx_pad_mode mode, Value value, Stream *stream) {
  return ops::pad(a, list(axes, n_axes), list(low, n_low), list(high, n_high), mode, value, share(stream));
}

Value roll(Value a, const int64_t *shifts, size_t n_shifts, const int64_t *axes, size_t n_axes, Stream *stream) {
  return ops::roll(a, list(shifts, n_shifts), optional_list(axes, n_axes), share(stream));
}

Value atleast_1d(Value a, Stream *stream) { return ops::atleast(a, 1, share(stream)); }
Value atleast_2d(Value a, Stream *stream) { return ops::atleast(a, 2, share(stream)); }
Value atleast_3d(Value a, Stream *stream) { return ops::atleast(a, 3, share(stream)); }

Value diagonal(Value a, int64_t offset, int64_t axis1, int64_t axis2, Stream *stream) {
  return ops::diagonal(a, offset, axis1, axis2, share(stream));
}

Value diag(Value a, int64_t k, Stream *stream) { return ops::diag(a, k, share(stream)); }

ValueVector depends(ValueVector xs, ValueVector deps, Stream *stream) { return ops::depends(xs, deps, share(stream)); }

Value number_of_elements(Value a, const int64_t *axes, size_t n_axes, bool inverted, mx_dtype dtype, Stream *stream) {
  return ops::number_of_elements(a, optional_list(axes, n_axes), inverted, to_dtype(dtype), share(stream));
}

Value slice(Value a, const int64_t *start, size_t n_start, const int64_t *stop, size_t n_stop, const int64_t *step,
            size_t n_step, Stream *stream) {
  return ops::slice(a, list(start, n_start), list(stop, n_stop), list(step, n_step), share(stream));
}

Value slice_update(Value a, Value update, const int64_t *start, size_t n_start, const int64_t *stop, size_t n_stop,
                   const int64_t *step, size_t n_step, mx_update_mode mode, Stream *stream) {
  return ops::slice_update(a, update, list(start, n_start), list(stop, n_stop), list(step, n_step), scatter_mode(mode),
                           share(stream));
}

Value dynamic_slice(Value a, Value start, const int64_t *axes, size_t n_axes, const int64_t *sizes, size_t n_sizes,
                    Stream *stream) {
  return ops::dynamic_slice(a, start, list(axes, n_axes), list(sizes, n_sizes), share(stream));
}

Value dynamic_slice_update(Value a, Value update, Value start, const int64_t *axes, size_t n_axes, Stream *stream) {
  return ops::dynamic_slice_update(a, update, start, list(axes, n_axes), share(stream));
}

Value take(Value a, Value indices, int64_t axis, Stream *stream) { return ops::take(a, indices, axis, share(stream)); }

Value take_along_axis(Value a, Value indices, int64_t axis, Stream *stream) {
  return ops::take_along_axis(a, indices, axis, share(stream));
}

Value put_along_axis(Value a, Value indices, Value values, int64_t axis, Stream *stream) {
  return ops::scatter_along_axis(a, indices, values, axis, ScatterMode::assign, share(stream));
}

Value scatter_along_axis(Value a, Value indices, Value values, int64_t axis, mx_update_mode mode, Stream *stream) {
  return ops::scatter_along_axis(a, indices, values, axis, scatter_mode(mode), share(stream));
}

Value gather(Value a, ValueVector indices, const int64_t *axes, size_t n_axes, const int64_t *sizes, size_t n_sizes,
             Stream *stream) {
  return ops::gather(a, indices, list(axes, n_axes), list(sizes, n_sizes), share(stream));
}

Value scatter(Value a, ValueVector indices, Value updates, const int64_t *axes, size_t n_axes, mx_update_mode mode,
              Stream *stream) {
  return ops::scatter(a, indices, updates, list(axes, n_axes), scatter_mode(mode), share(stream));
}

Value masked_scatter(Value a, Value mask, Value values, Stream *stream) {
  return ops::masked_scatter(a, mask, values, share(stream));
}

}  // namespace mx::capi
