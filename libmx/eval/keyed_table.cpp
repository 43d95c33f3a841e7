#include "eval/keyed_table.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/settled.hpp"

namespace mx {
namespace {

size_t hash_mask() noexcept {
  const char *bits = std::getenv("MX_TEST_HASH_BITS");
  const int n = bits ? std::atoi(bits) : 64;
  return n <= 0 || n >= 64 ? ~size_t{0} : (size_t{1} << n) - 1;
}

}  // namespace

// Folded products, as in Wang Yi's wyhash: a key is short, and the call of a general hash costs as much as the hashing.
size_t key_hash(std::string_view key) noexcept {
  const size_t mask = settled<hash_mask>();
  const auto fold = [](uint64_t a, uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  const auto word = [](const char *at, size_t n) {
    uint64_t x = 0;
    std::memcpy(&x, at, n);
    return x;
  };
  constexpr uint64_t odd[2] = {0x9e3779b97f4a7c15, 0xd6e8feb86659fd93};
  uint64_t hash = fold(key.size() ^ odd[0], odd[1]);
  size_t at = 0;
  for (; at + 16 <= key.size(); at += 16)
    hash = fold(hash ^ word(key.data() + at, 8) ^ odd[0], word(key.data() + at + 8, 8) ^ odd[1]);
  for (; at < key.size(); at += 8)
    hash = fold(hash ^ word(key.data() + at, std::min<size_t>(8, key.size() - at)), odd[1]);
  return hash & mask;
}

}  // namespace mx
