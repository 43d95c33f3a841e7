// The JSON reader.
#include "io/json.hpp"

#include "base/status.hpp"
#include "io/text.hpp"

namespace mx::io {

void JsonReader::unexpected(const char *wanted) const {
  fail(MX_ERROR_IO, "%s: JSON header: expected %s before %s", where_.c_str(), wanted, quote(text_, 40).c_str());
}

void JsonReader::skip_space() noexcept {
  while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n' || text_[0] == '\t' || text_[0] == '\r'))
    text_.remove_prefix(1);
}

bool JsonReader::take(char c) noexcept {
  skip_space();
  if (text_.empty() || text_[0] != c) return false;
  text_.remove_prefix(1);
  return true;
}

bool JsonReader::take(std::string_view word) noexcept {
  skip_space();
  if (!text_.starts_with(word)) return false;
  text_.remove_prefix(word.size());
  return true;
}

void JsonReader::expect(char c) {
  const char wanted[] = {'\'', c, '\'', 0};
  if (!take(c)) unexpected(wanted);
}

bool JsonReader::take_null() { return take("null"); }

void JsonReader::end() {
  skip_space();
  if (!text_.empty()) unexpected("the end");
}

std::string JsonReader::string() {
  if (!take('"')) unexpected("a string");
  std::string out;
  for (;;) {
    if (text_.empty()) unexpected("the end of a string");
    if (text_[0] == '"') break;
    if (text_[0] == '\\') {
      append_utf8(out, escape());
      continue;
    }
    const size_t n = utf8_length(text_);
    if (n == 0 || static_cast<unsigned char>(text_[0]) < 0x20) unexpected("a character");
    out += text_.substr(0, n);
    text_.remove_prefix(n);
  }
  text_.remove_prefix(1);
  return out;
}

char32_t JsonReader::escape() {
  constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
  if (text_.size() < 2) unexpected("an escape");
  if (const size_t i = letters.find(text_[1]); i != letters.npos) {
    text_.remove_prefix(2);
    return static_cast<unsigned char>(meanings[i]);
  }
  if (text_[1] != 'u') unexpected("an escape");
  char32_t c = hex4();
  if (c >= 0xD800 && c < 0xDC00) {  // the first half of a pair
    if (!text_.starts_with("\\u")) unexpected("a low surrogate");
    const char32_t low = hex4();
    if (low < 0xDC00 || low > 0xDFFF) unexpected("a low surrogate");
    c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
  } else if (c >= 0xDC00 && c < 0xE000) {
    unexpected("a high surrogate");
  }
  if (c == 0) unexpected("a string without U+0000");
  return c;
}

// \uXXXX
char32_t JsonReader::hex4() {
  char32_t c = 0;
  if (text_.size() < 6) unexpected("four hexadecimal digits");
  for (size_t i = 2; i < 6; i++) {
    const char d = text_[i];
    const int value = d >= '0' && d <= '9' ? d - '0' : (d | 32) >= 'a' && (d | 32) <= 'f' ? (d | 32) - 'a' + 10 : -1;
    if (value < 0) unexpected("four hexadecimal digits");
    c = c << 4 | static_cast<char32_t>(value);
  }
  text_.remove_prefix(6);
  return c;
}

size_t JsonReader::digits() noexcept {
  size_t n = 0;
  while (n < text_.size() && text_[n] >= '0' && text_[n] <= '9') n++;
  return n;
}

int64_t JsonReader::natural() {
  skip_space();
  const size_t n = digits();
  const std::string_view number = text_.substr(0, n);
  if (n == 0 || (n > 1 && number[0] == '0')) unexpected("a number that is not negative");
  int64_t value = 0;
  for (char d : number)
    if (__builtin_mul_overflow(value, int64_t{10}, &value) || __builtin_add_overflow(value, d - '0', &value))
      fail(MX_ERROR_OVERFLOW, "%s: JSON header: a number does not fit 63 bits: %s", where_.c_str(),
           quote(number, 40).c_str());
  if (n < text_.size() && (text_[n] == '.' || (text_[n] | 32) == 'e')) unexpected("an integer");
  text_.remove_prefix(n);
  return value;
}

void JsonReader::skip_number() {
  take('-');
  const size_t n = digits();
  if (n == 0 || (n > 1 && text_[0] == '0')) unexpected("a value");
  text_.remove_prefix(n);
  const auto some_digits = [&] {
    const size_t m = digits();
    if (m == 0) unexpected("a digit");
    text_.remove_prefix(m);
  };
  if (text_.starts_with('.')) {
    text_.remove_prefix(1);
    some_digits();
  }
  if (!text_.empty() && (text_[0] | 32) == 'e') {
    text_.remove_prefix(1);
    if (text_.starts_with('+') || text_.starts_with('-')) text_.remove_prefix(1);
    some_digits();
  }
}

void JsonReader::skip(int depth) {
  skip_space();
  if (depth == 0) unexpected("less deeply nested values");
  if (text_.starts_with('{')) return object([&](const std::string &) { skip(depth - 1); });
  if (text_.starts_with('[')) return array([&] { skip(depth - 1); });
  if (text_.starts_with('"')) return static_cast<void>(string());
  if (take("true") || take("false") || take("null")) return;
  skip_number();
}

}  // namespace mx::io
