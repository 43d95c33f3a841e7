// Op attributes: a flat list of 64-bit words whose layout the op's schema (ops.def) names. Equality, hash, print and
// serialisation are therefore one function each, for all ops.
//
// Schema: words of "name:type" with type i (integer), b (bool), f (double by bits), t (dtype), l (list: count, items).
#pragma once
#include <bit>
#include <string>

#include "base/dtype.hpp"
#include "base/small_vector.hpp"

namespace mx {

class Attrs {
 public:
  Attrs &put(int64_t x) { return words_.push_back(x), *this; }
  Attrs &put(int x) { return put(static_cast<int64_t>(x)); }
  Attrs &put(bool x) { return put(static_cast<int64_t>(x)); }
  Attrs &put(double x) { return put(std::bit_cast<int64_t>(x)); }
  Attrs &put(DType x) { return put(static_cast<int64_t>(x)); }
  Attrs &put(std::span<const int64_t> list) {
    put(static_cast<int64_t>(list.size()));
    for (int64_t x : list) put(x);
    return *this;
  }
  std::span<const int64_t> words() const noexcept { return words_; }
  bool operator==(const Attrs &) const noexcept = default;
  uint64_t hash(uint64_t seed) const noexcept;
  // As "axis=1 keepdims=true"; used by dot, explain and error texts.
  std::string print(const char *schema) const;
  // Whether the words are what the schema says: checked before attributes from a file are used.
  bool fits(const char *schema) const noexcept;

 private:
  SmallVector<int64_t, 4> words_;
};

// Reads attributes back in the order in which they were put.
class AttrReader {
 public:
  explicit AttrReader(const Attrs &attrs) noexcept : words_(attrs.words()) {}
  int64_t integer() noexcept { return words_[at_++]; }
  bool boolean() noexcept { return words_[at_++] != 0; }
  double real() noexcept { return std::bit_cast<double>(words_[at_++]); }
  DType dtype() noexcept { return static_cast<DType>(words_[at_++]); }
  std::span<const int64_t> list() noexcept {
    const size_t n = static_cast<size_t>(words_[at_]), from = at_ + 1;
    at_ = from + n;
    return words_.subspan(from, n);
  }

 private:
  std::span<const int64_t> words_;
  size_t at_ = 0;
};

}  // namespace mx
