// Devices: what streams run on. The table is leaked.
#pragma once
#include <cstdint>

#include "mx/device.h"

namespace mx {

struct Device {
  mx_device_type type = MX_CPU;
  int32_t index = 0;
  bool operator==(const Device &) const noexcept = default;
};

int device_count(mx_device_type type) noexcept;
void add_device(mx_device_type type) noexcept;  // one that a backend was added for
// The process's default, or the calling thread's override.
Device default_device() noexcept;
void set_default_device(Device device);                // process-wide; throws INVALID_ARGUMENT if there is none such
void set_thread_default_device(const Device *device);  // nullptr removes the override

}  // namespace mx
