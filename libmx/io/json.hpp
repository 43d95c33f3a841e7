// A strict, pull-style JSON reader (RFC 8259) for the headers of safetensors files: the caller says what must come
// next, so nothing is built that is not wanted. Relies on text.hpp.
#pragma once
#include <string>
#include <string_view>

namespace mx::io {

class JsonReader {
 public:
  // `where` is the file for messages.
  JsonReader(std::string_view text, std::string where) : text_(text), where_(std::move(where)) {}

  // {"key": value, ...}: calls member(key) before each value, which it must read. Keys may repeat.
  template <class F>
  void object(F &&member) {
    expect('{');
    if (take('}')) return;
    do {
      std::string key = string();
      expect(':');
      member(std::move(key));
    } while (take(','));
    expect('}');
  }
  // [value, ...]: calls item() before each value.
  template <class F>
  void array(F &&item) {
    expect('[');
    if (take(']')) return;
    do item();
    while (take(','));
    expect(']');
  }
  // A string, with escapes decoded. It must be valid UTF-8 without U+0000, which C strings cannot hold.
  std::string string();
  // An integer in [0, 2^63). Throws OVERFLOW beyond.
  int64_t natural();
  bool take_null();
  // Any value, nested at most 32 deep.
  void skip() { skip(32); }
  // Only spaces may follow.
  void end();

 private:
  bool take(char c) noexcept;
  bool take(std::string_view word) noexcept;
  void expect(char c);
  void skip_space() noexcept;
  void skip(int depth);
  void skip_number();
  size_t digits() noexcept;
  char32_t escape();
  char32_t hex4();
  [[noreturn]] void unexpected(const char *wanted) const;

  std::string_view text_;
  std::string where_;
};

}  // namespace mx::io
