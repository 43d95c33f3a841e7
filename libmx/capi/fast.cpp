// mx/fast.h: norms, rotary embedding and attention.
#include "ops/fast.hpp"

#include "capi/convert.hpp"

namespace mx::capi {

Ref<Array> fast_layer_norm(Array &x, Array *weight, Array *bias, double eps, Stream *stream) {
  return wrap(ops::layer_norm(x.value(), Optional(weight), Optional(bias), eps, share(stream)));
}

Ref<Array> fast_rms_norm(Array &x, Array *weight, double eps, Stream *stream) {
  return wrap(ops::rms_norm(x.value(), Optional(weight), eps, share(stream)));
}

Ref<Array> fast_rope(Array &x, int64_t dims, bool traditional, double base, double scale, Array &offset, Array *freqs,
                     Stream *stream) {
  return wrap(ops::rope(x.value(), {dims, traditional, base, scale}, offset.value(), Optional(freqs), share(stream)));
}

Ref<Array> fast_scaled_dot_product_attention(Array &q, Array &k, Array &v, double scale, Array *mask, bool causal,
                                             Array *sinks, Stream *stream) {
  const Optional mask_value(mask), sinks_value(sinks);
  const ops::AttentionOptions options{scale, mask_value, causal, sinks_value};
  return wrap(ops::attention(q.value(), k.value(), v.value(), options, share(stream)));
}

}  // namespace mx::capi
