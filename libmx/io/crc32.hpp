// CRC-32 of ZIP (ISO 3309, reflected polynomial 0xEDB88320), eight bytes a step. Relies on nothing.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mx::io {

// The checksum of what `crc` is the checksum of (0: nothing) followed by `n` more bytes.
uint32_t crc32(uint32_t crc, const void *data, size_t n) noexcept;

}  // namespace mx::io
