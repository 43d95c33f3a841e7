/* mx/ops.h: elementwise ops, reductions, scans, sorting and products. What builds, shapes and indexes arrays is in
 * mx/shape.h. For every op, here and in shape.h, linalg.h, quantize.h, random.h and
 * fast.h:
 *
 *  - It makes a new lazy array and never waits; shapes and dtypes are checked at once. The stream is where the work
 *    will run; NULL is the calling thread's default stream.
 *  - Elementwise ops broadcast their operands as NumPy does (else SHAPE) and first bring them to one dtype
 *    (mx_dtype_promote). "Inexact" ops turn bool and integers into float32 first. A dtype that makes no sense is DTYPE.
 *  - An axis may be negative: it counts from the end. One out of range or given twice is AXIS.
 *  - `const int64_t *axes, size_t n_axes` marked MX_OPTIONAL: a NULL pointer stands for all axes; otherwise exactly the
 *    n_axes given ones, so a pointer with n_axes 0 reduces over no axis. `int64_t axis` may be MX_NO_AXIS where the
 *    description says so: the op then works on the array flattened row-major.
 *  - keepdims leaves the reduced axes in the result, with size 1.
 *  - Several results: a fixed number comes as `mx_array *q_out, mx_array *r_out`, a list as
 *    `mx_array *outs, size_t cap, size_t *n_outs_out`, which needs cap >= the number (else INVALID_ARGUMENT).
 *  - A handle marked MX_OPTIONAL may be NULL: left out.
 */
#ifndef MX_OPS_H
#define MX_OPS_H
#include "mx/array.h"

MX_EXTERN_C_BEGIN

/* The axis that stands for none: the array is taken flattened. */
enum { MX_NO_AXIS = 2147483647 };

/* ---- elementwise, one operand */

/* The absolute value; of complex numbers the dtype of their parts, without overflow in between. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_abs(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* -1, 0 or 1; NaN stays. Of complex numbers: a / |a|, and 0 for 0. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_sign(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* -a; unsigned integers wrap. DTYPE for bool. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_negative(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The same array. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_positive(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* a * a. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_square(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The square root, inexact; NaN for negative real numbers. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_sqrt(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* 1 / sqrt(a), inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_rsqrt(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* 1 / a, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_reciprocal(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* e to the power of a, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_exp(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* exp(a) - 1 without cancellation near 0, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_expm1(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The natural logarithm, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_log(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The logarithm to base 2, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_log2(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The logarithm to base 10, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_log10(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* log(1 + a) without cancellation near 0, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_log1p(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The sine of radians, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_sin(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The cosine of radians, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_cos(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The tangent of radians, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_tan(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The inverse sine, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_arcsin(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The inverse cosine, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_arccos(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The inverse tangent, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_arctan(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The hyperbolic sine, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_sinh(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The hyperbolic cosine, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_cosh(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The hyperbolic tangent, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_tanh(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The inverse hyperbolic sine, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_arcsinh(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The inverse hyperbolic cosine, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_arccosh(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The inverse hyperbolic tangent, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_arctanh(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* Radians to degrees, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_degrees(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* Degrees to radians, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_radians(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The error function, inexact. DTYPE for complex. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_erf(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The inverse of erf, inexact. DTYPE for complex. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_erfinv(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* 1 / (1 + exp(-a)), inexact. DTYPE for complex. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_sigmoid(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* Rounds towards minus infinity; integers stay. DTYPE for complex. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_floor(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* Rounds towards plus infinity; integers stay. DTYPE for complex. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_ceil(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* Rounds towards zero; integers stay. DTYPE for complex. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_trunc(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* Rounds to `decimals` decimals (negative: before the point), halves to even. Complex by part. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_round(mx_array *out, mx_array a, int64_t decimals, mx_stream MX_OPTIONAL stream);

/* bool: is not a number. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_isnan(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* bool: is plus or minus infinity. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_isinf(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* bool: negative, or -0, or NaN with the sign bit. DTYPE for complex. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_signbit(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* bool: neither NaN nor infinite. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_isfinite(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* bool: is plus infinity. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_isposinf(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* bool: is minus infinity. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_isneginf(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* Replaces NaN by `nan`, and infinities by `posinf` and `neginf`, or by the largest and the lowest finite number if
 * NULL. DTYPE for complex. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_nan_to_num(mx_array *out, mx_array a, double nan, mx_array MX_OPTIONAL posinf,
                                                  mx_array MX_OPTIONAL neginf, mx_stream MX_OPTIONAL stream);

/* The complex conjugate; other dtypes stay. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_conjugate(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The real part: float32 of complex64, float64 of complex128; other dtypes stay. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_real(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The imaginary part: float32 of complex64, float64 of complex128, 0 for other dtypes. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_imag(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* bool: a == 0. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_logical_not(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* Inverts every bit; bool: not. DTYPE unless integer or bool. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_bitwise_invert(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* The same values; no gradient flows through. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_stop_gradient(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* Floating to 8-bit E4M3 in uint8 (OCP 8-bit floating point specification), saturating. DTYPE else. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_to_fp8(mx_array *out, mx_array a, mx_stream MX_OPTIONAL stream);

/* 8-bit E4M3 in uint8 to a floating dtype. DTYPE else. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_from_fp8(mx_array *out, mx_array a, mx_dtype dtype,
                                                mx_stream MX_OPTIONAL stream);

/* ---- elementwise, two or three operands */

/* a + b; integers wrap; bool: or. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_add(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* a - b; integers wrap. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_subtract(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* a * b; integers wrap; bool: and. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_multiply(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* a / b, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_divide(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* The quotient rounded towards minus infinity for floats and signed integers. Integers by 0 give 0. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_floor_divide(mx_array *out, mx_array a, mx_array b,
                                                    mx_stream MX_OPTIONAL stream);

/* The remainder with the sign of the divisor, as in Python. Integers by 0 give 0. DTYPE for complex. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_remainder(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* Both mx_floor_divide and mx_remainder. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_divmod(mx_array *quotient_out, mx_array *remainder_out, mx_array a, mx_array b,
                                              mx_stream MX_OPTIONAL stream);

/* a to the power of b; of integers an integer, by repeated squaring; a negative exponent then gives 0. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_power(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* The larger; NaN if either is. Complex by real, then imaginary part. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_maximum(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* The smaller; NaN if either is. Complex by real, then imaginary part. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_minimum(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* sqrt(a^2 + b^2) without overflow in between, inexact. DTYPE for complex. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_hypot(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* |a| with the sign of b, inexact. DTYPE for complex. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_copysign(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* The number next to a towards b, inexact. DTYPE for complex. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_nextafter(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* The angle of the point (b, a), inexact. DTYPE for complex. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_arctan2(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* log(exp(a) + exp(b)) without overflow, inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_logaddexp(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* bool: a == b. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_equal(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* bool: a != b. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_not_equal(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* bool: a < b. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_less(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* bool: a <= b. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_less_equal(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* bool: a > b. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_greater(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* bool: a >= b. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_greater_equal(mx_array *out, mx_array a, mx_array b,
                                                     mx_stream MX_OPTIONAL stream);

/* 0-d bool: same shape and all elements equal; NaN equals NaN if equal_nan. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_array_equal(mx_array *out, mx_array a, mx_array b, bool equal_nan,
                                                   mx_stream MX_OPTIONAL stream);

/* bool: |a - b| <= atol + rtol * |b|; infinities of the same sign are close; NaN to NaN if equal_nan. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_isclose(mx_array *out, mx_array a, mx_array b, double rtol, double atol,
                                               bool equal_nan, mx_stream MX_OPTIONAL stream);

/* 0-d bool: mx_isclose everywhere. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_allclose(mx_array *out, mx_array a, mx_array b, double rtol, double atol,
                                                bool equal_nan, mx_stream MX_OPTIONAL stream);

/* bool: both are not 0. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_logical_and(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* bool: either is not 0. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_logical_or(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* bool: exactly one is not 0. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_logical_xor(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* Bits set in both. DTYPE unless integers or bool. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_bitwise_and(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* Bits set in either. DTYPE unless integers or bool. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_bitwise_or(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* Bits set in exactly one. DTYPE unless integers or bool. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_bitwise_xor(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* a * 2^b by shifting; bool counts as uint8. DTYPE unless integers or bool. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_left_shift(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* a / 2^b by shifting, arithmetic for signed; bool counts as uint8. DTYPE unless integers or bool. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_right_shift(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* a where `condition` is not 0, else b. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_where(mx_array *out, mx_array condition, mx_array a, mx_array b,
                                             mx_stream MX_OPTIONAL stream);

/* Limits a to [a_min, a_max]; a bound may be left out, not both (INVALID_ARGUMENT). */
MX_API MX_NOWAIT MX_CHECK mx_status mx_clip(mx_array *out, mx_array a, mx_array MX_OPTIONAL a_min,
                                            mx_array MX_OPTIONAL a_max, mx_stream MX_OPTIONAL stream);

/* ---- reductions */

/* bool: all elements are not 0; true over nothing. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_all(mx_array *out, mx_array a, const int64_t *MX_OPTIONAL axes, size_t n_axes,
                                           bool keepdims, mx_stream MX_OPTIONAL stream);

/* bool: any element is not 0; false over nothing. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_any(mx_array *out, mx_array a, const int64_t *MX_OPTIONAL axes, size_t n_axes,
                                           bool keepdims, mx_stream MX_OPTIONAL stream);

/* The sum; bool and signed integers below 32 bits give int32, unsigned ones uint32. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_sum(mx_array *out, mx_array a, const int64_t *MX_OPTIONAL axes, size_t n_axes,
                                           bool keepdims, mx_stream MX_OPTIONAL stream);

/* The product; dtypes as mx_sum. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_prod(mx_array *out, mx_array a, const int64_t *MX_OPTIONAL axes, size_t n_axes,
                                            bool keepdims, mx_stream MX_OPTIONAL stream);

/* The smallest; NaN if there is one. SHAPE over nothing. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_min(mx_array *out, mx_array a, const int64_t *MX_OPTIONAL axes, size_t n_axes,
                                           bool keepdims, mx_stream MX_OPTIONAL stream);

/* The largest; NaN if there is one. SHAPE over nothing. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_max(mx_array *out, mx_array a, const int64_t *MX_OPTIONAL axes, size_t n_axes,
                                           bool keepdims, mx_stream MX_OPTIONAL stream);

/* The arithmetic mean, inexact; NaN over nothing. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_mean(mx_array *out, mx_array a, const int64_t *MX_OPTIONAL axes, size_t n_axes,
                                            bool keepdims, mx_stream MX_OPTIONAL stream);

/* The median, inexact: the mean of the two middle elements of an even number. SHAPE over nothing. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_median(mx_array *out, mx_array a, const int64_t *MX_OPTIONAL axes, size_t n_axes,
                                              bool keepdims, mx_stream MX_OPTIONAL stream);

/* The variance with divisor n - ddof, inexact; of complex a float. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_var(mx_array *out, mx_array a, const int64_t *MX_OPTIONAL axes, size_t n_axes,
                                           bool keepdims, int64_t ddof, mx_stream MX_OPTIONAL stream);

/* The square root of mx_var. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_std(mx_array *out, mx_array a, const int64_t *MX_OPTIONAL axes, size_t n_axes,
                                           bool keepdims, int64_t ddof, mx_stream MX_OPTIONAL stream);

/* log(sum(exp(a))) without overflow, inexact; minus infinity over nothing. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_logsumexp(mx_array *out, mx_array a, const int64_t *MX_OPTIONAL axes,
                                                 size_t n_axes, bool keepdims, mx_stream MX_OPTIONAL stream);

/* int32: how many are not 0. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_count_nonzero(mx_array *out, mx_array a, const int64_t *MX_OPTIONAL axes,
                                                     size_t n_axes, bool keepdims, mx_stream MX_OPTIONAL stream);

/* exp(a) / sum(exp(a)) without overflow, inexact; `precise` computes in float32. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_softmax(mx_array *out, mx_array a, const int64_t *MX_OPTIONAL axes,
                                               size_t n_axes, bool precise, mx_stream MX_OPTIONAL stream);

/* uint32: the index of the first smallest, or of the first NaN; MX_NO_AXIS: in the flattened array. SHAPE over
 * nothing. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_argmin(mx_array *out, mx_array a, int64_t axis, bool keepdims,
                                              mx_stream MX_OPTIONAL stream);

/* uint32: the index of the first largest, or of the first NaN; MX_NO_AXIS: in the flattened array. SHAPE over
 * nothing. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_argmax(mx_array *out, mx_array a, int64_t axis, bool keepdims,
                                              mx_stream MX_OPTIONAL stream);

/* ---- scans, differences */

/* Running sums, from the end if `reverse`, without the element itself unless `inclusive`; bool gives int32.
 * MX_NO_AXIS allowed. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_cumsum(mx_array *out, mx_array a, int64_t axis, bool reverse, bool inclusive,
                                              mx_stream MX_OPTIONAL stream);

/* Running products; see mx_cumsum; bool stays. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_cumprod(mx_array *out, mx_array a, int64_t axis, bool reverse, bool inclusive,
                                               mx_stream MX_OPTIONAL stream);

/* Running maxima; see mx_cumsum; starts with the lowest value. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_cummax(mx_array *out, mx_array a, int64_t axis, bool reverse, bool inclusive,
                                              mx_stream MX_OPTIONAL stream);

/* Running minima; see mx_cumsum; starts with the highest value. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_cummin(mx_array *out, mx_array a, int64_t axis, bool reverse, bool inclusive,
                                              mx_stream MX_OPTIONAL stream);

/* Running mx_logsumexp; see mx_cumsum; inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_logcumsumexp(mx_array *out, mx_array a, int64_t axis, bool reverse,
                                                    bool inclusive, mx_stream MX_OPTIONAL stream);

/* The n-th difference of neighbours along an axis; bool: not equal. INVALID_ARGUMENT if n < 0. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_diff(mx_array *out, mx_array a, int64_t n, int64_t axis,
                                            mx_stream MX_OPTIONAL stream);

/* ---- sorting, searching */

/* Sorted upwards, or downwards if `descending`, and stable either way; NaN counts as the largest, complex numbers
 * compare by real, then imaginary part. MX_NO_AXIS allowed. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_sort(mx_array *out, mx_array a, int64_t axis, bool descending,
                                            mx_stream MX_OPTIONAL stream);

/* uint32: the indices that mx_sort sorts by. MX_NO_AXIS allowed. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_argsort(mx_array *out, mx_array a, int64_t axis, bool descending,
                                               mx_stream MX_OPTIONAL stream);

/* Puts the kth smallest at its sorted place, no larger ones before it. MX_NO_AXIS allowed. INDEX if kth is out of
 * range. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_partition(mx_array *out, mx_array a, int64_t kth, int64_t axis,
                                                 mx_stream MX_OPTIONAL stream);

/* uint32: the indices that mx_partition moves by. MX_NO_AXIS allowed. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_argpartition(mx_array *out, mx_array a, int64_t kth, int64_t axis,
                                                    mx_stream MX_OPTIONAL stream);

/* The k largest along an axis, in no particular order. MX_NO_AXIS allowed. INVALID_ARGUMENT unless 0 <= k <= size. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_topk(mx_array *out, mx_array a, int64_t k, int64_t axis,
                                            mx_stream MX_OPTIONAL stream);

/* uint32: where `values` go into the sorted 1-d `a` so that it stays sorted, after equal elements if `right`. SHAPE
 * unless a is 1-d. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_searchsorted(mx_array *out, mx_array a, mx_array values, bool right,
                                                    mx_stream MX_OPTIONAL stream);

/* int64 (size, dimensions of a): the positions of the first `size` elements that are not 0, in row-major order; rows
 * of 0 once they run out. mx_count_nonzero tells how many there are. INVALID_ARGUMENT if size < 0. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_argwhere(mx_array *out, mx_array a, int64_t size, mx_stream MX_OPTIONAL stream);

/* The distinct elements of a, upwards; every NaN counts as one. Of the `size` smallest: their values, the uint32 index
 * of the first of each in the flattened a, and the int32 count of each. `inverse`: uint32, a's shape, the number of
 * every element among all distinct ones, at most size - 1. `total`: 0-d int32, how many there are in all. Beyond that,
 * values are `fill` (0-d; the smallest element if NULL) and counts 0. INVALID_ARGUMENT if size < 0, or if nothing is
 * there to fill with. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_unique(mx_array *values_out, mx_array *index_out, mx_array *inverse_out,
                                              mx_array *counts_out, mx_array *total_out, mx_array a, int64_t size,
                                              mx_array MX_OPTIONAL fill, mx_stream MX_OPTIONAL stream);

/* ---- products */

/* Which part of a convolution is wanted: all of it, where both overlap fully, or the middle of the longer one's size.
 */
typedef enum mx_convolve_mode { MX_CONVOLVE_FULL = 0, MX_CONVOLVE_VALID = 1, MX_CONVOLVE_SAME = 2 } mx_convolve_mode;

/* The convolution of two 1-d arrays, in their joint dtype. SHAPE if one is empty. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_convolve(mx_array *out, mx_array a, mx_array v, mx_convolve_mode mode,
                                                mx_stream MX_OPTIONAL stream);

/* Einstein summation: "ij,jk->ik" names the axes of every operand by letters, and those of the result, over the others
 * being summed; without an arrow the result has those that occur once, in alphabetical order. A letter that an operand
 * repeats takes its diagonal. "..." stands for any axes, which are broadcast. Sizes of 1 broadcast. INVALID_ARGUMENT
 * for what cannot be read. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_einsum(mx_array *out, const char *subscripts, const mx_array *xs, size_t n_xs,
                                              mx_stream MX_OPTIONAL stream);

/* In which order mx_einsum contracts: for each step the number of operands and their positions in the list of those
 * that are left, from which they go, and whose last one is then their result. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_einsum_path(int64_t *steps, size_t cap, size_t *n_steps_out,
                                                   const char *subscripts, const mx_array *xs, size_t n_xs);

/* The matrix product of the last two axes, over broadcast batches; a 1-d operand is a row or a column that then
 * vanishes. DTYPE unless inexact. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_matmul(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* alpha * matmul(a, b) + beta * c; c is broadcast to the product. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_addmm(mx_array *out, mx_array c, mx_array a, mx_array b, double alpha,
                                             double beta, mx_stream MX_OPTIONAL stream);

/* The sum of products over the last axes of both; a product if one is 0-d. SHAPE if they differ. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_inner(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* The products of all pairs of the flattened operands: (size of a, size of b). */
MX_API MX_NOWAIT MX_CHECK mx_status mx_outer(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* The sum of conjugate(a) * b along one axis of the broadcast operands. SHAPE if its sizes differ. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_vecdot(mx_array *out, mx_array a, mx_array b, int64_t axis,
                                              mx_stream MX_OPTIONAL stream);

/* Contracts axes_a of a with axes_b of b, pair by pair; the rest of a's axes come first. SHAPE if sizes or counts
 * differ. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_tensordot(mx_array *out, mx_array a, mx_array b, const int64_t *axes_a,
                                                 size_t n_axes_a, const int64_t *axes_b, size_t n_axes_b,
                                                 mx_stream MX_OPTIONAL stream);

/* The Kronecker product; the operand of lower rank gets leading axes of size 1. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_kron(mx_array *out, mx_array a, mx_array b, mx_stream MX_OPTIONAL stream);

/* The sum of a diagonal (mx_diagonal), cast to `dtype` first; the result has mx_sum's dtype for it. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_trace(mx_array *out, mx_array a, int64_t offset, int64_t axis1, int64_t axis2,
                                             mx_dtype dtype, mx_stream MX_OPTIONAL stream);

MX_EXTERN_C_END
#endif
