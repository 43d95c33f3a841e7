/* mx/array.h: arrays: making, looking at, evaluating and reading them. */
#ifndef MX_ARRAY_H
#define MX_ARRAY_H
#include "mx/device.h"
#include "mx/dtype.h"
#include "mx/runtime.h"

MX_EXTERN_C_BEGIN

/* A lazily evaluated n-dimensional array. Thread-safety: share freely. */
MX_HANDLE(mx_array);

/* Keeps the memory behind an mx_view alive and unchanged. Thread-safety: share freely. */
MX_HANDLE(mx_pin);

/* The most dimensions an array can have. Each has at most INT32_MAX elements (else OVERFLOW). */
enum { MX_MAX_DIMS = 32 };

/* Readable memory, valid while its pin is open. Strides are in bytes and may be 0 or negative. Where `read_only`, the
 * memory was given to the library as such (mx_array_borrow, a mapped file), so that writing there may crash, or
 * elements may lie in the same place (mx_broadcast_to). */
typedef struct mx_view {
  const void *data;
  mx_dtype dtype;
  uint32_t itemsize;
  uint32_t n_dims;
  bool read_only;
  int64_t dims[MX_MAX_DIMS];
  int64_t strides[MX_MAX_DIMS];
} mx_view;

/* Copies row-major `data` of exactly the array's size into a new array. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_array_new(mx_array *out, const void *data, size_t n_bytes, const int64_t *dims,
                                                 size_t n_dims, mx_dtype dtype);

/* Copies strided host memory into a new row-major array; `strides` in bytes. */
MX_API MX_CHECK mx_status mx_array_new_strided(mx_array *out, const void *data, const int64_t *dims, size_t n_dims,
                                               const int64_t *strides, size_t n_strides, mx_dtype dtype);

/* Makes an array on the host's own memory, without a copy: the host keeps it alive and unchanged until `token` comes
 * out of the client's release queue (mx_client_released). `strides` in bytes. The library only reads it; `read_only`
 * says whether hosts that pin the array or a view of it must do the same. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_array_borrow(mx_array *out, const void *data, const int64_t *dims, size_t n_dims,
                                                    const int64_t *strides, size_t n_strides, mx_dtype dtype,
                                                    bool read_only, mx_client client, uint64_t token);

/* As mx_array_borrow for C hosts: destroy(payload) runs once, on whichever thread drops the last reference. */
MX_API MX_CHECK mx_status mx_array_borrow_with(mx_array *out, const void *data, const int64_t *dims, size_t n_dims,
                                               const int64_t *strides, size_t n_strides, mx_dtype dtype, bool read_only,
                                               void (*destroy)(void *), void *payload);

/* A 0-d array of `value` as `dtype`. OVERFLOW if an integer does not fit. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_array_scalar(mx_array *out, mx_scalar value, mx_dtype dtype);

/* A 0-d array of `value` with the dtype that a host scalar takes beside an array of dtype `beside` (weak promotion). */
MX_API MX_NOWAIT MX_CHECK mx_status mx_array_scalar_weak(mx_array *out, mx_scalar value, mx_dtype beside);

/* Makes a second owner of the same array. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_array_dup(mx_array *out, mx_array x);

/* Closes the handle. */
MX_API MX_NOWAIT mx_status mx_array_free(mx_array x);

/* Makes the handle `x` stand for what `value` stands for, atomically: how hosts update in place. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_array_assign(mx_array x, mx_array value);

/* Copies the shape to `dims`; needs `cap` >= the number of dimensions. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_array_shape(int64_t *dims, size_t cap, size_t *n_dims_out, mx_array x);

/* The element type. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_array_dtype(mx_dtype *out, mx_array x);

/* The number of dimensions. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_array_ndim(size_t *n_out, mx_array x);

/* The number of elements. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_array_size(size_t *n_out, mx_array x);

/* Whether two handles stand for the same value: the same output of one computation, not equal elements. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_array_same(bool *same_out, mx_array a, mx_array b);

/* True while `x` derives from a placeholder or tracer of a trace or transform that is open on this thread. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_array_is_tracer(bool *is_tracer_out, mx_array x);

/* True once `x` has a value: nothing is left to compute and no failure was stored. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_array_is_ready(bool *is_ready_out, mx_array x);

/* Computes the arrays and waits. Returns the first failure among them. */
MX_API MX_CHECK mx_status mx_eval(const mx_array *xs, size_t n_xs);

/* Starts computing the arrays. TRACE for those that derive from an argument of a transform that is open on this thread.
 */
MX_API MX_CHECK mx_status mx_async_eval(const mx_array *xs, size_t n_xs);

/* As mx_eval, but TIMEOUT after timeout_ms; what was started goes on. */
MX_API MX_CHECK mx_status mx_eval_for(const mx_array *xs, size_t n_xs, uint32_t timeout_ms);

/* Computes the arrays on this thread if that takes at most about 20 us and nothing must be waited for: *done_out. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_eval_inline(bool *done_out, const mx_array *xs, size_t n_xs);

/* Waits for work that was started; TIMEOUT after timeout_ms. Starts it if need be. While the pool has no threads the
 * waiting one does the work, one kernel at least, and looks at the time after each: ask again and it goes on. */
MX_API MX_CHECK mx_status mx_wait(mx_array x, uint32_t timeout_ms);

/* Copies the elements, row-major, to `data`; `n_bytes` must be their exact size. Forces evaluation. */
MX_API MX_CHECK mx_status mx_array_read(void *data, size_t n_bytes, mx_array x);

/* The only element of an array of size 1. Forces evaluation. */
MX_API MX_CHECK mx_status mx_array_item(mx_scalar *value_out, mx_array x);

/* Pins the memory of `x` and describes it. Forces evaluation. */
MX_API MX_CHECK mx_status mx_array_pin(mx_pin *out, mx_view *view_out, mx_array x);

/* As mx_array_pin if `x` has its value already, else TIMEOUT. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_array_try_pin(mx_pin *out, mx_view *view_out, mx_array x);

/* Ends the pin. */
MX_API MX_NOWAIT mx_status mx_pin_free(mx_pin x);

MX_EXTERN_C_END
#endif
