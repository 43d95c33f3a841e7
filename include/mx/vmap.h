/* mx/vmap.h: mappings: a function of one element becomes a function of many, the lanes of a mapping.
 *
 * The host runs its function; the library never does:
 *
 *     mx_vmap_begin   with arrays that have an axis of lanes, or none
 *     mx_vmap_inputs  what one lane has of them: run the function on that
 *     mx_vmap_finish  with what the function returned
 *     mx_vmap_end     always
 *
 * The function runs once, on placeholders that have a shape and a dtype and no value. Every op between them and the
 * outputs is then built again for all lanes at once; ops that do not derive from a mapped input are computed once. So
 * random numbers are the same in all lanes unless the key differs between them. Mappings nest, in each other and in
 * traces of mx/function.h. */
#ifndef MX_VMAP_H
#define MX_VMAP_H
#include "mx/array.h"

MX_EXTERN_C_BEGIN

/* One mapping. Thread-safety: used by the thread that began it; ending it is fine on any thread. */
MX_HANDLE(mx_vmap);

/* Opens a mapping. axes[i] is the axis of inputs[i] that holds the lanes, negative counts from the end, MX_NO_AXIS: all
 * lanes share the array. At least one input is mapped, else INVALID_ARGUMENT; SHAPE where mapped axes differ in size.
 * RECURSION beyond 64 nested traces on this thread. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_vmap_begin(mx_vmap *out, const mx_array *inputs, size_t n_inputs,
                                                  const int64_t *axes, size_t n_axes);

/* What to run the function on, as many as inputs: placeholders for those that are mapped, the others as they are. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_vmap_inputs(mx_array *outs, size_t cap, size_t *n_outs_out, mx_vmap x);

/* Ends the mapping: outs[i] is outputs[i] for all lanes, which are its axis axes[i] (negative: from the end). What is
 * the same in all lanes is repeated. INVALID_ARGUMENT the second time, WRONG_THREAD on another thread than began
 * the mapping, TRACE once it has ended. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_vmap_finish(mx_array *outs, size_t cap, size_t *n_outs_out, mx_vmap x,
                                                   const mx_array *outputs, size_t n_outputs, const int64_t *axes,
                                                   size_t n_axes);

/* For a function that has a rule of its own for all lanes, while the mapping is open: what an array that the mapped
 * function made is for all lanes. *axis_out is 0, the axis of the lanes, or MX_NO_AXIS if all lanes share the array. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_vmap_resolve(mx_array *out, int64_t *axis_out, mx_vmap x, mx_array value);

/* The way back: what one lane has of an array whose axis `axis` holds the lanes, for the mapped function to go on with.
 * With MX_NO_AXIS: the array. SHAPE unless there are as many lanes. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_vmap_extend(mx_array *out, mx_vmap x, mx_array value, int64_t axis);

/* Ends the mapping, on every path. Equal to mx_vmap_free, but never fails. */
MX_API MX_NOWAIT void mx_vmap_end(mx_vmap x);

/* Closes the handle and ends the mapping. */
MX_API MX_NOWAIT mx_status mx_vmap_free(mx_vmap x);

MX_EXTERN_C_END
#endif
