/* mx/quantize.h: matrices of few bits per element, and products with them. The conventions are at the top of mx/ops.h.
 *
 * A packed matrix is codes, scales and, in affine mode, biases. Along each row, `group_size` neighbours share a scale
 * and a bias; a code takes `bits` bits:
 *
 *   mode             group_size     bits              scales           an element is
 *   MX_QUANT_AFFINE  32, 64*, 128   2, 3, 4*, 5, 6, 8  floating         scale * code + bias, codes are unsigned
 * integers MX_QUANT_MXFP4   32*            4*                uint8, E8M0      scale * code, codes are E2M1
 *   MX_QUANT_MXFP8   32*            8*                uint8, E8M0      scale * code, codes are E4M3
 *   MX_QUANT_NVFP4   16*            4*                uint8, E4M3      scale * code, codes are E2M1
 *
 * A group_size or bits of 0 stand for those marked *; any others are INVALID_ARGUMENT. E2M1 has the numbers 0, 0.5, 1,
 * 1.5, 2, 3, 4, 6 and, from code 8 on, their negatives; E4M3 and E8M0 (a power of two with bias 127; 255 is NaN) are
 * those of the OCP specifications "8-bit floating point" (2023) and "Microscaling formats" (2023).
 *
 *   codes   uint32 (..., rows, columns * bits / 32): the bits of a row's codes one after the other, from the lowest bit
 *           of the first word on
 *   scales  (..., rows, columns / group_size)
 *   biases  as scales
 *
 * In nvfp4 mode a `global_scale`, float32 of size 1, may stand for the largest magnitude that is to be held: scales are
 * multiplied by global_scale / (448 * 6) then. In other modes it is INVALID_ARGUMENT. Operands that do not fit each
 * other are SHAPE, with both shapes. Floating is float16, bfloat16 or float32 here.
 */
#ifndef MX_QUANTIZE_H
#define MX_QUANTIZE_H
#include "mx/ops.h"

MX_EXTERN_C_BEGIN

/* How numbers become codes: see the table above. */
typedef enum mx_quant_mode {
  MX_QUANT_AFFINE = 0,
  MX_QUANT_MXFP4 = 1,
  MX_QUANT_MXFP8 = 2,
  MX_QUANT_NVFP4 = 3
} mx_quant_mode;

/* codes, scales and, in affine mode, biases of w (..., rows, columns), whose columns are a multiple of group_size (else
 * SHAPE) and which is floating (else DTYPE). Scales and biases of affine mode have w's dtype.
 *
 * affine: the grid of 2^bits steps spans a group's numbers, moved so that 0 and whichever end is larger are on it
 * exactly (up to the rounding of scale and bias to w's dtype, after the codes are chosen). The others: the scale is the
 * group's largest magnitude over that of the code, in E8M0 rounded to the nearest exponent, in E4M3 to the nearest
 * number; codes are the nearest numbers, ties to even, limited to the largest. A group of zeros is exact. A group with
 * a number that is not finite, or in affine mode a span that float32 does not hold, becomes NaN. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_quantize(mx_array *outs, size_t cap, size_t *n_outs_out, mx_array w,
                                                mx_quant_mode mode, int64_t group_size, int64_t bits,
                                                mx_array MX_OPTIONAL global_scale, mx_stream MX_OPTIONAL stream);

/* The matrix (..., rows, columns) as a floating dtype. Computed in float32, rounded once. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_dequantize(mx_array *out, mx_array w, mx_array scales,
                                                  mx_array MX_OPTIONAL biases, mx_quant_mode mode, int64_t group_size,
                                                  int64_t bits, mx_array MX_OPTIONAL global_scale, mx_dtype dtype,
                                                  mx_stream MX_OPTIONAL stream);

/* x (..., m, columns) times the transposed matrix if `transpose`: (..., m, rows); else x (..., m, rows) times the
 * matrix:
 * (..., m, columns). Batches broadcast; a 1-d x is a row, whose axis the result does not have. The dtype is x's, in
 * affine mode the joint one with scales and biases (else DTYPE). Sums are in float32; in bfloat16 products of more than
 * a few rows round the elements of an affine matrix to bfloat16. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_quantized_matmul(mx_array *out, mx_array x, mx_array w, mx_array scales,
                                                        mx_array MX_OPTIONAL biases, bool transpose, mx_quant_mode mode,
                                                        int64_t group_size, int64_t bits,
                                                        mx_array MX_OPTIONAL global_scale,
                                                        mx_stream MX_OPTIONAL stream);

/* mx_quantized_matmul of matrices picked by index: lhs_indices and rhs_indices, integers, broadcast against each other,
 * choose from the flattened batches of x and w (INDEX if these are empty); negative ones count from the end, others are
 * clipped. NULL takes a batch as it is. The shape is that of the indices, then m and rows or columns. Products with the
 * same matrix are computed as one, which may show in the last bits. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_gather_qmm(mx_array *out, mx_array x, mx_array w, mx_array scales,
                                                  mx_array MX_OPTIONAL biases, mx_array MX_OPTIONAL lhs_indices,
                                                  mx_array MX_OPTIONAL rhs_indices, bool transpose, mx_quant_mode mode,
                                                  int64_t group_size, int64_t bits, mx_array MX_OPTIONAL global_scale,
                                                  mx_stream MX_OPTIONAL stream);

/* The product of x (..., m, columns), quantized and dequantized, with the transposed w (..., rows, columns): packed,
 * then with its scales, or floating and without, which is quantized too. Has x's dtype; computed in float32. Not for
 * affine mode (INVALID_ARGUMENT). Global scales: both or none. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_qqmm(mx_array *out, mx_array x, mx_array w, mx_array MX_OPTIONAL scales,
                                            mx_quant_mode mode, int64_t group_size, int64_t bits,
                                            mx_array MX_OPTIONAL global_scale_x, mx_array MX_OPTIONAL global_scale_w,
                                            mx_stream MX_OPTIONAL stream);

/* mx_qqmm of matrices picked by index, as in mx_gather_qmm. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_gather_qqmm(mx_array *out, mx_array x, mx_array w, mx_array MX_OPTIONAL scales,
                                                   mx_array MX_OPTIONAL lhs_indices, mx_array MX_OPTIONAL rhs_indices,
                                                   mx_quant_mode mode, int64_t group_size, int64_t bits,
                                                   mx_array MX_OPTIONAL global_scale_x,
                                                   mx_array MX_OPTIONAL global_scale_w, mx_stream MX_OPTIONAL stream);

MX_EXTERN_C_END
#endif
