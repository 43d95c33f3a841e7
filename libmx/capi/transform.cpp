// mx/transform.h.
#include "transforms/transform.hpp"

#include "capi.h"
#include "capi/convert.hpp"

namespace mx::capi {

Ref<Transform> transform_begin(ValueVector primals) { return Transform::begin(primals); }

ValueVector transform_inputs(Transform &x) {
  const auto tracers = x.tracers();
  return {tracers.begin(), tracers.end()};
}

void transform_vjp(mx_transform_state *state_out, Transform &x, ValueVector outputs, ValueVector cotangents,
                   const int64_t *wanted, size_t n_wanted) {
  *state_out = x.finish_vjp(outputs, cotangents, optional_list(wanted, n_wanted));
}

void transform_jvp(mx_transform_state *state_out, Transform &x, ValueVector outputs, ValueVector tangents) {
  *state_out = x.finish_jvp(outputs, tangents);
}

ValueVector transform_results(Transform &x) { return x.results(); }

ValueVector transform_custom(ValueVector arguments, ValueVector outputs, uint64_t token, uint32_t rules) {
  if (!rules || rules & ~static_cast<uint32_t>(MX_RULE_VJP | MX_RULE_JVP))
    fail(MX_ERROR_INVALID_ARGUMENT, "transform_custom: rules is 0x%x", rules);
  return make_custom(arguments, outputs, {token, (rules & MX_RULE_VJP) != 0, (rules & MX_RULE_JVP) != 0});
}

void transform_rule(uint64_t *token_out, Transform &x) { *token_out = x.stopped().custom.token; }

ValueVector transform_rule_inputs(Transform &x) {
  const Record &record = x.stopped();
  return {record.inputs.begin(), record.inputs.begin() + transforms::through(record, true).last};
}

ValueVector transform_rule_outputs(Transform &x) { return x.stopped().outputs; }
ValueVector transform_rule_asked(Transform &x) { return x.asked(); }

void transform_supply(mx_transform_state *state_out, Transform &x, ValueVector values) {
  *state_out = x.supply(values);
}

}  // namespace mx::capi
