// The backend of each kind of device.
#include <atomic>

#include "backends/backend.hpp"
#include "backends/cpu/backend.hpp"
#include "base/status.hpp"

namespace mx {
namespace {

constinit std::atomic<Backend *> added[2] = {};

}  // namespace

Backend &backend_for(Device device) {
  if (device.type == MX_CPU) return cpu::backend();
  Backend *const backend = added[device.type].load(std::memory_order_acquire);
  if (!backend) fail(MX_ERROR_UNSUPPORTED, "device type %d has no backend", static_cast<int>(device.type));
  return *backend;
}

void add_backend(mx_device_type type, Backend &backend) {
  added[type].store(&backend, std::memory_order_release);
  add_device(type);
}

}  // namespace mx
