// mx/device.h: devices and streams.
#include "runtime/device.hpp"

#include "capi.h"
#include "runtime/stream.hpp"

namespace mx::capi {

int32_t device_count(mx_device_type type) noexcept { return mx::device_count(type); }

void default_device(mx_device_type *type_out, int32_t *index_out) {
  const Device device = mx::default_device();
  *type_out = device.type;
  *index_out = device.index;
}

void set_default_device(mx_device_type type, int32_t index) { mx::set_default_device(Device{type, index}); }
Ref<Stream> stream_new(mx_device_type type, int32_t index) { return new_stream(Device{type, index}); }
Ref<Stream> default_stream(mx_device_type type, int32_t index) { return mx::default_stream(Device{type, index}); }
void set_default_stream(Stream &x) { mx::set_default_stream(Ref<Stream>::share(x)); }

void stream_info(mx_device_type *type_out, int32_t *device_index_out, uint32_t *index_out, Stream &x) {
  *type_out = x.device().type;
  *device_index_out = x.device().index;
  *index_out = x.index();
}

void synchronize(Stream *x, uint32_t timeout_ms) {
  if (!(x ? x->synchronize(timeout_ms) : synchronize_all(timeout_ms)))
    fail(MX_ERROR_TIMEOUT, "synchronize: work was still running after %u ms", timeout_ms);
}

}  // namespace mx::capi
