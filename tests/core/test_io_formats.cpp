// The parsers of npy, npz and safetensors on files in memory: what they accept and how they refuse.
#include <algorithm>

#include "../c/check.h"
#include "io/crc32.hpp"
#include "io/safetensors.hpp"
#include "io/text.hpp"
#include "io_samples.hpp"
#include "mx/array.h"

using namespace mx;
using samples::elements;
using samples::little;
using samples::npy_with;
using samples::parse;
using samples::safetensors_with;
using samples::zip_of;

namespace {

// True if the file is refused with this status and a message that holds `text`.
bool refused(std::string_view file, mx_format format, mx_status status, const char *text) {
  try {
    parse(file, format);
  } catch (const Error &e) {
    if (e.status() == status && std::strstr(e.what(), "memory") == e.what() && std::strstr(e.what(), text)) return true;
    std::fprintf(stderr, "got %d: %s\nwanted %d: %s\n", e.status(), e.what(), status, text);
    return false;
  }
  std::fprintf(stderr, "not refused; wanted: %s\n", text);
  return false;
}

bool refused_npy(std::string_view dict, const char *text, mx_status status = MX_ERROR_IO) {
  return refused(npy_with(dict, std::string(64, 'x')), MX_FORMAT_NPY, status, text);
}

bool refused_json(std::string_view json, const char *text, mx_status status = MX_ERROR_IO) {
  return refused(safetensors_with(json, "12345678"), MX_FORMAT_SAFETENSORS, status, text);
}

void test_text() {
  CHECK(io::is_utf8("") && io::is_utf8("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
  for (const char *bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
                          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xff"})
    CHECK(!io::is_utf8(bad));
  CHECK(io::quote("a\nb\xff\xc3\xa9") == "'a\\x0ab\\xff\xc3\xa9'");
  CHECK(io::quote(std::string(200, 'a')).size() == 85);
  std::string utf8;
  for (char32_t c : {U'a', U'\u00e9', U'\u20ac', U'\U0001F600'}) io::append_utf8(utf8, c);
  CHECK(utf8 == "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

void test_crc32() {
  CHECK(io::crc32(0, "", 0) == 0);
  CHECK(io::crc32(0, "123456789", 9) == 0xCBF43926);  // the check value of the standard
  CHECK(io::crc32(io::crc32(0, "12345", 5), "6789", 4) == 0xCBF43926);
  const std::string long_text(1000, 'q');
  uint32_t bytewise = 0;
  for (char c : long_text) bytewise = io::crc32(bytewise, &c, 1);
  CHECK(io::crc32(0, long_text.data(), long_text.size()) == bytewise);
}

void test_npy_header() {
  const std::string vector = io::npy_header({DType::float32, {3}});
  CHECK(vector.size() == 128);
  CHECK(vector.starts_with(
      std::string_view("\x93NUMPY\x01\0v\0{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 67)));
  CHECK(vector.ends_with(" \n"));
  CHECK(io::npy_header({DType::bool_, {}}).find("'|b1', 'fortran_order': False, 'shape': (), }") != std::string::npos);
  CHECK(io::npy_header({DType::bfloat16, {2, 3}}).find("'<V2', 'fortran_order': False, 'shape': (2, 3), }") !=
        std::string::npos);
  const std::string deep = io::npy_header({DType::uint8, Dims(MX_MAX_DIMS, 1)});
  CHECK(deep.size() % 64 == 0 && parse(deep + "x", MX_FORMAT_NPY).entries[0].spec.shape.size() == MX_MAX_DIMS);
}

void test_npy_accepts() {
  for (int d = 0; d < n_dtypes; d++) {
    const Spec spec{static_cast<DType>(d), {2, 3}};
    const std::string data(static_cast<size_t>(byte_count(spec)), '\1');
    const io::Contents contents = parse(samples::npy(spec, data), MX_FORMAT_ANY);
    CHECK(contents.entries.size() == 1 && contents.entries[0].spec == spec && contents.entries[0].name.empty());
    CHECK(!contents.entries[0].swap && elements(contents.entries[0]) == data);
  }
  for (int version : {1, 2, 3})
    CHECK(elements(parse(npy_with("{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }\n", "abcd", version),
                         MX_FORMAT_ANY)
                       .entries[0]) == "abcd");
  // order of keys, quotes, no spaces, Python 2, no byte order, bytes that follow
  const auto entry =
      parse(npy_with("{\"shape\":(1L,2L),\"descr\":\"i2\",\"fortran_order\":True}", "abcdefg"), MX_FORMAT_ANY)
          .entries[0];
  CHECK(entry.fortran && entry.spec == (Spec{DType::int16, {1, 2}}) && elements(entry) == "abcd");
  CHECK(
      parse(npy_with("{'descr':'|u1','fortran_order':False,'shape':(0,9)}"), MX_FORMAT_ANY).entries[0].spec.shape[1] ==
      9);
}

void test_npy_refuses() {
  const auto with = [](const char *descr, const char *shape) {
    return std::string("{'descr': ") + descr + ", 'fortran_order': False, 'shape': " + shape + ", }";
  };
  CHECK(refused("", MX_FORMAT_NPY, MX_ERROR_IO, "0 bytes"));
  CHECK(refused("\x93NUMPY\x01", MX_FORMAT_NPY, MX_ERROR_IO, "7 bytes"));
  CHECK(refused("0123456789abcdef", MX_FORMAT_NPY, MX_ERROR_IO, "'012345'"));
  CHECK(refused(npy_with("{}", "", 4), MX_FORMAT_NPY, MX_ERROR_IO, "4.0"));
  CHECK(refused(npy_with("{}", "", 2).substr(0, 11), MX_FORMAT_NPY, MX_ERROR_IO, "cut off"));
  CHECK(refused(npy_with(with("'<f4'", "(3,)")).substr(0, 40), MX_FORMAT_NPY, MX_ERROR_IO, "claims"));
  CHECK(refused(npy_with(std::string(1 << 21, ' '), "", 2), MX_FORMAT_NPY, MX_ERROR_IO, "2097152"));
  CHECK(refused_npy(with("'<f4'", "(17,)"), "68 bytes"));
  CHECK(refused_npy(with("'<f4'", "(-1,)"), "a dimension"));
  CHECK(refused_npy(with("'<f4'", "(1.5,)"), "','"));
  CHECK(refused_npy(with("'<f4'", "(3)"), "not a tuple"));
  CHECK(refused_npy(with("'<f4'", "(3 4)"), "','"));
  CHECK(refused_npy(with("'<f4'", "[3]"), "'('"));
  CHECK(refused_npy(with("'<f4'", "(9223372036854775808,)"), "9223372036854775808", MX_ERROR_OVERFLOW));
  CHECK(refused_npy(with("'<f4'", "(9223372036854775807,)"), "9223372036854775807", MX_ERROR_OVERFLOW));
  CHECK(refused_npy(with("'<f4'", "(4294967296, 4294967296)"), "4294967296", MX_ERROR_OVERFLOW));
  CHECK(refused_npy(with("'<f4'", "(0, 4294967296, 4294967296)"), "4294967296", MX_ERROR_OVERFLOW));
  std::string deep = "(";
  for (int i = 0; i < 33; i++) deep += "1,";
  CHECK(refused_npy(with("'|u1'", (deep + ")").c_str()), "32 dimensions"));
  CHECK(refused_npy(with("'<c32'", "(1,)"), "'<c32'"));
  CHECK(refused_npy(with("'|O'", "(1,)"), "'|O'"));
  CHECK(refused_npy(with("'|f4'", "(1,)"), "byte order"));
  CHECK(refused_npy(with("'|c16'", "(1,)"), "byte order"));
  CHECK(refused_npy(with("''", "(1,)"), "unsupported dtype"));
  CHECK(refused_npy(with("[('a', '<f4')]", "(1,)"), "structured"));
  CHECK(refused_npy("{'descr': '<f4', 'shape': (1,)}", "lacks"));
  CHECK(refused_npy("{'descr': '<f4', 'shape': (1,), 'fortran_order': 0}", "True or False"));
  CHECK(refused_npy("{'descr': '<f4', 'shape': (1,), 'shape': (2,), 'fortran_order': False}", "'shape' twice"));
  CHECK(refused_npy("{'descr': '<f4', 'evil': 1}", "'evil'"));
  CHECK(refused_npy("{'descr': '<f4' + __import__('os').system('true')}", "'+ __import__"));
  CHECK(refused_npy("{'descr': '<\\x66", "end of a string"));
  CHECK(refused_npy("{'descr': '<\\x66'}", "escapes"));
  CHECK(refused_npy(with("'<f4'", "(1,)") + "; import os", "'; import os'"));
  CHECK(refused_npy("", "'{'"));
}

void test_safetensors_accepts() {
  const auto all =
      parse(safetensors_with("{\"__metadata__\":{\"k\":\"v\",\"\\u00e9\\ud83d\\ude00\":\"\\n\\/\"},"
                             "\"b\":{\"shape\":[2],\"dtype\":\"U16\",\"data_offsets\":[4,8],\"x\":[{\"y\":-1.5e+3}]},"
                             "\"a\" : {\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
                             "\"none\":{\"dtype\":\"BF16\",\"shape\":[3,0],\"data_offsets\":[4,4]}}   ",
                             "abcdefgh"),
            MX_FORMAT_ANY);
  CHECK(all.entries.size() == 3 && all.entries[0].name == "a" && all.entries[1].name == "none" &&
        all.entries[2].name == "b");
  CHECK(elements(all.entries[0]) == "abcd" && elements(all.entries[1]).empty() && elements(all.entries[2]) == "efgh");
  CHECK(all.metadata.size() == 2 && all.metadata[0].second == "v");
  CHECK(all.metadata[1].first == "\xc3\xa9\xf0\x9f\x98\x80" && all.metadata[1].second == "\n/");
  CHECK(parse(safetensors_with("{}"), MX_FORMAT_ANY).entries.empty());
  CHECK(parse(safetensors_with("{\"__metadata__\":null}"), MX_FORMAT_ANY).metadata.empty());
  const auto fp8 = parse(safetensors_with("{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[1],\"data_offsets\":[0,1]}}", "8"),
                         MX_FORMAT_ANY);
  CHECK(fp8.entries[0].spec.dtype == DType::uint8);
}

std::string tensor(const char *dtype, const char *shape, const char *offsets) {
  return std::string("{\"a\":{\"dtype\":\"") + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}";
}

void test_safetensors_refuses() {
  CHECK(refused("1234567", MX_FORMAT_SAFETENSORS, MX_ERROR_IO, "7 bytes"));
  CHECK(refused(little(~uint64_t{0}, 8) + "{}", MX_FORMAT_SAFETENSORS, MX_ERROR_IO, "18446744073709551615"));
  CHECK(refused(little(3, 8) + "{}", MX_FORMAT_SAFETENSORS, MX_ERROR_IO, "claims 3 bytes"));
  CHECK(refused_json(" {}", "begins with"));
  CHECK(refused_json("", "begins with"));
  CHECK(refused_json("{} x", "the end"));
  CHECK(refused_json("{", "a string"));
  CHECK(refused_json("{1:2}", "a string before '1:2}'"));
  CHECK(refused_json("{\"a\":{},}", "lacks"));
  CHECK(refused_json(tensor("F33", "[2]", "[0,8]"), "'F33'"));
  CHECK(refused_json(tensor("F8_E5M2", "[8]", "[0,8]"), "'F8_E5M2'"));
  CHECK(refused_json(tensor("F32", "[-2]", "[0,8]"), "not negative"));
  CHECK(refused_json(tensor("F32", "[2.0]", "[0,8]"), "an integer"));
  CHECK(refused_json(tensor("F32", "[02]", "[0,8]"), "a number"));
  CHECK(refused_json(tensor("F32", "\"2\"", "[0,8]"), "'['"));
  CHECK(refused_json(tensor("F32", "[2]", "[0]"), "1 data_offsets"));
  CHECK(refused_json(tensor("F32", "[2]", "[0,4,8]"), "3 data_offsets"));
  CHECK(refused_json(tensor("F32", "[2]", "[8,0]"), "[8, 0)"));
  CHECK(refused_json(tensor("F32", "[2]", "[0,9]"), "[0, 9)"));
  CHECK(refused_json(tensor("F32", "[1]", "[4,8]"), "a hole"));
  CHECK(refused_json(tensor("F32", "[1]", "[0,4]"), "4 bytes after"));
  CHECK(refused_json(tensor("F32", "[3]", "[0,8]"), "needs 12"));
  CHECK(refused_json(tensor("F32", "[2]", "[0,9223372036854775808]"), "9223372036854775808", MX_ERROR_OVERFLOW));
  CHECK(refused_json(tensor("F32", "[4611686018427387904]", "[0,8]"), "too many", MX_ERROR_OVERFLOW));
  CHECK(refused_json(tensor("F32", "[4294967296,4294967296,0]", "[0,8]"), "too many", MX_ERROR_OVERFLOW));
  CHECK(
      refused_json("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"b\":{\"dtype\":\"F32\",\"shape\":"
                   "[1],\"data_offsets\":[4,8]}}",
                   "an overlap"));
  const std::string half = "{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":";
  CHECK(refused_json("{\"a\":" + half + "[0,4]},\"a\":" + half + "[4,8]}}", "'a' twice"));
  CHECK(refused_json("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", "'dtype' twice"));
  CHECK(refused_json("{\"__metadata__\":{},\"__metadata__\":{}}", "twice"));
  CHECK(refused_json("{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", "'k' twice"));
  CHECK(refused_json("{\"__metadata__\":{\"k\":1}}", "a string"));
  CHECK(refused_json("{\"a\":{\"x\":" + std::string(1000, '[') + std::string(1000, ']') + "}}", "nested"));
  CHECK(refused_json("{\"a\xff\":{}}", "a character"));
  CHECK(refused_json("{\"a\n\":{}}", "a character"));
  for (const char *bad : {"\\x", "\\u12", "\\u12g4", "\\ud800", "\\ud800\\u0041", "\\udc00", "\\u0000", "\\"})
    CHECK(refused_json(std::string("{\"") + bad, "JSON header"));
}

void test_safetensors_layout() {
  const std::string_view names[] = {"b", "a\"\n\x01", "c"};
  const Spec specs[] = {{DType::uint8, {3}}, {DType::float64, {}}, {DType::float64, {1, 2}}};
  const std::pair<std::string_view, std::string_view> metadata[] = {{"k\\", "v"}};
  const auto layout = io::safetensors_layout(names, specs, metadata);
  CHECK((layout.order == std::vector<size_t>{1, 2, 0}));
  CHECK(layout.header.size() % 8 == 0);
  const auto back = parse(layout.header + std::string(8 + 16 + 3, 'x'), MX_FORMAT_SAFETENSORS);
  CHECK(back.metadata[0].first == "k\\" && back.metadata[0].second == "v");
  for (size_t i = 0; i < 3; i++)
    CHECK(back.entries[i].name == names[layout.order[i]] && back.entries[i].spec == specs[layout.order[i]]);
}

void test_any_format() {
  CHECK(refused("what is this?", MX_FORMAT_ANY, MX_ERROR_IO, "neither npy"));
  CHECK(refused("", MX_FORMAT_ANY, MX_ERROR_IO, "neither npy"));
  CHECK(refused("GGUF\3\0\0\0", MX_FORMAT_ANY, MX_ERROR_UNSUPPORTED, "GGUF"));
}

}  // namespace

int main() {
  test_text();
  test_crc32();
  test_npy_header();
  test_npy_accepts();
  test_npy_refuses();
  test_safetensors_accepts();
  test_safetensors_refuses();
  test_safetensors_layout();
  test_any_format();
  return 0;
}
