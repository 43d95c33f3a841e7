/* mx/function.h: compiled functions: records, calls, entries, erase.
 *
 * A function record owns its compiled entries, one per signature. The host runs the user's function; the library never
 * does. A call is opened, then is a hit, or the host runs its function on the placeholders and commits what came out:
 *
 *     mx_call_begin -> MX_CALL_TRACE: mx_call_inputs, run the function, mx_call_commit
 *                   -> MX_CALL_HIT
 *                   -> MX_CALL_INLINE (an argument is a tracer), MX_CALL_DISABLED: run the function on the arguments
 *     mx_call_outputs (after a hit or a commit)
 *     mx_call_end (always)
 *
 * No entry is visible before its commit; an open call keeps its entry alive; erase reaches every thread; nobody ever
 * waits for another thread's trace. Arrays that a traced function reaches other than as arguments are frozen into the
 * entry. */
#ifndef MX_FUNCTION_H
#define MX_FUNCTION_H
#include "mx/array.h"

MX_EXTERN_C_BEGIN

/* A function record: identity, options and the table of entries. Thread-safety: share freely. */
MX_HANDLE(mx_function);

/* An open call. Thread-safety: used by the thread that began it; ending it is fine on any thread. */
MX_HANDLE(mx_call);

/* How a function is compiled; combine with |. */
typedef enum mx_function_flags {
  MX_FUNCTION_DEFAULT = 0,
  MX_FUNCTION_SHAPELESS = 1 /* one trace serves all shapes of the same ranks and dtypes */
} mx_function_flags;

/* What mx_call_begin found. */
typedef enum mx_call_state {
  MX_CALL_HIT = 0,     /* an entry exists: ask for the outputs */
  MX_CALL_TRACE = 1,   /* run the function on mx_call_inputs, then commit */
  MX_CALL_INLINE = 2,  /* an argument is a tracer: run the function on the arguments, then end */
  MX_CALL_DISABLED = 3 /* compiling is switched off: as INLINE */
} mx_call_state;

/* Counters of one function. */
typedef struct mx_function_info {
  uint64_t hits;      /* calls answered by an entry */
  uint64_t traces;    /* commits */
  uint64_t entries;   /* in the table now */
  uint64_t evictions; /* entries dropped because the table was full */
  uint64_t bytes;     /* constants and prepared data kept by the entries */
} mx_function_info;

/* Makes a function record. `name` is used in messages, traces and drawings; flags are mx_function_flags. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_function_new(mx_function *out, const char *name, uint32_t flags);

/* Makes a second owner of the same record. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_function_dup(mx_function *out, mx_function x);

/* Closes the handle; with the last one the entries go. Any thread, also inside a trace of the same function. */
MX_API MX_NOWAIT mx_status mx_function_free(mx_function x);

/* Drops all entries, on whatever thread they were made. Open calls keep theirs. Idempotent. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_function_erase(mx_function x);

/* Bounds the number of entries: the least recently used go first; 0 is no bound. The default is 256. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_function_set_capacity(mx_function x, uint64_t n_entries);

/* The counters. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_function_stats(mx_function_info *info_out, mx_function x);

/* Opens a call with these arguments. `key` is any sequence of bytes that tells traces apart beyond the arguments'
 * dtypes and shapes; it is compared byte by byte. RECURSION beyond 64 nested traces on this thread. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_call_begin(mx_call *out, mx_call_state *state_out, mx_function f,
                                                  const mx_array *inputs, size_t n_inputs, const void *key,
                                                  size_t n_key);

/* The placeholders to run the function on, as many as arguments; only in the state TRACE. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_call_inputs(mx_array *outs, size_t cap, size_t *n_outs_out, mx_call x);

/* Ends the trace: lowers what the function returned and publishes it under the call's signature, unless the function
 * was erased meanwhile (then it stays private to this call) or another thread published first (then that one is taken).
 * `host_tag` comes back from every later hit. WRONG_THREAD on another thread than began the call. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_call_commit(mx_call x, const mx_array *outputs, size_t n_outputs,
                                                   uint64_t host_tag);

/* The lazy results, after a hit or a commit. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_call_outputs(mx_array *outs, size_t cap, size_t *n_outs_out, mx_call x);

/* The host tag of the entry, after a hit or a commit. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_call_tag(uint64_t *host_tag_out, mx_call x);

/* Ends the call, on every path; without a commit nothing was learnt. Equal to mx_call_free, but never fails. */
MX_API MX_NOWAIT void mx_call_end(mx_call x);

/* Closes the handle and ends the call. */
MX_API MX_NOWAIT mx_status mx_call_free(mx_call x);

/* The fast path. On a hit: *hit_out is true, the results are in `outs` and the tag in *host_tag_out. Else *hit_out is
 * false and nothing was done: use mx_call_begin. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_function_call(mx_array *outs, size_t cap, size_t *n_outs_out, bool *hit_out,
                                                     uint64_t *host_tag_out, mx_function f, const mx_array *inputs,
                                                     size_t n_inputs, const void *key, size_t n_key);

/* Drops the entries of every function. */
MX_API MX_NOWAIT void mx_compile_clear(void);

/* Switches compiling off or on for the whole process, at once; MX_DISABLE_COMPILE=1 starts with it off. */
MX_API MX_NOWAIT void mx_compile_enable(bool enabled);

/* Whether compiling is on. */
MX_API MX_NOWAIT bool mx_compile_enabled(void);

/* The body of a function for hosts that want the library to call it: reads `inputs`, puts new handles into
 * outputs[0..n_outputs), returns MX_OK, MX_ERROR_CALLBACK or the status of a call that failed. Runs on the thread that
 * calls, with no lock held. */
typedef mx_status (*mx_trace_fn)(mx_array *outputs, size_t n_outputs, const mx_array *inputs, size_t n_inputs,
                                 void *payload);

/* Makes a function record that carries its body, for mx_compiled_call. destroy(payload) runs once, when the record goes
 * or when this call fails. */
MX_API MX_CHECK mx_status mx_compile(mx_function *out, const char *name, size_t n_outputs, mx_trace_fn fn,
                                     void *payload, void (*destroy)(void *), uint32_t flags);

/* Calls a function made by mx_compile: traces on a miss, on this thread. `cap` must be at least its n_outputs. */
MX_API MX_CHECK mx_status mx_compiled_call(mx_array *outs, size_t cap, size_t *n_outs_out, mx_function f,
                                           const mx_array *inputs, size_t n_inputs);

MX_EXTERN_C_END
#endif
