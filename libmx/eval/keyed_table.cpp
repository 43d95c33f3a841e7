#include "eval/keyed_table.hpp"

#include <cstdlib>

namespace mx {
namespace {

size_t hash_mask() noexcept {
  const char *bits = std::getenv("MX_TEST_HASH_BITS");
  const int n = bits ? std::atoi(bits) : 64;
  return n <= 0 || n >= 64 ? ~size_t{0} : (size_t{1} << n) - 1;
}

}  // namespace

size_t key_hash(std::string_view key) noexcept {
  static const size_t mask = hash_mask();
  return std::hash<std::string_view>()(key) & mask;
}

}  // namespace mx
