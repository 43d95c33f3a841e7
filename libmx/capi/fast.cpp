// mx/fast.h: norms, rotary embedding and attention.
#include "ops/fast.hpp"

#include "capi/convert.hpp"

namespace mx::capi {

Value fast_layer_norm(Value x, Value weight, Value bias, double eps, Stream *stream) {
  return ops::layer_norm(x, Optional(weight), Optional(bias), eps, share(stream));
}

Value fast_rms_norm(Value x, Value weight, double eps, Stream *stream) {
  return ops::rms_norm(x, Optional(weight), eps, share(stream));
}

Value fast_rope(Value x, int64_t dims, bool traditional, double base, double scale, Value offset, Value freqs,
                Stream *stream) {
  return ops::rope(x, {dims, traditional, base, scale}, offset, Optional(freqs), share(stream));
}

Value fast_scaled_dot_product_attention(Value q, Value k, Value v, double scale, Value mask, bool causal, Value sinks,
                                        Stream *stream) {
  const Optional mask_value(mask), sinks_value(sinks);
  const ops::AttentionOptions options{scale, mask_value, causal, sinks_value};
  return ops::attention(q, k, v, options, share(stream));
}

}  // namespace mx::capi
