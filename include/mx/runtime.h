/* mx/runtime.h: the life of the runtime: clients, shutdown, fork, cancel, threads. */
#ifndef MX_RUNTIME_H
#define MX_RUNTIME_H
#include "mx/base.h"

MX_EXTERN_C_BEGIN

/* What happens to work that is queued or running when the runtime closes. */
typedef enum mx_shutdown_policy {
  MX_CANCEL = 0, /* queued work fails with CANCELLED, running kernels stop within 5 ms */
  MX_FINISH = 1, /* queued work runs */
  MX_ABANDON = 2 /* nothing is waited for */
} mx_shutdown_policy;

/* Where the runtime is. It starts by itself at the first call that needs it. */
typedef enum mx_state { MX_UNINIT = 0, MX_RUNNING = 1, MX_DRAINING = 2, MX_CLOSED = 3 } mx_state;

/* The state of the runtime. */
MX_API MX_NOWAIT mx_state mx_runtime_state(void);

/* Closes the runtime, from any thread, also from a worker or inside a trace (then it does not wait for itself).
 * Idempotent. Takes at most timeout_ms + 200 ms. Afterwards computed arrays stay readable, new work gets CLOSED. */
MX_API MX_CHECK mx_status mx_shutdown(mx_shutdown_policy policy, uint32_t timeout_ms);

/* Starts a closed runtime again, as a new generation: older streams are STALE. */
MX_API MX_CHECK mx_status mx_reopen(void);

/* Waits until the pool's threads have ended, so that the process has only the host's threads, for example before a
 * fork. They come back with the next work. TIMEOUT when work is still running. */
MX_API MX_CHECK mx_status mx_quiesce(uint32_t timeout_ms);

/* Asks running and queued work to stop: it fails with CANCELLED. The one function that a signal handler may call. */
MX_API MX_NOWAIT void mx_request_cancel(void);

/* Sets how many threads take part in work, the calling one included; 0 runs everything on the threads that ask for it.
 * The default is the number of CPUs, or MX_NUM_THREADS. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_set_num_threads(int32_t n);

/* The number that mx_set_num_threads sets. */
MX_API MX_NOWAIT int32_t mx_num_threads(void);

/* A host language's registration with the runtime: its release queue. Thread-safety: share freely. */
MX_HANDLE(mx_client);

/* Registers a client. The runtime closes when the last client has closed. Reopens a closed runtime. */
MX_API MX_CHECK mx_status mx_client_open(mx_client *out);

/* Ends the registration as mx_shutdown would when it is the last one; acts only in the process that owns the runtime.
 * The handle stays to be freed. */
MX_API MX_CHECK mx_status mx_client_close(mx_client x, mx_shutdown_policy policy, uint32_t timeout_ms);

/* Closes the handle. */
MX_API MX_NOWAIT mx_status mx_client_free(mx_client x);

/* Moves up to `cap` tokens of borrowed memory that nothing uses any more to `tokens`. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_client_released(uint64_t *tokens, size_t cap, size_t *n_tokens_out, mx_client x);

/* The bytes of borrowed memory that wait in the release queue, and whether there are any. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_client_pending(uint64_t *n_bytes_out, bool *any_out, mx_client x);

/* Tests: makes the n-th allocation from now on fail, once, with OUT_OF_MEMORY; 0 turns it off. Returns the number of
 * allocations since the last call. */
MX_API MX_NOWAIT uint64_t mx_test_fail_allocation(uint64_t n);

/* Tests: threads pause up to `us` microseconds at points where races hide; also MX_TEST_DELAY. */
MX_API MX_NOWAIT void mx_test_delay(uint32_t us);

MX_EXTERN_C_END
#endif
