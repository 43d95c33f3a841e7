#include "compile/key.hpp"

#include <cstdlib>
#include <cstring>

namespace mx {
namespace {

size_t hash_mask() noexcept {
  const char *bits = std::getenv("MX_TEST_HASH_BITS");
  const int n = bits ? std::atoi(bits) : 64;
  return n <= 0 || n >= 64 ? ~size_t{0} : (size_t{1} << n) - 1;
}

}  // namespace

void Key::put(int64_t x) {
  const size_t at = bytes_.size();
  bytes_.resize(at + sizeof x);
  std::memcpy(bytes_.data() + at, &x, sizeof x);
}

Key::Key(std::span<const Value> inputs, std::string_view host_key, bool shapeless) {
  bytes_.reserve(host_key.size() + 32 + inputs.size() * 40);
  put(static_cast<int64_t>(host_key.size()));
  for (char c : host_key) bytes_.push_back(c);
  put(static_cast<int64_t>(inputs.size()));
  for (const Value &input : inputs) {
    const Spec &spec = spec_of(input);
    put(static_cast<int64_t>(spec.dtype) << 32 | static_cast<int64_t>(spec.shape.size()));
    if (shapeless) continue;
    for (int64_t size : spec.shape) put(size);
  }
}

size_t KeyHash::operator()(std::string_view key) const noexcept {
  static const size_t mask = hash_mask();
  return std::hash<std::string_view>()(key) & mask;
}

}  // namespace mx
