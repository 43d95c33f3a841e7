/* mx/device.h: devices, streams and events. */
#ifndef MX_DEVICE_H
#define MX_DEVICE_H
#include "mx/base.h"

MX_EXTERN_C_BEGIN

/* The kinds of devices. */
typedef enum mx_device_type { MX_CPU = 0, MX_GPU = 1 } mx_device_type;

/* An ordered queue of work, valid on every thread. Not a thread: cheap to make. Thread-safety: share freely. */
MX_HANDLE(mx_stream);

/* The number of devices of a kind. */
MX_API MX_NOWAIT int32_t mx_device_count(mx_device_type type);

/* The device that ops run on when no stream is given: the calling thread's, else the process's. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_default_device(mx_device_type *type_out, int32_t *index_out);

/* Sets the process's default device. INVALID_ARGUMENT if there is none such. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_set_default_device(mx_device_type type, int32_t index);

/* Makes a new stream on a device. CLOSING or CLOSED when the runtime is not running. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_stream_new(mx_stream *out, mx_device_type type, int32_t index);

/* The calling thread's default stream on a device. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_default_stream(mx_stream *out, mx_device_type type, int32_t index);

/* Makes `stream` the calling thread's default on its device, and its device the thread's default device. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_set_default_stream(mx_stream x);

/* Makes a second owner of the same stream. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_stream_dup(mx_stream *out, mx_stream x);

/* Closes the handle; work that was submitted goes on. */
MX_API MX_NOWAIT mx_status mx_stream_free(mx_stream x);

/* The device of a stream and a number that tells it from all others of the process. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_stream_info(mx_device_type *type_out, int32_t *device_index_out,
                                                   uint32_t *index_out, mx_stream x);

/* Waits until all work submitted to `stream` before this call is done, or to every stream if NULL. TIMEOUT after
 * timeout_ms (UINT32_MAX: never). Returns the first failure of that work which no synchronize has returned yet. */
MX_API MX_CHECK mx_status mx_synchronize(mx_stream MX_OPTIONAL x, uint32_t timeout_ms);

MX_EXTERN_C_END
#endif
