/* mx/shape.h: making arrays, changing their shape and layout, indexing. The conventions are at the top of mx/ops.h.
 * Shape ops cost nothing where the memory layout allows it, else one copy.
 */
#ifndef MX_SHAPE_H
#define MX_SHAPE_H
#include "mx/ops.h"

MX_EXTERN_C_BEGIN

/* What mx_pad adds. */
typedef enum mx_pad_mode {
  MX_PAD_CONSTANT = 0, /* a value */
  MX_PAD_EDGE = 1,     /* the element at the edge */
  MX_PAD_REFLECT = 2,  /* mirrored at the edge element, which is not repeated */
  MX_PAD_SYMMETRIC = 3 /* mirrored at the edge itself */
} mx_pad_mode;

/* How an update meets what is there. */
typedef enum mx_update_mode {
  MX_UPDATE_ASSIGN = 0,
  MX_UPDATE_ADD = 1,
  MX_UPDATE_MULTIPLY = 2,
  MX_UPDATE_MAXIMUM = 3,
  MX_UPDATE_MINIMUM = 4
} mx_update_mode;

/* ---- making arrays */

/* 1-d: start, start + step, ... before stop; exact for integers. INVALID_ARGUMENT for step 0 or NaN, DTYPE for bool. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_arange(mx_array *out, mx_scalar start, mx_scalar stop, mx_scalar step,
                                              mx_dtype dtype, mx_stream MX_OPTIONAL stream);

/* 1-d: n evenly spaced numbers from start to stop, which is left out unless `endpoint`. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_linspace(mx_array *out, mx_scalar start, mx_scalar stop, int64_t n,
                                                bool endpoint, mx_dtype dtype, mx_stream MX_OPTIONAL stream);

/* `value`, broadcast to `shape`. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_full(mx_array *out, const int64_t *shape, size_t n_shape, mx_array value,
                                            mx_dtype dtype, mx_stream MX_OPTIONAL stream);

/* `value`, broadcast to the shape of a. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_full_like(mx_array *out, mx_array a, mx_array value, mx_dtype dtype,
                                                 mx_stream MX_OPTIONAL stream);

/* All 0. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_zeros(mx_array *out, const int64_t *shape, size_t n_shape, mx_dtype dtype,
                                             mx_stream MX_OPTIONAL stream);

/* All 1. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_ones(mx_array *out, const int64_t *shape, size_t n_shape, mx_dtype dtype,
                                            mx_stream MX_OPTIONAL stream);

/* All 0, in the shape of a. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_zeros_like(mx_array *out, mx_array a, mx_dtype dtype,
                                                  mx_stream MX_OPTIONAL stream);

/* All 1, in the shape of a. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_ones_like(mx_array *out, mx_array a, mx_dtype dtype,
                                                 mx_stream MX_OPTIONAL stream);

/* (n, m): 1 on the k-th diagonal (above the main one if positive), else 0. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_eye(mx_array *out, int64_t n, int64_t m, int64_t k, mx_dtype dtype,
                                           mx_stream MX_OPTIONAL stream);

/* (n, n): the identity matrix. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_identity(mx_array *out, int64_t n, mx_dtype dtype, mx_stream MX_OPTIONAL stream);

/* (n, m): 1 on and below the k-th diagonal, else 0. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_tri(mx_array *out, int64_t n, int64_t m, int64_t k, mx_dtype dtype,
                                           mx_stream MX_OPTIONAL stream);

/* The last two axes of a with 0 above the k-th diagonal. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_tril(mx_array *out, mx_array a, int64_t k, mx_stream MX_OPTIONAL stream);

/* The last two axes of a with 0 below the k-th diagonal. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_triu(mx_array *out, mx_array a, int64_t k, mx_stream MX_OPTIONAL stream);

/* Coordinate arrays of xs, which are flattened: each varies along its own axis; the first two axes are swapped
 * unless `ij`; `sparse` leaves the other axes at size 1. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_meshgrid(mx_array *outs, size_t cap, size_t *n_outs_out, const mx_array *xs,
                                                size_t n_xs, bool sparse, bool ij, mx_stream MX_OPTIONAL stream);

/* The triangular window of n points, float32: 1 - |2 i / (n - 1) - 1|. All windows: empty if n < 1, 1 if n is 1. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_bartlett(mx_array *out, int64_t n, mx_stream MX_OPTIONAL stream);

/* The Hann window, float32: 0.5 - 0.5 cos(2 pi i / (n - 1)). */
MX_API MX_NOWAIT MX_CHECK mx_status mx_hanning(mx_array *out, int64_t n, mx_stream MX_OPTIONAL stream);

/* The Hamming window, float32: 0.54 - 0.46 cos(2 pi i / (n - 1)). */
MX_API MX_NOWAIT MX_CHECK mx_status mx_hamming(mx_array *out, int64_t n, mx_stream MX_OPTIONAL stream);

/* The Blackman window, float32: 0.42 - 0.5 cos(2 pi i / (n - 1)) + 0.08 cos(4 pi i / (n - 1)). */
MX_API MX_NOWAIT MX_CHECK mx_status mx_blackman(mx_array *out, int64_t n, mx_stream MX_OPTIONAL stream);

/* ---- dtype and layout */

/* Converts every element: floats to integers towards zero, to bool by != 0, complex to real by its real part. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_astype(mx_array *out, mx_array a, mx_dtype dtype, mx_stream MX_OPTIONAL stream);

/* The same bytes as another dtype; the last axis scales with the item size. SHAPE if it does not divide, or a is 0-d
 * and the sizes differ. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_view_dtype(mx_array *out, mx_array a, mx_dtype dtype,
                                                  mx_stream MX_OPTIONAL stream);

/* Row-major in memory, copied if it is not; column-major will do if `col_major`. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_contiguous(mx_array *out, mx_array a, bool col_major,
                                                  mx_stream MX_OPTIONAL stream);

/* Elements at offset + sum(index * stride), counted in elements of a flattened row-major. SHAPE if that leaves a. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_as_strided(mx_array *out, mx_array a, const int64_t *shape, size_t n_shape,
                                                  const int64_t *strides, size_t n_strides, int64_t offset,
                                                  mx_stream MX_OPTIONAL stream);

/* A row-major copy. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_copy(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* ---- shape */

/* The row-major elements in another shape; one size may be -1: what is left. SHAPE if sizes differ. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_reshape(mx_array *out, mx_array a, const int64_t *shape, size_t n_shape,
                                               mx_stream MX_OPTIONAL stream);

/* Merges axes start_axis to end_axis (included); 0-d becomes 1-d. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_flatten(mx_array *out, mx_array a, int64_t start_axis, int64_t end_axis,
                                               mx_stream MX_OPTIONAL stream);

/* Replaces an axis by the axes `shape`, of which one may be -1. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_unflatten(mx_array *out, mx_array a, int64_t axis, const int64_t *shape,
                                                 size_t n_shape, mx_stream MX_OPTIONAL stream);

/* Removes axes of size 1, all of them if NULL. SHAPE if a given one has another size. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_squeeze(mx_array *out, mx_array a, const int64_t *MX_OPTIONAL axes,
                                               size_t n_axes, mx_stream MX_OPTIONAL stream);

/* Inserts axes of size 1 at these places of the result. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_expand_dims(mx_array *out, mx_array a, const int64_t *axes, size_t n_axes,
                                                   mx_stream MX_OPTIONAL stream);

/* Reorders the axes; NULL reverses them. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_transpose(mx_array *out, mx_array a, const int64_t *MX_OPTIONAL axes,
                                                 size_t n_axes, mx_stream MX_OPTIONAL stream);

/* Moves one axis to another place. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_moveaxis(mx_array *out, mx_array a, int64_t source, int64_t destination,
                                                mx_stream MX_OPTIONAL stream);

/* Swaps two axes. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_swapaxes(mx_array *out, mx_array a, int64_t axis1, int64_t axis2,
                                                mx_stream MX_OPTIONAL stream);

/* Reverses the order along axes. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_flip(mx_array *out, mx_array a, const int64_t *MX_OPTIONAL axes, size_t n_axes,
                                            mx_stream MX_OPTIONAL stream);

/* Repeats a along new and size 1 axes, without a copy; -1 keeps a size. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_broadcast_to(mx_array *out, mx_array a, const int64_t *shape, size_t n_shape,
                                                    mx_stream MX_OPTIONAL stream);

/* All xs, broadcast against each other. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_broadcast_arrays(mx_array *outs, size_t cap, size_t *n_outs_out,
                                                        const mx_array *xs, size_t n_xs, mx_stream MX_OPTIONAL stream);

/* Splits before each index along an axis: n_indices + 1 parts. Negative indices count from the end. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_split(mx_array *outs, size_t cap, size_t *n_outs_out, mx_array a,
                                             const int64_t *indices, size_t n_indices, int64_t axis,
                                             mx_stream MX_OPTIONAL stream);

/* Splits into `sections` equal parts along an axis. SHAPE if it does not divide, OVERFLOW for more than 2^20 parts. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_split_equal(mx_array *outs, size_t cap, size_t *n_outs_out, mx_array a,
                                                   int64_t sections, int64_t axis, mx_stream MX_OPTIONAL stream);

/* One array per index along an axis, without that axis. OVERFLOW for more than 2^20. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_unstack(mx_array *outs, size_t cap, size_t *n_outs_out, mx_array a, int64_t axis,
                                               mx_stream MX_OPTIONAL stream);

/* Joins arrays along an existing axis; MX_NO_AXIS joins the flattened arrays. INVALID_ARGUMENT for none. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_concatenate(mx_array *out, const mx_array *xs, size_t n_xs, int64_t axis,
                                                   mx_stream MX_OPTIONAL stream);

/* Joins arrays of one shape along a new axis. INVALID_ARGUMENT for none. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_stack(mx_array *out, const mx_array *xs, size_t n_xs, int64_t axis,
                                             mx_stream MX_OPTIONAL stream);

/* Repeats every element `repeats` times along an axis. MX_NO_AXIS allowed. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_repeat(mx_array *out, mx_array a, int64_t repeats, int64_t axis,
                                              mx_stream MX_OPTIONAL stream);

/* Repeats the whole array along every axis; missing leading reps and axes count as 1. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_tile(mx_array *out, mx_array a, const int64_t *reps, size_t n_reps,
                                            mx_stream MX_OPTIONAL stream);

/* Adds low[i] elements before and high[i] after along axes[i]; `value` (0-d) is used by MX_PAD_CONSTANT only.
 * INVALID_ARGUMENT for negative widths, SHAPE when there is nothing to repeat. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_pad(mx_array *out, mx_array a, const int64_t *axes, size_t n_axes,
                                           const int64_t *low, size_t n_low, const int64_t *high, size_t n_high,
                                           mx_pad_mode mode, mx_array value, mx_stream MX_OPTIONAL stream);

/* Moves elements along axes, those that leave come back at the other end. NULL axes roll the flattened array by the
 * sum of the shifts; one shift serves several axes, several shifts of one axis add up. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_roll(mx_array *out, mx_array a, const int64_t *shifts, size_t n_shifts,
                                            const int64_t *MX_OPTIONAL axes, size_t n_axes,
                                            mx_stream MX_OPTIONAL stream);

/* At least 1 axis. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_atleast_1d(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* At least 2 axes: (n) becomes (1, n). */
MX_API MX_NOWAIT MX_CHECK mx_status mx_atleast_2d(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* At least 3 axes: (n) becomes (1, n, 1), (n, m) becomes (n, m, 1). */
MX_API MX_NOWAIT MX_CHECK mx_status mx_atleast_3d(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The diagonal of two axes, as the last axis of the result. SHAPE for fewer than 2 axes. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_diagonal(mx_array *out, mx_array a, int64_t offset, int64_t axis1, int64_t axis2,
                                                mx_stream MX_OPTIONAL stream);

/* Of a 1-d array the matrix with it on the k-th diagonal, of a matrix its k-th diagonal. SHAPE else. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_diag(mx_array *out, mx_array a, int64_t k, mx_stream MX_OPTIONAL stream);

/* The xs, computed only after all deps are. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_depends(mx_array *outs, size_t cap, size_t *n_outs_out, const mx_array *xs,
                                               size_t n_xs, const mx_array *deps, size_t n_deps,
                                               mx_stream MX_OPTIONAL stream);

/* 0-d: the product of the sizes of axes, or 1 over it; follows the shape when a compiled function is replayed. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_number_of_elements(mx_array *out, mx_array a, const int64_t *MX_OPTIONAL axes,
                                                          size_t n_axes, bool inverted, mx_dtype dtype,
                                                          mx_stream MX_OPTIONAL stream);

/* ---- indexing */

/* a[start:stop:step] for every axis by Python's rules, a view; stop INT64_MIN with a negative step goes through the
 * first element. INVALID_ARGUMENT for step 0, SHAPE unless there is one triple per axis. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_slice(mx_array *out, mx_array a, const int64_t *start, size_t n_start,
                                             const int64_t *stop, size_t n_stop, const int64_t *step, size_t n_step,
                                             mx_stream MX_OPTIONAL stream);

/* a with `update`, broadcast and cast, combined into a[start:stop:step]. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_slice_update(mx_array *out, mx_array a, mx_array update, const int64_t *start,
                                                    size_t n_start, const int64_t *stop, size_t n_stop,
                                                    const int64_t *step, size_t n_step, mx_update_mode mode,
                                                    mx_stream MX_OPTIONAL stream);

/* The slice of shape `sizes` (one per axis of a) whose place along `axes` is in the 1-d integer `start`, moved to
 * fit into a. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_dynamic_slice(mx_array *out, mx_array a, mx_array start, const int64_t *axes,
                                                     size_t n_axes, const int64_t *sizes, size_t n_sizes,
                                                     mx_stream MX_OPTIONAL stream);

/* a with `update`, cast, written where mx_dynamic_slice would read. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_dynamic_slice_update(mx_array *out, mx_array a, mx_array update, mx_array start,
                                                            const int64_t *axes, size_t n_axes,
                                                            mx_stream MX_OPTIONAL stream);

/* a[..., indices, ...] along an axis; negative indices count from the end. MX_NO_AXIS allowed. DTYPE unless
 * integers. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_take(mx_array *out, mx_array a, mx_array indices, int64_t axis,
                                            mx_stream MX_OPTIONAL stream);

/* Per position of `indices`, which has a's rank and broadcasts elsewhere, the element along an axis. MX_NO_AXIS
 * allowed. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_take_along_axis(mx_array *out, mx_array a, mx_array indices, int64_t axis,
                                                       mx_stream MX_OPTIONAL stream);

/* a with `values` written where mx_take_along_axis would read. MX_NO_AXIS allowed. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_put_along_axis(mx_array *out, mx_array a, mx_array indices, mx_array values,
                                                      int64_t axis, mx_stream MX_OPTIONAL stream);

/* As mx_put_along_axis, combined by `mode`; equal indices combine in an order that is fixed. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_scatter_along_axis(mx_array *out, mx_array a, mx_array indices, mx_array values,
                                                          int64_t axis, mx_update_mode mode,
                                                          mx_stream MX_OPTIONAL stream);

/* For every position of the indices broadcast together, one per axis in `axes`, the slice of shape `sizes` (one per
 * axis of a) that starts there: shape (indices..., sizes...). DTYPE unless integers. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_gather(mx_array *out, mx_array a, const mx_array *indices, size_t n_indices,
                                              const int64_t *axes, size_t n_axes, const int64_t *sizes, size_t n_sizes,
                                              mx_stream MX_OPTIONAL stream);

/* a with `updates` of shape (indices..., slice of a's rank) combined into the slices that mx_gather would read; in
 * order where indices meet. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_scatter(mx_array *out, mx_array a, const mx_array *indices, size_t n_indices,
                                               mx_array updates, const int64_t *axes, size_t n_axes,
                                               mx_update_mode mode, mx_stream MX_OPTIONAL stream);

/* a with the flattened `values` written in order where `mask` (bool, over a's leading axes) is true; 0 once they run
 * out. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_masked_scatter(mx_array *out, mx_array a, mx_array mask, mx_array values,
                                                      mx_stream MX_OPTIONAL stream);

MX_EXTERN_C_END
#endif
