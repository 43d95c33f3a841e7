// CRC-32 by slicing: table k holds the effect of a byte that k more bytes follow, so that eight table look-ups, which
// do not depend on each other, advance the sum by eight bytes (Kounavis and Berry, "A systematic approach to building
// high performance software-based CRC generators", 2005).
#include "io/crc32.hpp"

#include <array>

namespace mx::io {
namespace {

using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables t{};
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; bit++) c = c & 1 ? c >> 1 ^ 0xEDB88320u : c >> 1;
    t[0][i] = c;
  }
  for (size_t k = 1; k < 8; k++)
    for (size_t i = 0; i < 256; i++) t[k][i] = t[k - 1][i] >> 8 ^ t[0][t[k - 1][i] & 0xFF];
  return t;
}

constexpr Tables tables = make_tables();

}  // namespace

uint32_t crc32(uint32_t crc, const void *data, size_t n) noexcept {
  const auto *p = static_cast<const unsigned char *>(data);
  crc = ~crc;
  for (; n >= 8; n -= 8, p += 8) {
    const uint32_t low = crc ^ (uint32_t{p[0]} | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16 | uint32_t{p[3]} << 24);
    crc = tables[7][low & 0xFF] ^ tables[6][low >> 8 & 0xFF] ^ tables[5][low >> 16 & 0xFF] ^ tables[4][low >> 24] ^
          tables[3][p[4]] ^ tables[2][p[5]] ^ tables[1][p[6]] ^ tables[0][p[7]];
  }
  for (; n > 0; n--) crc = crc >> 8 ^ tables[0][(crc ^ *p++) & 0xFF];
  return ~crc;
}

}  // namespace mx::io
