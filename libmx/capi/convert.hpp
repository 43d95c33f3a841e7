// Between what the shims pass and what the builders take: streams, lists, and what may be absent.
#pragma once
#include "capi.h"
#include "ops/build.hpp"

namespace mx::capi {

inline Ref<Stream> share(Stream *stream) noexcept { return Ref<Stream>::share(stream); }
inline ops::List list(const int64_t *xs, size_t n) noexcept { return {xs, n}; }
// NULL stands for absent.
inline std::optional<ops::List> optional_list(const int64_t *xs, size_t n) noexcept {
  return xs ? std::optional<ops::List>({xs, n}) : std::nullopt;
}

// An operand that may be left out, as the pointer that builders take.
class Optional {
 public:
  explicit Optional(Value value) : value_(std::move(value)) {}
  operator const Value *() const noexcept { return value_.node ? &value_ : nullptr; }

 private:
  Value value_;
};

}  // namespace mx::capi
