// mx/vmap.h: mappings.
#include "transforms/vmap.hpp"

#include "capi/convert.hpp"

namespace mx::capi {

Ref<Vmap> vmap_begin(ValueVector inputs, const int64_t *axes, size_t n_axes) {
  return Vmap::begin(inputs, list(axes, n_axes));
}

ValueVector vmap_inputs(Vmap &x) {
  const auto placeholders = x.placeholders();
  return {placeholders.begin(), placeholders.end()};
}

Value vmap_resolve(int64_t *axis_out, Vmap &x, Value value) {
  vmap::Mapped mapped = x.resolve(value);
  *axis_out = mapped.differs() ? mapped.axis : int64_t{MX_NO_AXIS};
  return std::move(mapped.value);
}

Value vmap_extend(Vmap &x, Value value, int64_t axis) { return x.extend(value, axis); }

ValueVector vmap_finish(Vmap &x, ValueVector outputs, const int64_t *axes, size_t n_axes) {
  return x.finish(outputs, list(axes, n_axes));
}

}  // namespace mx::capi
