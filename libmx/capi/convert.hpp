// Between what the shims pass and what the builders take: arrays and values, streams, lists and absent lists.
#pragma once
#include "capi.h"
#include "ops/build.hpp"

namespace mx::capi {

using ArrayList = SmallVector<Ref<Array>, 4>;
using ValueVector = SmallVector<Value, 2>;

inline Ref<Stream> share(Stream *stream) noexcept { return Ref<Stream>::share(stream); }
inline Ref<Array> wrap(Value value) { return make_ref<Array>(std::move(value)); }
inline ops::List list(const int64_t *xs, size_t n) noexcept { return {xs, n}; }
// NULL stands for absent.
inline std::optional<ops::List> optional_list(const int64_t *xs, size_t n) noexcept {
  return xs ? std::optional<ops::List>({xs, n}) : std::nullopt;
}

inline ValueVector values(std::span<Array *const> arrays) {
  ValueVector out;
  for (Array *array : arrays) out.push_back(array->value());
  return out;
}
inline ops::Values span(const ValueVector &v) noexcept { return {v.data(), v.size()}; }

inline ArrayList wrap_all(std::span<const Value> values) {
  ArrayList out;
  for (const Value &value : values) out.push_back(wrap(value));
  return out;
}

// The value of an operand that may be left out, as the pointer that builders take.
class Optional {
 public:
  explicit Optional(Array *array) {
    if (array) value_ = array->value();
  }
  operator const Value *() const noexcept { return value_.node ? &value_ : nullptr; }

 private:
  Value value_;
};

}  // namespace mx::capi
