#include "compile/key.hpp"

#include <cstdlib>

namespace mx {
namespace {

size_t hash_mask() noexcept {
  const char *bits = std::getenv("MX_TEST_HASH_BITS");
  const int n = bits ? std::atoi(bits) : 64;
  return n <= 0 || n >= 64 ? ~size_t{0} : (size_t{1} << n) - 1;
}

}  // namespace

void Key::put(const void *data, size_t n) { bytes_.append(static_cast<const char *>(data), n); }

Key::Key(std::span<const Value> inputs, std::string_view host_key, bool shapeless) {
  bytes_.reserve(host_key.size() + 32 + inputs.size() * 40);
  put(static_cast<int64_t>(host_key.size()));
  put(host_key.data(), host_key.size());
  put(static_cast<int64_t>(inputs.size()));
  for (const Value &input : inputs) {
    const Spec &spec = spec_of(input);
    put(static_cast<int64_t>(spec.dtype) << 32 | static_cast<int64_t>(spec.shape.size()));
    if (shapeless) continue;
    put(spec.shape.data(), spec.shape.size() * sizeof(int64_t));
  }
}

size_t KeyHash::operator()(std::string_view key) const noexcept {
  static const size_t mask = hash_mask();
  return std::hash<std::string_view>()(key) & mask;
}

}  // namespace mx
