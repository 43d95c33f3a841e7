/* mx/inspect.h: what the library makes of a computation: programs as text, graphs as drawings, traces of what ran. */
#ifndef MX_INSPECT_H
#define MX_INSPECT_H
#include "mx/function.h"

MX_EXTERN_C_BEGIN

/* Describes how evaluating these arrays would run, for people to read: the steps that were fused, what computes each
 * ("vm", "jit" or "library"), shapes, bytes, flops, peak memory, and why a step was not joined with the one before.
 * Nothing is computed; arrays that nobody computed yet count as row-major. Writes the text with its NUL to `buf` if
 * `cap` bytes are enough; needed_out says how many are. */
MX_API MX_CHECK mx_status mx_explain(char *buf, size_t cap, size_t *needed_out, const mx_array *arrays,
                                     size_t n_arrays);

/* The same for the program of a call, after a hit or a commit. */
MX_API MX_CHECK mx_status mx_call_explain(char *buf, size_t cap, size_t *needed_out, mx_call x);

/* Draws the graph that evaluating these arrays would run, in the DOT language of Graphviz: values by their names, and a
 * box for each op, or for each step of a compiled call (as "CompiledBroadcastMultiplyAdd"). names[i] is the name of
 * arrays[i]; empty ones, and those of all other values, are made up: A, B and so on. */
MX_API MX_CHECK mx_status mx_export_to_dot(char *buf, size_t cap, size_t *needed_out, const mx_array *arrays,
                                           size_t n_arrays, const char *const *names, size_t n_names);

/* Starts recording kernels, waits, allocations and compiling on all threads of the process: up to n_records of them (0:
 * 131072; each takes 120 bytes), later ones are counted only. INVALID_ARGUMENT while a recording is on. While none is,
 * the places that record cost next to nothing. A forked child records nothing; at exit an unfinished recording is lost.
 */
MX_API MX_NOWAIT MX_CHECK mx_status mx_profile_start(size_t n_records);

/* Ends the recording and writes it to a file that https://ui.perfetto.dev and chrome://tracing show: JSON in Chrome's
 * trace event format. The file appears under its name once it is complete. With NULL the recording is dropped. What is
 * still running is not in it. INVALID_ARGUMENT if no recording is on; IO if the file cannot be written: then the
 * recording is lost. */
MX_API MX_CHECK mx_status mx_profile_stop(const char *MX_OPTIONAL path);

MX_EXTERN_C_END
#endif
