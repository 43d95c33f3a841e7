// Reading and writing npy headers. The header is parsed by a grammar for just this dict: nothing in it is evaluated.
#include "io/npy.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string_view>

#include "io/text.hpp"
#include "mx/array.h"

namespace mx::io {
namespace {

constexpr std::string_view magic("\x93NUMPY", 6);
constexpr uint32_t max_header = 1 << 20;  // NumPy itself refuses more than 10 000 bytes by default
constexpr bool is_little = std::endian::native == std::endian::little;

struct Descr {
  DType dtype;
  std::string_view text;  // without the byte order
};

constexpr Descr descrs[] = {
    {DType::bool_, "b1"},    {DType::uint8, "u1"},     {DType::uint16, "u2"},      {DType::uint32, "u4"},
    {DType::uint64, "u8"},   {DType::int8, "i1"},      {DType::int16, "i2"},       {DType::int32, "i4"},
    {DType::int64, "i8"},    {DType::float16, "f2"},   {DType::float32, "f4"},     {DType::float64, "f8"},
    {DType::bfloat16, "V2"}, {DType::complex64, "c8"}, {DType::complex128, "c16"},
};
static_assert(std::size(descrs) == n_dtypes);

// The dict of the header. The grammar: `{` (string `:` value `,`?)* `}` space*, values being a string, True, False or a
// tuple of naturals.
class HeaderParser {
 public:
  HeaderParser(const Source &source, std::string_view text) : source_(source), text_(text) {}

  void parse(NpyHeader &header) {
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!take('}')) {
      const std::string_view key = string();
      expect(':');
      bool *seen = key == "descr" ? &has_descr : key == "fortran_order" ? &has_order : &has_shape;
      if (*seen || (seen == &has_shape && key != "shape"))
        corrupt(source_, "npy header has the key %s %s", quote(key).c_str(), *seen ? "twice" : "that it must not have");
      *seen = true;
      if (seen == &has_descr) descr(header);
      if (seen == &has_order) header.fortran = boolean();
      if (seen == &has_shape) shape(header.spec.shape);
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!text_.empty()) unexpected("the end");
    if (!has_descr || !has_order || !has_shape) corrupt(source_, "npy header lacks descr, fortran_order or shape");
  }

 private:
  void skip_space() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n' || text_[0] == '\t' || text_[0] == '\r'))
      text_.remove_prefix(1);
  }
  bool take(char c) {
    skip_space();
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view word) {
    skip_space();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  [[noreturn]] void unexpected(const char *wanted) {
    corrupt(source_, "npy header: expected %s before %s", wanted, quote(text_, 40).c_str());
  }
  void expect(char c) {
    const char wanted[] = {'\'', c, '\'', 0};
    if (!take(c)) unexpected(wanted);
  }
  std::string_view string() {
    skip_space();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) unexpected("a string");
    const size_t end = text_.find(text_[0], 1);
    if (end == text_.npos) unexpected("the end of a string");
    const std::string_view value = text_.substr(1, end - 1);
    if (value.find('\\') != value.npos) unexpected("a string without escapes");
    text_.remove_prefix(end + 1);
    return value;
  }
  bool boolean() {
    if (take("True")) return true;
    if (!take("False")) unexpected("True or False");
    return false;
  }
  int64_t natural() {
    skip_space();
    const auto is_digit = [&] { return !text_.empty() && text_[0] >= '0' && text_[0] <= '9'; };
    if (!is_digit()) unexpected("a dimension");
    const std::string shown = quote(text_, 40);
    int64_t value = 0;
    for (; is_digit(); text_.remove_prefix(1))
      if (__builtin_mul_overflow(value, int64_t{10}, &value) || __builtin_add_overflow(value, text_[0] - '0', &value))
        fail(MX_ERROR_OVERFLOW, "%s: npy header: a dimension does not fit 63 bits: %s", source_.name().c_str(),
             shown.c_str());
    if (!text_.empty() && text_[0] == 'L') text_.remove_prefix(1);  // written by Python 2
    return value;
  }
  void shape(Dims &dims) {
    expect('(');
    bool comma = true;
    while (!take(')')) {
      if (!comma) unexpected("',' or ')'");
      if (dims.size() == MX_MAX_DIMS) corrupt(source_, "npy header: more than %d dimensions", MX_MAX_DIMS);
      dims.push_back(natural());
      comma = take(',');
    }
    if (dims.size() == 1 && !comma) corrupt(source_, "npy header: the shape is a number in parentheses, not a tuple");
  }
  void descr(NpyHeader &header) {
    if (take('[')) corrupt(source_, "npy header: structured dtypes are not supported");
    const std::string_view text = string();
    const char order = text.empty() ? 0 : text[0];
    const bool has_order = order == '<' || order == '>' || order == '=' || order == '|';
    const std::string_view kind = text.substr(has_order ? 1 : 0);
    const auto *found =
        std::find_if(std::begin(descrs), std::end(descrs), [&](const Descr &d) { return d.text == kind; });
    if (found == std::end(descrs)) corrupt(source_, "npy header: unsupported dtype %s", quote(text).c_str());
    header.spec.dtype = found->dtype;
    const bool one_byte = itemsize(found->dtype) == 1;
    if (order == '|' && !one_byte && kind != "V2")
      corrupt(source_, "npy header: dtype %s lacks its byte order", quote(text).c_str());
    header.swap = !one_byte && order == (is_little ? '>' : '<');
  }

  const Source &source_;
  std::string_view text_;
};

std::span<std::byte> writable(char *p, size_t n) { return {reinterpret_cast<std::byte *>(p), n}; }

}  // namespace

uint64_t checked_bytes(const Source &source, const std::string &what, const Spec &spec) {
  int64_t strides = itemsize(spec.dtype);
  bool empty = false, fits = true;
  for (int64_t d : spec.shape) {
    empty |= d == 0;
    fits &= !__builtin_mul_overflow(strides, std::max<int64_t>(d, 1), &strides);
  }
  if (!fits)
    fail(MX_ERROR_OVERFLOW, "%s: %s has too many elements: shape %s, dtype %s", source.name().c_str(), what.c_str(),
         to_string(spec.shape).c_str(), name(spec.dtype));
  return empty ? 0 : static_cast<uint64_t>(strides);
}

NpyHeader read_npy_header(const Source &source) {
  char prefix[12];
  const std::unique_ptr<Reader> reader = source.reader(0);
  if (source.size() < 10)
    corrupt(source, "is no npy file: it has %llu bytes", static_cast<unsigned long long>(source.size()));
  reader->read(writable(prefix, 8));
  if (std::string_view(prefix, 6) != magic)
    corrupt(source, "is no npy file: it begins with %s", quote({prefix, 6}).c_str());
  const auto byte = [&](size_t i) { return uint32_t{static_cast<unsigned char>(prefix[i])}; };
  if (byte(6) < 1 || byte(6) > 3 || byte(7) != 0)
    corrupt(source, "npy version %u.%u is not supported", byte(6), byte(7));
  const size_t n_length = byte(6) == 1 ? 2 : 4;
  if (source.size() < 8 + n_length) corrupt(source, "npy header is cut off");
  reader->read(writable(prefix + 8, n_length));
  const uint32_t length = byte(8) | byte(9) << 8 | (n_length == 4 ? byte(10) << 16 | byte(11) << 24 : 0);
  if (length > max_header || length > source.size() - 8 - n_length)
    corrupt(source, "npy header claims %u bytes, the file has %llu", length,
            static_cast<unsigned long long>(source.size()));

  std::string text(length, '\0');
  reader->read(writable(text.data(), length));
  NpyHeader header;
  HeaderParser(source, text).parse(header);
  header.data_offset = 8 + n_length + length;
  header.data_bytes = checked_bytes(source, "the array", header.spec);
  if (header.data_bytes > source.size() - header.data_offset)
    corrupt(source, "npy header claims %llu bytes of data (shape %s, dtype %s), there are %llu",
            static_cast<unsigned long long>(header.data_bytes), to_string(header.spec.shape).c_str(),
            name(header.spec.dtype), static_cast<unsigned long long>(source.size() - header.data_offset));
  return header;
}

std::string npy_header(const Spec &spec) {
  const std::string_view kind = descrs[static_cast<size_t>(spec.dtype)].text;
  const char order = itemsize(spec.dtype) == 1 ? '|' : is_little ? '<' : '>';
  std::string dict = std::string("{'descr': '") + order + std::string(kind) + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < spec.shape.size(); i++) dict += (i ? ", " : "") + std::to_string(spec.shape[i]);
  dict += spec.shape.size() == 1 ? ",), }" : "), }";
  // NumPy leaves room for the first dimension to grow in place to 21 digits, then aligns the data to 64 bytes.
  if (!spec.shape.empty()) dict.append(21 - std::to_string(spec.shape[0]).size(), ' ');
  dict.append(64 - (10 + dict.size() + 1) % 64, ' ');
  dict += '\n';
  std::string header(magic);
  header += {1, 0, static_cast<char>(dict.size() & 0xFF), static_cast<char>(dict.size() >> 8)};
  return header + dict;
}

}  // namespace mx::io
