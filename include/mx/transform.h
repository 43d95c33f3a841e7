/* mx/transform.h: transforms of functions: derivatives.
 *
 * A transform is open while the host runs its function; the library never does:
 *
 *     mx_transform_begin, mx_transform_inputs    tracers, which stand for the function's arguments
 *     run the function on the tracers
 *     mx_transform_vjp or mx_transform_jvp       MX_TRANSFORM_DONE, or MX_TRANSFORM_RULE: see custom functions below
 *     mx_transform_results                       lazy arrays
 *     mx_transform_end (always)
 *
 * Tracers have the values of what they stand for, so the function may evaluate, branch and read sizes; only
 * mx_async_eval of what derives from them is an error (TRACE). Whatever derives from a tracer while the transform is
 * open is a tracer too (mx_array_is_tracer); afterwards all of them are plain arrays. Transforms nest, in each other
 * and in traces of compiled functions: what they build are ordinary nodes. A compiled function that is called on a
 * tracer runs its body in place.
 *
 * Complex numbers: the cotangent of z = x + iy is the cotangent of x plus i times that of y, so a holomorphic f gives
 * the output's cotangent times the conjugate of f'(z). Casts to whole numbers, comparisons, rounding, sorting orders
 * and random numbers have no derivative: nothing goes through them. Indices have none either, and it is an error
 * (INVALID_ARGUMENT) to ask for it; use mx_stop_gradient. Arrays of bool get zeros. */
#ifndef MX_TRANSFORM_H
#define MX_TRANSFORM_H
#include "mx/array.h"

MX_EXTERN_C_BEGIN

/* An open transform. Thread-safety: used by the thread that began it; ending it is fine on any thread. */
MX_HANDLE(mx_transform);

/* How far a transform is. */
typedef enum mx_transform_state {
  MX_TRANSFORM_OPEN = 0,  /* begun */
  MX_TRANSFORM_RULE = 1,  /* stopped at a custom function, whose rule the host runs */
  MX_TRANSFORM_DONE = 2,  /* the results are there */
  MX_TRANSFORM_FAILED = 3 /* an op on the way has no derivative, or memory ran out */
} mx_transform_state;

/* Opens a transform of a function of these arguments. The same array may occur several times: each is an argument of
 * its own. RECURSION beyond 64 nested traces on this thread. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_transform_begin(mx_transform *out, const mx_array *primals, size_t n_primals);

/* The tracers to run the function on, as many as arguments. None once the transform is done. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_transform_inputs(mx_array *outs, size_t cap, size_t *n_outs_out, mx_transform x);

/* Closes the handle and ends the transform. */
MX_API MX_NOWAIT mx_status mx_transform_free(mx_transform x);

/* Ends the transform, on every path. Equal to mx_transform_free, but never fails. */
MX_API MX_NOWAIT void mx_transform_end(mx_transform x);

/* ---- derivatives */

/* Ends the function: vector-Jacobian products. `outputs` are what the function made of the tracers, `cotangents` one
 * array per output of its shape; outputs of mx_stop_gradient may be left out. `wanted` says for which arguments; NULL:
 * for all. Results: one gradient per wanted argument, zeros where no output depends on it. WRONG_THREAD on another
 * thread than began it, TRACE once it has ended, UNSUPPORTED if an op on the way has no derivative. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_transform_vjp(mx_transform_state *state_out, mx_transform x,
                                                     const mx_array *outputs, size_t n_outputs,
                                                     const mx_array *cotangents, size_t n_cotangents,
                                                     const int64_t *MX_OPTIONAL wanted, size_t n_wanted);

/* Ends the function: Jacobian-vector products. `tangents` are one array per argument of its shape. Results: one tangent
 * per output; zeros where it depends on no argument (of the tangents' dtype if the output is bool). Errors as above. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_transform_jvp(mx_transform_state *state_out, mx_transform x,
                                                     const mx_array *outputs, size_t n_outputs,
                                                     const mx_array *tangents, size_t n_tangents);

/* The results, in the state DONE. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_transform_results(mx_array *outs, size_t cap, size_t *n_outs_out,
                                                         mx_transform x);

/* ---- custom functions: the host says what the derivative is
 *
 * The host computes `outputs` from `arguments` and has mx_transform_custom mark them. When a transform around gets
 * there, it stops in the state RULE: the host reads what is asked, computes the answer and supplies it. */

/* Which rules a custom function has; combine with |. */
typedef enum mx_rules { MX_RULE_VJP = 1, MX_RULE_JVP = 2 } mx_rules;

/* Returns the outputs as arrays whose derivative comes from rules: `token` is handed back when one is needed, `rules`
 * are mx_rules. In a direction without a rule derivatives go through what the outputs were computed from. With a rule
 * they go to the arguments only: whatever else the outputs were computed from counts as constant. Where no transform is
 * open the outputs come back as they are. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_transform_custom(mx_array *outs, size_t cap, size_t *n_outs_out,
                                                        const mx_array *arguments, size_t n_arguments,
                                                        const mx_array *outputs, size_t n_outputs, uint64_t token,
                                                        uint32_t rules);

/* The token of the custom function at which the transform stopped. INVALID_ARGUMENT unless it did, as for the others.
 */
MX_API MX_NOWAIT MX_CHECK mx_status mx_transform_rule(uint64_t *token_out, mx_transform x);

/* Its arguments. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_transform_rule_inputs(mx_array *outs, size_t cap, size_t *n_outs_out,
                                                             mx_transform x);

/* Its outputs. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_transform_rule_outputs(mx_array *outs, size_t cap, size_t *n_outs_out,
                                                              mx_transform x);

/* What the rule is asked with: a cotangent per output (vjp), or a tangent per argument, NULL where there is none (jvp).
 */
MX_API MX_NOWAIT MX_CHECK mx_status mx_transform_rule_asked(mx_array *outs, size_t cap, size_t *n_outs_out,
                                                            mx_transform x);

/* Answers with a gradient per argument (vjp) or a tangent per output (jvp), each of the shape of what it belongs to,
 * and goes on. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_transform_supply(mx_transform_state *state_out, mx_transform x,
                                                        const mx_array *values, size_t n_values);

MX_EXTERN_C_END
#endif
