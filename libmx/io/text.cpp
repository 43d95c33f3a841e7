// UTF-8 and quoting.
#include "io/text.hpp"

#include <cstdio>

namespace mx::io {

size_t utf8_length(std::string_view text) noexcept {
  if (text.empty()) return 0;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const size_t n = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < n) return 0;
  for (size_t i = 1; i < n; i++)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // The second byte rules out overlong forms, surrogates and what is beyond U+10FFFF.
  if (first == 0xE0 && byte(1) < 0xA0) return 0;
  if (first == 0xED && byte(1) > 0x9F) return 0;
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) > 0x8F) return 0;
  return n;
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const size_t n = utf8_length(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

void append_utf8(std::string &out, char32_t c) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | c >> 6);
  } else {
    if (c < 0x10000) {
      put(0xE0 | c >> 12);
    } else {
      put(0xF0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3F));
    }
    put(0x80 | (c >> 6 & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

std::string quote(std::string_view text, size_t limit) {
  std::string out = "'";
  while (!text.empty()) {
    const size_t n = utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (out.size() > limit) {
      out += "...";
      break;
    }
    if (n == 0 || first < 0x20 || first == 0x7F) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", first);
      out += escaped;
      text.remove_prefix(1);
    } else {
      out += text.substr(0, n);
      text.remove_prefix(n);
    }
  }
  return out + "'";
}

}  // namespace mx::io
