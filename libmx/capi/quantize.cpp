// mx/quantize.h: packed matrices and products with them.
#include "ops/quantize.hpp"

#include "capi/convert.hpp"

namespace mx::capi {

ValueVector quantize(Value w, mx_quant_mode mode, int64_t group_size, int64_t bits, Value global_scale,
                     Stream *stream) {
  return ops::quantize(w, ops::quantization(mode, group_size, bits, "quantize"), Optional(global_scale), share(stream));
}

Value dequantize(Value w, Value scales, Value biases, mx_quant_mode mode, int64_t group_size, int64_t bits,
                 Value global_scale, mx_dtype dtype, Stream *stream) {
  const Optional b(biases), g(global_scale);
  return ops::dequantize({w, scales, b, g}, ops::quantization(mode, group_size, bits, "dequantize"), to_dtype(dtype),
                         share(stream));
}

Value quantized_matmul(Value x, Value w, Value scales, Value biases, bool transpose, mx_quant_mode mode,
                       int64_t group_size, int64_t bits, Value global_scale, Stream *stream) {
  const Optional b(biases), g(global_scale);
  return ops::quantized_matmul(x, {w, scales, b, g, transpose},
                               ops::quantization(mode, group_size, bits, "quantized_matmul"), share(stream));
}

Value gather_qmm(Value x, Value w, Value scales, Value biases, Value lhs_indices, Value rhs_indices, bool transpose,
                 mx_quant_mode mode, int64_t group_size, int64_t bits, Value global_scale, Stream *stream) {
  const Optional b(biases), g(global_scale), lhs(lhs_indices), rhs(rhs_indices);
  return ops::gather_qmm(x, {w, scales, b, g, transpose}, ops::quantization(mode, group_size, bits, "gather_qmm"),
                         {lhs, rhs}, share(stream));
}

Value qqmm(Value x, Value w, Value scales, mx_quant_mode mode, int64_t group_size, int64_t bits, Value global_scale_x,
           Value global_scale_w, Stream *stream) {
  const Optional s(scales), gx(global_scale_x), gw(global_scale_w);
  return ops::qqmm({x, w, s, gx, gw}, ops::quantization(mode, group_size, bits, "qqmm"), share(stream));
}

Value gather_qqmm(Value x, Value w, Value scales, Value lhs_indices, Value rhs_indices, mx_quant_mode mode,
                  int64_t group_size, int64_t bits, Value global_scale_x, Value global_scale_w, Stream *stream) {
  const Optional s(scales), gx(global_scale_x), gw(global_scale_w), lhs(lhs_indices), rhs(rhs_indices);
  return ops::gather_qqmm({x, w, s, gx, gw}, ops::quantization(mode, group_size, bits, "gather_qqmm"), {lhs, rhs},
                          share(stream));
}

}  // namespace mx::capi
