// Call signatures: a byte string that is equal exactly when an entry may be reused. A hash only finds candidates.
#pragma once
#include <string_view>

#include "core/node.hpp"

namespace mx {

class Key {
 public:
  // The host's key, and of each input the dtype and the shape, or only the rank if `shapeless`. Lengths go first, so no
  // two different lists encode alike.
  Key(std::span<const Value> inputs, std::string_view host_key, bool shapeless);
  std::string_view bytes() const noexcept { return {bytes_.data(), bytes_.size()}; }
  std::string_view host_key() const noexcept { return bytes().substr(sizeof(int64_t), host_size_); }

 private:
  void put(const void *data, size_t n);
  void put(int64_t x) { put(&x, sizeof x); }
  SmallVector<char, 192> bytes_;
  size_t host_size_;
};

}  // namespace mx
