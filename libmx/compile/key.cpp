#include "compile/key.hpp"

namespace mx {

void Key::put(const void *data, size_t n) { bytes_.append(static_cast<const char *>(data), n); }

Key::Key(std::span<const Value> inputs, std::string_view host_key, bool shapeless) : host_size_(host_key.size()) {
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

}  // namespace mx
