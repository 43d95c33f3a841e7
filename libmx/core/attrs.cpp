// Attributes: hashing, printing and checking by schema.
#include "core/attrs.hpp"

#include <charconv>
#include <string_view>

namespace mx {
namespace {

// Walks "name:t name:t"; fn gets each name and type letter.
template <class F>
void each_field(std::string_view schema, F fn) {
  while (!schema.empty()) {
    const size_t end = std::min(schema.find(' '), schema.size());
    const std::string_view field = schema.substr(0, end);
    fn(field.substr(0, field.find(':')), field.back());
    schema.remove_prefix(std::min(end + 1, schema.size()));
  }
}

void append(std::string &text, double x) {
  char digits[32];
  const std::to_chars_result r = std::to_chars(digits, digits + sizeof digits, x);
  text.append(digits, r.ptr);
}

void append_list(std::string &text, std::span<const int64_t> list) {
  text += '[';
  for (size_t i = 0; i < list.size(); i++) text += (i ? "," : "") + std::to_string(list[i]);
  text += ']';
}

}  // namespace

uint64_t Attrs::hash(uint64_t seed) const noexcept {
  // Multiply and fold per word; the length goes first so that a prefix never collides by construction.
  constexpr uint64_t k = 0x9e3779b97f4a7c15;
  uint64_t h = (seed ^ words_.size()) * k;
  for (int64_t word : words_) {
    h = (h ^ static_cast<uint64_t>(word)) * k;
    h ^= h >> 32;
  }
  return h;
}

std::string Attrs::print(const char *schema) const {
  std::string text;
  AttrReader reader(*this);
  each_field(schema, [&](std::string_view name, char type) {
    if (!text.empty()) text += ' ';
    text.append(name) += '=';
    switch (type) {
      case 'b':
        text += reader.boolean() ? "true" : "false";
        break;
      case 'f':
        append(text, reader.real());
        break;
      case 't':
        text += mx::name(reader.dtype());
        break;
      case 'l':
        append_list(text, reader.list());
        break;
      default:
        text += std::to_string(reader.integer());
    }
  });
  return text;
}

bool Attrs::fits(const char *schema) const noexcept {
  size_t at = 0;
  bool ok = true;
  each_field(schema, [&](std::string_view, char type) {
    if (!ok) return;
    ok = at < words_.size();
    if (!ok) return;
    const int64_t word = words_[at++];
    if (type == 'b') ok = word == 0 || word == 1;
    if (type == 't') ok = word >= 0 && word < n_dtypes;
    if (type != 'l') return;
    ok = word >= 0 && static_cast<uint64_t>(word) <= words_.size() - at;
    if (ok) at += static_cast<size_t>(word);
  });
  return ok && at == words_.size();
}

}  // namespace mx
