/* mx/fast.h: fused building blocks of neural networks. The conventions are at the top of mx/ops.h.
 */
#ifndef MX_FAST_H
#define MX_FAST_H
#include "mx/ops.h"

MX_EXTERN_C_BEGIN

/* (x - mean) / sqrt(var + eps) over the last axis, in float32 at least, then * weight + bias of that size (Ba et
 * al., "Layer normalization", 2016). The result has the operands' joint dtype. DTYPE unless floating. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_fast_layer_norm(mx_array *out, mx_array x, mx_array MX_OPTIONAL weight,
                                                       mx_array MX_OPTIONAL bias, double eps,
                                                       mx_stream MX_OPTIONAL stream);

/* x / sqrt(mean(x^2) + eps) over the last axis, in float32 at least, then * weight (Zhang and Sennrich, "Root mean
 * square layer normalization", 2019). DTYPE unless floating. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_fast_rms_norm(mx_array *out, mx_array x, mx_array MX_OPTIONAL weight, double eps,
                                                     mx_stream MX_OPTIONAL stream);

/* Rotary position embedding of x (batch, ..., length, features) (Su et al., "RoFormer", 2021): the first `dims`
 * features turn in pairs, neighbours if `traditional`, else the two halves. Position i has the angle (offset + i) *
 * scale * base^(-2 j / dims) for pair j; freqs (dims / 2) replace base^(2 j / dims). `offset` is an integer, 0-d or
 * (batch). DTYPE unless floating. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_fast_rope(mx_array *out, mx_array x, int64_t dims, bool traditional, double base,
                                                 double scale, mx_array offset, mx_array MX_OPTIONAL freqs,
                                                 mx_stream MX_OPTIONAL stream);

/* softmax(scale q k^T + mask) v for q (batch, heads, length, features), k and v (batch, kv_heads, length_kv, ...),
 * where heads is a multiple of kv_heads (Vaswani et al., "Attention is all you need", 2017; grouped: Ainslie et al.,
 * "GQA", 2023). `mask` broadcasts to (batch, heads, length, length_kv): bool keeps where true, floating is added.
 * `causal` aligns the last query with the last key and excludes a mask (INVALID_ARGUMENT). `sinks` (heads) are extra
 * logits in the softmax's sum. DTYPE unless floating. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_fast_scaled_dot_product_attention(mx_array *out, mx_array q, mx_array k,
                                                                         mx_array v, double scale,
                                                                         mx_array MX_OPTIONAL mask, bool causal,
                                                                         mx_array MX_OPTIONAL sinks,
                                                                         mx_stream MX_OPTIONAL stream);

MX_EXTERN_C_END
#endif
