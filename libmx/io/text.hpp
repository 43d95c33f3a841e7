// UTF-8, and text from files in error messages: names in a file may hold anything, a message must stay short, printable
// and valid UTF-8. Relies on nothing.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace mx::io {

// The bytes of the first character of `text`, 0 if they are not well-formed UTF-8 (RFC 3629: no surrogates, nothing
// overlong, nothing beyond U+10FFFF) or if `text` is empty.
size_t utf8_length(std::string_view text) noexcept;
bool is_utf8(std::string_view text) noexcept;
void append_utf8(std::string &out, char32_t character);

// `text` in single quotes; what is not printable becomes \xNN, what is beyond `limit` bytes "...".
std::string quote(std::string_view text, size_t limit = 80);

}  // namespace mx::io
