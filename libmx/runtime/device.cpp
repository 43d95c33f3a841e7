// The device table: one CPU, and what backends were added for. Defaults are plain words, so reading one never fails.
#include "runtime/device.hpp"

#include <atomic>

#include "base/status.hpp"

namespace mx {
namespace {

constinit std::atomic<uint64_t> process_default{0};  // type << 32 | index; MX_CPU 0
constinit std::atomic<int> counts[2] = {1, 0};
thread_local constinit Device thread_default;
thread_local constinit bool has_thread_default = false;

uint64_t pack(Device device) noexcept { return uint64_t{device.type} << 32 | static_cast<uint32_t>(device.index); }
Device unpack(uint64_t word) noexcept {
  return {static_cast<mx_device_type>(word >> 32), static_cast<int32_t>(word & UINT32_MAX)};
}

void require_device(Device device) {
  if (device.index < 0 || device.index >= device_count(device.type))
    fail(MX_ERROR_INVALID_ARGUMENT, "set_default_device: there is no device %d of type %d", device.index,
         static_cast<int>(device.type));
}

}  // namespace

int device_count(mx_device_type type) noexcept {
  return type == MX_CPU || type == MX_GPU ? counts[type].load(std::memory_order_acquire) : 0;
}

void add_device(mx_device_type type) noexcept { counts[type].store(1, std::memory_order_release); }

Device default_device() noexcept {
  return has_thread_default ? thread_default : unpack(process_default.load(std::memory_order_relaxed));
}

void set_default_device(Device device) {
  require_device(device);
  process_default.store(pack(device), std::memory_order_relaxed);
}

void set_thread_default_device(const Device *device) {
  if (device) {
    require_device(*device);
    thread_default = *device;
  }
  has_thread_default = device != nullptr;
}

}  // namespace mx
