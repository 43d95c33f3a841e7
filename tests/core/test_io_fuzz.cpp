// Damaged files: 20 000 random edits of valid ones. Whatever comes, a file is read or refused with IO or OVERFLOW and a
// printable message; it never takes more memory than its size allows. Meant to be run with the address sanitizer as
// well.
//
// usage: test_io_fuzz [SEED [CASES]]
#include <cstdlib>
#include <random>

#include "../c/check.h"
#include "config.h"
#include "io/text.hpp"
#include "io_samples.hpp"

using namespace mx;

namespace {

std::mt19937_64 random_bits;

size_t below(size_t n) { return n ? random_bits() % n : 0; }

std::vector<std::string> valid_files() {
  const std::string floats = samples::npy({DType::float32, {3, 2}}, std::string(24, 'f'));
  const std::string columns =
      samples::npy_with("{'descr': '>i4', 'fortran_order': True, 'shape': (2, 3, 1), }", std::string(24, 'c'), 2);
  std::vector<std::string> files = {floats, columns};
  files.push_back(samples::zip_of({{"a.npy", floats}, {"b\xc3\xa9.npy", columns}}, false));
#if MX_HAVE_ZLIB
  files.push_back(samples::zip_of(
      {{"a.npy", floats}, {"long.npy", samples::npy({DType::uint8, {3000}}, std::string(3000, 'z'))}}, true));
#endif
  files.push_back(
      samples::safetensors_with("{\"__metadata__\":{\"format\":\"mx\",\"\\u00e9\":\"\\\"\"},\"w.0\":{\"dtype\":\"F32\","
                                "\"shape\":[2,2],\"data_offsets\":[0,16]},"
                                "\"b\":{\"dtype\":\"BOOL\",\"shape\":[8],\"data_offsets\":[16,24]}}  ",
                                std::string(24, 's')));
  return files;
}

constexpr uint64_t nasty[] = {0, 1, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, ~uint64_t{0}};
constexpr const char *tokens[] = {"{",
                                  "}",
                                  "[",
                                  "]",
                                  "(",
                                  ")",
                                  ",",
                                  ":",
                                  "'",
                                  "\"",
                                  "-1",
                                  "9223372036854775807",
                                  "18446744073709551616",
                                  "0",
                                  "1e9",
                                  "null",
                                  "True",
                                  "\\u0000",
                                  "\\ud800",
                                  "\xff",
                                  "PK\x01\x02",
                                  "PK\x05\x06",
                                  "<f8",
                                  "F64"};

void damage(std::string &file) {
  const size_t at = below(file.size());
  switch (below(7)) {
    case 0:
      file[at] = static_cast<char>(random_bits());
      break;
    case 1:
      file[at] = static_cast<char>(file[at] ^ 1 << below(8));
      break;
    case 2:
      file.resize(at);
      break;
    case 3: {
      const int n = 1 << below(4);
      const std::string number = samples::little(nasty[below(std::size(nasty))] + below(3) - 1, n);
      file.replace(at, std::min(number.size(), file.size() - at), number);
      break;
    }
    case 4: {
      const std::string piece = file.substr(at, below(40));
      file.insert(below(file.size()), piece);
      break;
    }
    case 5:
      file.erase(at, below(20));
      break;
    case 6: {
      const std::string token = tokens[below(std::size(tokens))];
      below(2) ? file.insert(at, token) : file.replace(at, std::min(token.size(), file.size() - at), token);
      break;
    }
  }
}

// Reads all of the file if it can be read. True if it could.
bool read_all(const std::string &file, mx_format format) {
  try {
    const io::Contents contents = samples::parse(file, format);
    for (const io::Entry &entry : contents.entries) {
      CHECK(io::is_utf8(entry.name) && static_cast<uint64_t>(byte_count(entry.spec)) <= file.size() * 1032);
      samples::elements(entry);
    }
    return true;
  } catch (const Error &e) {
    CHECK(e.status() == MX_ERROR_IO || e.status() == MX_ERROR_OVERFLOW || e.status() == MX_ERROR_UNSUPPORTED);
    CHECK(std::strlen(e.what()) > 10 && io::is_utf8(e.what()));
    return false;
  }
}

}  // namespace

int main(int argc, char **argv) {
  const unsigned long seed = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1;
  const unsigned long cases = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 20000;
  random_bits.seed(seed);
  const std::vector<std::string> files = valid_files();
  for (const std::string &file : files) CHECK(read_all(file, MX_FORMAT_ANY));
  unsigned long read = 0;
  for (unsigned long i = 0; i < cases; i++) {
    std::string file = files[below(files.size())];
    for (size_t n = 1 + below(4); n > 0 && !file.empty(); n--) damage(file);
    read += read_all(file, below(8) ? MX_FORMAT_ANY : static_cast<mx_format>(1 + below(3)));
  }
  CHECK(read > cases / 50 && read < cases / 2);  // the damage is neither harmless nor always fatal
  return 0;
}
