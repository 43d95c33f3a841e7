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

Ref<Array> arange(mx_scalar start, mx_scalar stop, mx_scalar step, mx_dtype dtype, Stream *stream) {
  return wrap(ops::arange(start, stop, step, to_dtype(dtype), share(stream)));
}

Ref<Array> linspace(mx_scalar start, mx_scalar stop, int64_t n, bool endpoint, mx_dtype dtype, Stream *stream) {
  return wrap(ops::linspace(start, stop, n, endpoint, to_dtype(dtype), share(stream)));
}

Ref<Array> full(const int64_t *shape, size_t n_shape, Array &value, mx_dtype dtype, Stream *stream) {
  return wrap(ops::full(list(shape, n_shape), value.value(), to_dtype(dtype), share(stream)));
}

Ref<Array> full_like(Array &a, Array &value, mx_dtype dtype, Stream *stream) {
  return wrap(ops::full_like(a.value(), value.value(), to_dtype(dtype), share(stream)));
}

Ref<Array> zeros(const int64_t *shape, size_t n_shape, mx_dtype dtype, Stream *stream) {
  return wrap(ops::zeros(list(shape, n_shape), to_dtype(dtype), share(stream)));
}

Ref<Array> ones(const int64_t *shape, size_t n_shape, mx_dtype dtype, Stream *stream) {
  return wrap(ops::ones(list(shape, n_shape), to_dtype(dtype), share(stream)));
}

Ref<Array> zeros_like(Array &a, mx_dtype dtype, Stream *stream) {
  return wrap(ops::zeros_like(a.value(), to_dtype(dtype), share(stream)));
}

Ref<Array> ones_like(Array &a, mx_dtype dtype, Stream *stream) {
  return wrap(ops::ones_like(a.value(), to_dtype(dtype), share(stream)));
}

Ref<Array> eye(int64_t n, int64_t m, int64_t k, mx_dtype dtype, Stream *stream) {
  return wrap(ops::eye(n, m, k, to_dtype(dtype), share(stream)));
}

Ref<Array> identity(int64_t n, mx_dtype dtype, Stream *stream) {
  return wrap(ops::eye(n, n, 0, to_dtype(dtype), share(stream)));
}

Ref<Array> tri(int64_t n, int64_t m, int64_t k, mx_dtype dtype, Stream *stream) {
  return wrap(ops::tri(n, m, k, to_dtype(dtype), share(stream)));
}

Ref<Array> tril(Array &a, int64_t k, Stream *stream) { return wrap(ops::tril(a.value(), k, share(stream))); }
Ref<Array> triu(Array &a, int64_t k, Stream *stream) { return wrap(ops::triu(a.value(), k, share(stream))); }

ArrayList meshgrid(std::span<Array *const> xs, bool sparse, bool ij, Stream *stream) {
  return wrap_all(ops::meshgrid(span(values(xs)), sparse, ij, share(stream)));
}

Ref<Array> bartlett(int64_t n, Stream *stream) { return wrap(ops::bartlett(n, share(stream))); }
Ref<Array> hanning(int64_t n, Stream *stream) { return wrap(ops::hanning(n, share(stream))); }
Ref<Array> hamming(int64_t n, Stream *stream) { return wrap(ops::hamming(n, share(stream))); }
Ref<Array> blackman(int64_t n, Stream *stream) { return wrap(ops::blackman(n, share(stream))); }

Ref<Array> astype(Array &a, mx_dtype dtype, Stream *stream) {
  return wrap(ops::astype(a.value(), to_dtype(dtype), share(stream)));
}

Ref<Array> view_dtype(Array &a, mx_dtype dtype, Stream *stream) {
  return wrap(ops::view_dtype(a.value(), to_dtype(dtype), share(stream)));
}

Ref<Array> contiguous(Array &a, bool col_major, Stream *stream) {
  return wrap(ops::contiguous(a.value(), col_major, share(stream)));
}

Ref<Array> as_strided(Array &a, const int64_t *shape, size_t n_shape, const int64_t *strides, size_t n_strides,
                      int64_t offset, Stream *stream) {
  return wrap(ops::as_strided(a.value(), list(shape, n_shape), list(strides, n_strides), offset, share(stream)));
}

Ref<Array> copy(Array &a, Stream *stream) { return wrap(ops::copy(a.value(), share(stream))); }

Ref<Array> reshape(Array &a, const int64_t *shape, size_t n_shape, Stream *stream) {
  return wrap(ops::reshape(a.value(), list(shape, n_shape), share(stream)));
}

Ref<Array> flatten(Array &a, int64_t start_axis, int64_t end_axis, Stream *stream) {
  return wrap(ops::flatten(a.value(), start_axis, end_axis, share(stream)));
}

Ref<Array> unflatten(Array &a, int64_t axis, const int64_t *shape, size_t n_shape, Stream *stream) {
  return wrap(ops::unflatten(a.value(), axis, list(shape, n_shape), share(stream)));
}

Ref<Array> squeeze(Array &a, const int64_t *axes, size_t n_axes, Stream *stream) {
  return wrap(ops::squeeze(a.value(), optional_list(axes, n_axes), share(stream)));
}

Ref<Array> expand_dims(Array &a, const int64_t *axes, size_t n_axes, Stream *stream) {
  return wrap(ops::expand_dims(a.value(), list(axes, n_axes), share(stream)));
}

Ref<Array> transpose(Array &a, const int64_t *axes, size_t n_axes, Stream *stream) {
  return wrap(ops::transpose(a.value(), optional_list(axes, n_axes), share(stream)));
}

Ref<Array> moveaxis(Array &a, int64_t source, int64_t destination, Stream *stream) {
  return wrap(ops::moveaxis(a.value(), source, destination, share(stream)));
}

Ref<Array> swapaxes(Array &a, int64_t axis1, int64_t axis2, Stream *stream) {
  return wrap(ops::swapaxes(a.value(), axis1, axis2, share(stream)));
}

Ref<Array> flip(Array &a, const int64_t *axes, size_t n_axes, Stream *stream) {
  return wrap(ops::flip(a.value(), optional_list(axes, n_axes), share(stream)));
}

Ref<Array> broadcast_to(Array &a, const int64_t *shape, size_t n_shape, Stream *stream) {
  return wrap(ops::broadcast_to(a.value(), list(shape, n_shape), share(stream)));
}

ArrayList broadcast_arrays(std::span<Array *const> xs, Stream *stream) {
  return wrap_all(ops::broadcast_arrays(span(values(xs)), share(stream)));
}

ArrayList split(Array &a, const int64_t *indices, size_t n_indices, int64_t axis, Stream *stream) {
  return wrap_all(ops::split(a.value(), list(indices, n_indices), axis, share(stream)));
}

ArrayList split_equal(Array &a, int64_t sections, int64_t axis, Stream *stream) {
  return wrap_all(ops::split_equal(a.value(), sections, axis, share(stream)));
}

ArrayList unstack(Array &a, int64_t axis, Stream *stream) {
  return wrap_all(ops::unstack(a.value(), axis, share(stream)));
}

Ref<Array> concatenate(std::span<Array *const> xs, int64_t axis, Stream *stream) {
  return wrap(ops::concatenate(span(values(xs)), axis, share(stream)));
}

Ref<Array> stack(std::span<Array *const> xs, int64_t axis, Stream *stream) {
  return wrap(ops::stack(span(values(xs)), axis, share(stream)));
}

Ref<Array> repeat(Array &a, int64_t repeats, int64_t axis, Stream *stream) {
  return wrap(ops::repeat(a.value(), repeats, axis, share(stream)));
}

Ref<Array> tile(Array &a, const int64_t *reps, size_t n_reps, Stream *stream) {
  return wrap(ops::tile(a.value(), list(reps, n_reps), share(stream)));
}

Ref<Array> pad(Array &a, const int64_t *axes, size_t n_axes, const int64_t *low, size_t n_low, const int64_t *high,
               size_t n_high, mx_pad_mode mode, Array &value, Stream *stream) {
  return wrap(ops::pad(a.value(), list(axes, n_axes), list(low, n_low), list(high, n_high), mode, value.value(),
                       share(stream)));
}

Ref<Array> roll(Array &a, const int64_t *shifts, size_t n_shifts, const int64_t *axes, size_t n_axes, Stream *stream) {
  return wrap(ops::roll(a.value(), list(shifts, n_shifts), optional_list(axes, n_axes), share(stream)));
}

Ref<Array> atleast_1d(Array &a, Stream *stream) { return wrap(ops::atleast(a.value(), 1, share(stream))); }
Ref<Array> atleast_2d(Array &a, Stream *stream) { return wrap(ops::atleast(a.value(), 2, share(stream))); }
Ref<Array> atleast_3d(Array &a, Stream *stream) { return wrap(ops::atleast(a.value(), 3, share(stream))); }

Ref<Array> diagonal(Array &a, int64_t offset, int64_t axis1, int64_t axis2, Stream *stream) {
  return wrap(ops::diagonal(a.value(), offset, axis1, axis2, share(stream)));
}

Ref<Array> diag(Array &a, int64_t k, Stream *stream) { return wrap(ops::diag(a.value(), k, share(stream))); }

ArrayList depends(std::span<Array *const> xs, std::span<Array *const> deps, Stream *stream) {
  return wrap_all(ops::depends(span(values(xs)), span(values(deps)), share(stream)));
}

Ref<Array> number_of_elements(Array &a, const int64_t *axes, size_t n_axes, bool inverted, mx_dtype dtype,
                              Stream *stream) {
  return wrap(
      ops::number_of_elements(a.value(), optional_list(axes, n_axes), inverted, to_dtype(dtype), share(stream)));
}

Ref<Array> slice(Array &a, const int64_t *start, size_t n_start, const int64_t *stop, size_t n_stop,
                 const int64_t *step, size_t n_step, Stream *stream) {
  return wrap(ops::slice(a.value(), list(start, n_start), list(stop, n_stop), list(step, n_step), share(stream)));
}

Ref<Array> slice_update(Array &a, Array &update, const int64_t *start, size_t n_start, const int64_t *stop,
                        size_t n_stop, const int64_t *step, size_t n_step, mx_update_mode mode, Stream *stream) {
  return wrap(ops::slice_update(a.value(), update.value(), list(start, n_start), list(stop, n_stop), list(step, n_step),
                                scatter_mode(mode), share(stream)));
}

Ref<Array> dynamic_slice(Array &a, Array &start, const int64_t *axes, size_t n_axes, const int64_t *sizes,
                         size_t n_sizes, Stream *stream) {
  return wrap(ops::dynamic_slice(a.value(), start.value(), list(axes, n_axes), list(sizes, n_sizes), share(stream)));
}

Ref<Array> dynamic_slice_update(Array &a, Array &update, Array &start, const int64_t *axes, size_t n_axes,
                                Stream *stream) {
  return wrap(ops::dynamic_slice_update(a.value(), update.value(), start.value(), list(axes, n_axes), share(stream)));
}

Ref<Array> take(Array &a, Array &indices, int64_t axis, Stream *stream) {
  return wrap(ops::take(a.value(), indices.value(), axis, share(stream)));
}

Ref<Array> take_along_axis(Array &a, Array &indices, int64_t axis, Stream *stream) {
  return wrap(ops::take_along_axis(a.value(), indices.value(), axis, share(stream)));
}

Ref<Array> put_along_axis(Array &a, Array &indices, Array &values, int64_t axis, Stream *stream) {
  return wrap(
      ops::scatter_along_axis(a.value(), indices.value(), values.value(), axis, ScatterMode::assign, share(stream)));
}

Ref<Array> scatter_along_axis(Array &a, Array &indices, Array &values, int64_t axis, mx_update_mode mode,
                              Stream *stream) {
  return wrap(
      ops::scatter_along_axis(a.value(), indices.value(), values.value(), axis, scatter_mode(mode), share(stream)));
}

Ref<Array> gather(Array &a, std::span<Array *const> indices, const int64_t *axes, size_t n_axes, const int64_t *sizes,
                  size_t n_sizes, Stream *stream) {
  return wrap(ops::gather(a.value(), span(values(indices)), list(axes, n_axes), list(sizes, n_sizes), share(stream)));
}

Ref<Array> scatter(Array &a, std::span<Array *const> indices, Array &updates, const int64_t *axes, size_t n_axes,
                   mx_update_mode mode, Stream *stream) {
  return wrap(ops::scatter(a.value(), span(values(indices)), updates.value(), list(axes, n_axes), scatter_mode(mode),
                           share(stream)));
}

Ref<Array> masked_scatter(Array &a, Array &mask, Array &values, Stream *stream) {
  return wrap(ops::masked_scatter(a.value(), mask.value(), values.value(), share(stream)));
}

}  // namespace mx::capi
