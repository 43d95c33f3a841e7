// Zip files as npz uses them, and the sinks and sources under them: what is written is read back, and damage is
// refused.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "../c/check.h"
#include "config.h"
#include "io_samples.hpp"

using namespace mx;
using samples::elements;
using samples::little;
using samples::parse;
using samples::zip_of;

namespace {

bool refused(std::string_view file, const char *text, mx_status status = MX_ERROR_IO) {
  try {
    for (const io::Entry &entry : parse(file, MX_FORMAT_NPZ).entries) elements(entry);
  } catch (const Error &e) {
    if (e.status() == status && std::strstr(e.what(), "memory") == e.what() && std::strstr(e.what(), text)) return true;
    std::fprintf(stderr, "got %d: %s\nwanted: %s\n", e.status(), e.what(), text);
    return false;
  }
  std::fprintf(stderr, "not refused; wanted: %s\n", text);
  return false;
}

std::string array_of(size_t n, char c = 'x') {
  return samples::npy({DType::uint8, {static_cast<int64_t>(n)}}, std::string(n, c));
}

// Overwrites the `size` bytes of a number at `at` bytes behind the n-th record with this signature.
std::string patched(std::string file, std::string_view signature, size_t at, int size, uint64_t value, int n = 0) {
  size_t record = file.find(signature);
  for (; n > 0; n--) record = file.find(signature, record + 1);
  CHECK(record != file.npos);
  return file.replace(record + at, static_cast<size_t>(size), little(value, size));
}

constexpr std::string_view local = "PK\x03\x04", central = "PK\x01\x02", end_record = "PK\x05\x06";

void test_round_trip(bool deflated) {
  const std::string file =
      zip_of({{"a.npy", array_of(100000)}, {"b/\xc3\xa9", array_of(0)}, {"folder/", ""}}, deflated);
  const io::Contents contents = parse(file, MX_FORMAT_ANY);
  CHECK(contents.entries.size() == 2 && contents.entries[0].name == "a" && contents.entries[1].name == "b/\xc3\xa9");
  CHECK(elements(contents.entries[0]) == std::string(100000, 'x') && elements(contents.entries[1]).empty());
  CHECK(elements(contents.entries[0]) == elements(contents.entries[0]));  // readable again
  CHECK(deflated ? file.size() < 2000 : file.size() > 100000);
  CHECK(parse(zip_of({}, deflated), MX_FORMAT_ANY).entries.empty());
  CHECK(parse(zip_of({{"a", array_of(1)}}, deflated), MX_FORMAT_ANY).entries[0].name == "a");
}

// More members than the end record can count: the zip64 records take over.
void test_many_members() {
  std::vector<std::pair<std::string, std::string>> members;
  const std::string array = array_of(1);
  for (int i = 0; i < 70000; i++) members.emplace_back(std::to_string(i), array);
  const std::string file = zip_of(members, false);
  CHECK(parse(file, MX_FORMAT_NPZ).entries.size() == 70000);
  CHECK(refused(patched(file, "PK\x06\x07", 8, 8, 1), "zip64 end record"));
  CHECK(refused(patched(file, "PK\x06\x07", 8, 8, ~uint64_t{0}), "out of range"));
  CHECK(refused(patched(file, "PK\x06\x06", 4, 8, ~uint64_t{0}), "18446744073709551615"));
  CHECK(refused(patched(file, "PK\x06\x06", 32, 8, ~uint64_t{0}), "18446744073709551615 members"));
  CHECK(refused(patched(file, "PK\x06\x06", 48, 8, 1), "does not end where"));
}

// Sizes in a zip64 field although they are small, as Python's zipfile writes in local headers and may in the directory.
void test_zip64_field() {
  std::string file = zip_of({{"a", array_of(3)}}, false);
  const size_t record = file.find(central), size = array_of(3).size();
  const std::string field = little(1, 2) + little(16, 2) + little(size, 8) + little(size, 8);
  file.insert(record + 46 + 1, field);
  file = patched(file, central, 20, 4, 0xFFFFFFFF);
  file = patched(file, central, 24, 4, 0xFFFFFFFF);
  file = patched(file, central, 30, 2, field.size());
  file = patched(file, end_record, 12, 4, 46 + 1 + field.size());
  CHECK(elements(parse(file, MX_FORMAT_NPZ).entries[0]) == "xxx");
  CHECK(refused(patched(file, central, 30, 2, field.size() + 1), "cut off"));
  CHECK(refused(patched(file, central, 46 + 1 + 2, 2, 8), "zip"));
}

void test_refusals() {
  const std::string file = zip_of({{"a", array_of(3)}, {"b", array_of(4)}}, false);
  CHECK(refused("", "0 bytes"));
  CHECK(refused(file.substr(0, file.size() - 1), "no end record"));
  CHECK(refused(file + "x", "no end record"));
  CHECK(refused("x" + file, "does not end where"));
  CHECK(refused(file.substr(0, file.find(central)) + file.substr(file.find(end_record)), "does not end where"));
  CHECK(refused(patched(file, end_record, 4, 2, 1), "disks"));
  CHECK(refused(patched(file, end_record, 10, 2, 1), "more than its 1 members"));
  CHECK(refused(patched(file, end_record, 10, 2, 3), "claims 3 members"));
  CHECK(refused(patched(file, end_record, 16, 4, 0xFFFFFFF0), "4294967280"));
  CHECK(refused(patched(file, central, 0, 1, 'Q'), "directory is broken"));
  CHECK(refused(patched(file, central, 8, 2, 1), "encrypted"));
  CHECK(refused(patched(patched(file, central, 10, 2, 12), local, 8, 2, 12), "method 12"));
  CHECK(refused(patched(file, central, 16, 4, 0), "CRC is"));
  CHECK(refused(patched(file, central, 20, 4, 0x7FFFFFFF), "claims 2147483647 bytes"));
  CHECK(refused(patched(file, central, 20, 4, 5), "in 5"));
  CHECK(refused(patched(patched(file, central, 20, 4, 5), central, 24, 4, 5), "5 bytes"));
  CHECK(refused(patched(file, central, 28, 2, 0xFFFF), "cut off"));
  CHECK(refused(patched(file, central, 42, 4, 0x7FFFFFFF), "out of range"));
  CHECK(refused(patched(file, central, 42, 4, 1), "no header"));
  CHECK(refused(patched(file, central, 46, 1, 'b'), "differ"));
  CHECK(refused(patched(file, central, 46, 1, 0xFF), "UTF-8"));
  CHECK(refused(patched(file, local, 26, 2, 0xFFFF), "claims"));
  CHECK(refused(patched(file, local, 30, 1, 'b'), "differ"));
  CHECK(refused(patched(file, central, 42, 4, 0, 1), "differ"));  // both entries at one place
  CHECK(refused(zip_of({{"a", array_of(1)}, {"a.npy", array_of(1)}}, false), "'a' twice"));
  CHECK(refused(zip_of({{"a", "no array at all"}}, false), "'a': is no npy file"));
  CHECK(refused(zip_of({{"a", array_of(3) + "x"}}, false), "1 bytes follow"));
  CHECK(refused(zip_of({{std::string("a\0b", 3), array_of(3)}}, false), "UTF-8"));
}

// The first member's data is stretched over the second member.
void test_overlap() {
  const std::string a = array_of(3), b = array_of(4);
  std::string file = zip_of({{"a", a}, {"b", b}}, false);
  for (const auto &[at, size] : {std::pair{20, 4}, std::pair{24, 4}})
    file = patched(file, central, at, size, a.size() + 40);
  CHECK(refused(file, "overlap"));
}

void test_deflate_damage() {
  const std::string array = array_of(5000), file = zip_of({{"a", array}}, true);
  CHECK(elements(parse(file, MX_FORMAT_NPZ).entries[0]).size() == 5000);
  CHECK(refused(patched(file, central, 24, 4, array.size() - 1), "claims"));
  CHECK(refused(patched(file, central, 24, 4, array.size() + 1), "1 bytes follow"));
  CHECK(refused(patched(file, central, 24, 4, 0x7FFFFFFF), "claims to hold 2147483647 bytes"));
  CHECK(refused(patched(file, central, 16, 4, 1), "CRC is"));
  CHECK(refused(patched(file, local, 31, 4, 0xFFFFFFFF), "broken"));
  // An array of 4999 bytes in a member whose deflate stream goes on.
  std::string longer = zip_of({{"a", samples::npy({DType::uint8, {4999}}, std::string(5000, 'x'))}}, true);
  CHECK(refused(patched(longer, central, 24, 4, array.size() - 1), "longer than the directory says"));
  // A stream that ends early: the member claims, and its header wants, one byte more.
  std::string shorter = zip_of({{"a", samples::npy({DType::uint8, {5001}}, std::string(5000, 'x'))}}, true);
  CHECK(refused(patched(shorter, central, 24, 4, array.size() + 1), "shorter than the directory says"));
}

}  // namespace

int main() {
  test_round_trip(false);
  test_many_members();
  test_zip64_field();
  test_refusals();
  test_overlap();
#if MX_HAVE_ZLIB
  test_round_trip(true);
  test_deflate_damage();
#else
  try {
    zip_of({{"a", "b"}}, true);
    CHECK(false);
  } catch (const Error &e) {
    CHECK(e.status() == MX_ERROR_UNSUPPORTED);
  }
  std::string file = zip_of({{"a", array_of(3)}}, false);
  CHECK(refused(patched(patched(file, central, 10, 2, 8), local, 8, 2, 8), "zlib", MX_ERROR_UNSUPPORTED));
#endif
  return 0;
}
