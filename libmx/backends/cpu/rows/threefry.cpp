// Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; SC 2011).
// Counters are independent of each other, so a loop over them is one vector per state word.
#include "backends/cpu/rows/level.hpp"

namespace mx::cpu::rows::MX_LEVEL {
namespace {

typedef uint32_t UnalignedU __attribute__((vector_size(width * 4), aligned(4), may_alias));

template <int r>
MX_INLINE void mix(U &a, U &b) {
  a += b;
  b = (b << r | b >> (32 - r)) ^ a;
}

MX_INLINE void encrypt(U &a, U &b, const uint32_t k[3]) {
  a += k[0];
  b += k[1];
  for (uint32_t group = 1; group <= 5; group++) {
    if (group % 2) {
      mix<13>(a, b), mix<15>(a, b), mix<26>(a, b), mix<6>(a, b);
    } else {
      mix<17>(a, b), mix<29>(a, b), mix<16>(a, b), mix<24>(a, b);
    }
    a += k[group % 3];
    b += k[(group + 1) % 3] + group;
  }
}

}  // namespace

void threefry(uint32_t *first, uint32_t *second, const uint32_t key[2], uint32_t counter0, uint32_t counter1,
              size_t n) {
  const uint32_t k[3] = {key[0], key[1], 0x1bd11bdau ^ key[0] ^ key[1]};
  U lane;
  for (int i = 0; i < width; i++) lane[i] = static_cast<uint32_t>(i);
  size_t i = 0;
  for (; i < n; i += width) {
    U a = lane + (counter0 + static_cast<uint32_t>(i)), b = lane + (counter1 + static_cast<uint32_t>(i));
    encrypt(a, b, k);
    if (i + width <= n) {
      *reinterpret_cast<UnalignedU *>(first + i) = a;
      *reinterpret_cast<UnalignedU *>(second + i) = b;
    } else {
      for (size_t j = i; j < n; j++) {
        first[j] = a[j - i];
        second[j] = b[j - i];
      }
    }
  }
}

}  // namespace mx::cpu::rows::MX_LEVEL
