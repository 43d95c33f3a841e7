/* mx/base.h: status codes, handles and version. The rules of the whole C ABI are written here, once.
 *
 *  1. Names: mx_, object first, snake case. Enum values are MX_THING_VALUE. Fixed-width integers, size_t, double, bool.
 *  2. A function that can fail returns mx_status and takes its out-parameters first; they are untouched on failure.
 *     Arrays of arguments come with their count: `const T *xs, size_t n_xs`. The stream is the last parameter of every
 *     op; NULL is the calling thread's default stream.
 *  3. Handles are opaque values in pointer-typed clothing: never dereference one. Who receives one through `out`
 *     owns it and closes it once with mx_<type>_free; mx_<type>_dup makes a second owner. Freeing NULL is fine,
 *     freeing twice is MX_ERROR_HANDLE. Freeing is legal in every state of the runtime and on every thread, and never
 *     waits.
 *  4. Arguments are borrowed for the call. No pointer into an object is ever returned: getters copy out, data is read
 *     through a pin (mx/array.h).
 *  5. Errors: a status, and mx_error_message() for the words. Nothing here prints, exits or aborts. A failure of
 *     asynchronous work is reported by every eval, wait or data access that depends on it.
 *  6. Callbacks are `fn, payload, destroy`, in that order. destroy(payload) runs exactly once, with no lock of the
 *     library held, also when the registration fails.
 *  7. Everything may be called from any thread at any time, unless the type says otherwise above its declaration.
 *  8. Option structs start with `uint32_t size` (sizeof of the struct); what is beyond `size`, and zero, is
 *     the default.
 *  9. Nothing is stable before 1.0: the soname carries major.minor.
 * 10. MX_NOWAIT marks a function that never waits and is short: bindings may call it with an interpreter lock held.
 */
#ifndef MX_BASE_H
#define MX_BASE_H

/* Tools and bindings read this header with MX_CFFI defined: no includes, no attributes, handles are integers. */
#ifdef MX_CFFI
#define MX_API
#define MX_CHECK
#define MX_HANDLE(name) typedef uint64_t name
#define MX_EXTERN_C_BEGIN
#define MX_EXTERN_C_END
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#define MX_API __attribute__((visibility("default")))
#define MX_CHECK __attribute__((warn_unused_result))
#define MX_NOWAIT
#define MX_OPTIONAL
#define MX_HANDLE(name) typedef struct name##_ *name
#ifdef __cplusplus
#define MX_EXTERN_C_BEGIN extern "C" {
#define MX_EXTERN_C_END }
#else
#define MX_EXTERN_C_BEGIN
#define MX_EXTERN_C_END
#endif
#endif

MX_EXTERN_C_BEGIN

/* What went wrong; values are never renumbered. */
typedef enum mx_status {
  MX_OK = 0,
  MX_ERROR_INVALID_ARGUMENT = 1, /* a value that makes no sense, or NULL where it must not be */
  MX_ERROR_SHAPE = 2,            /* shapes do not fit each other or the op */
  MX_ERROR_OUT_OF_MEMORY = 3,    /* refused by the system or by mx_set_memory_limit */
  MX_ERROR_HANDLE = 4,           /* not a live handle of this type */
  MX_ERROR_INTERNAL = 5,         /* a fault of the library */
  MX_ERROR_DTYPE = 6,            /* the op is not defined for this dtype */
  MX_ERROR_INDEX = 7,            /* an index out of range */
  MX_ERROR_AXIS = 8,             /* an axis out of range or repeated */
  MX_ERROR_OVERFLOW = 9,         /* a number does not fit its type; a shape has too many elements */
  MX_ERROR_UNSUPPORTED = 10,     /* valid, but not in this build or on this device */
  MX_ERROR_IO = 11,              /* a file could not be read, written or understood */
  MX_ERROR_STALE = 12,           /* a stream from before a fork or reopen */
  MX_ERROR_CLOSING = 13,         /* the runtime is draining: no new work */
  MX_ERROR_CLOSED = 14,          /* the runtime is closed */
  MX_ERROR_CANCELLED = 15,       /* the work was dropped before it ended */
  MX_ERROR_TIMEOUT = 16,         /* not done yet; ask again */
  MX_ERROR_FORKED = 17,          /* the work was lost in a fork */
  MX_ERROR_RECURSION = 18,       /* compiled calls nested too deeply */
  MX_ERROR_WRONG_THREAD = 19,    /* a call is committed on the thread that began it */
  MX_ERROR_TRACE = 20,           /* the value of a placeholder was asked for, or one escaped its trace */
  MX_ERROR_CALLBACK = 21,        /* only ever returned by a host's callback */
  MX_ERROR_NUMERIC = 22          /* the values do not allow it: a singular matrix, no convergence */
} mx_status;

/* The version as major << 16 | minor. */
MX_API MX_NOWAIT uint32_t mx_version(void);

/* Describes the last failure on this thread; valid until the next failing call on this thread. */
MX_API MX_NOWAIT const char *mx_error_message(void);

/* Names the instruction set level in use: "v2", "v3", "v4" or "base". MX_ISA caps it. */
MX_API MX_NOWAIT const char *mx_isa(void);

/* The types of handles, for mx_handle_count. */
typedef enum mx_handle_type {
  MX_HANDLE_ANY = 0,
  MX_HANDLE_ARRAY = 1,
  MX_HANDLE_PIN = 2,
  MX_HANDLE_STREAM = 3,
  MX_HANDLE_EVENT = 4,
  MX_HANDLE_FUNCTION = 5,
  MX_HANDLE_CALL = 6,
  MX_HANDLE_CLIENT = 7,
  MX_HANDLE_ARCHIVE = 8,
  MX_HANDLE_VMAP = 9,
  MX_HANDLE_NOTIFIER = 10,
  MX_HANDLE_TRANSFORM = 11
} mx_handle_type;

/* Counts the live handles of one type, or of all types. */
MX_API MX_NOWAIT uint64_t mx_handle_count(mx_handle_type type);

/* Tells whether this build has a feature: "jit", "zlib". */
MX_API MX_NOWAIT bool mx_has(const char *feature);

MX_EXTERN_C_END
#endif
