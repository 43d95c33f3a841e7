// The kernel of `load` (byte order, column-major files, pieces), and files on the disk: opening, mapping, files that
// change, and writing so that a target is replaced at once or not at all.
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "../c/check.h"
#include "io_samples.hpp"

using namespace mx;
using samples::elements;
using samples::npy_with;
using samples::parse;

namespace {

std::string folder;

std::string npy_dict(const char *descr, bool fortran, const Dims &shape) {
  std::string dict =
      std::string("{'descr': '") + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': (";
  for (int64_t d : shape) dict += std::to_string(d) + ",";
  return dict + ")}";
}

bool fails(const std::function<void()> &body, const char *text, mx_status status = MX_ERROR_IO) {
  try {
    body();
  } catch (const Error &e) {
    if (e.status() == status && std::strstr(e.what(), text)) return true;
    std::fprintf(stderr, "got %d: %s\nwanted: %s\n", e.status(), e.what(), text);
  }
  return false;
}

void test_swap() {
  const std::string data = "abcdefghijklmnop";
  const auto swapped = [&](const char *descr, int64_t n) {
    return elements(parse(npy_with(npy_dict(descr, false, {n}), data), MX_FORMAT_NPY).entries[0]);
  };
  CHECK(swapped(">i2", 8) == "badcfehgjilknmpo");
  CHECK(swapped(">V2", 8) == "badcfehgjilknmpo");
  CHECK(swapped(">f4", 4) == "dcbahgfelkjiponm");
  CHECK(swapped(">c8", 2) == "dcbahgfelkjiponm");  // each half for itself
  CHECK(swapped(">f8", 2) == "hgfedcbaponmlkji");
  CHECK(swapped("<f8", 2) == data && swapped(">u1", 16) == data && swapped("f4", 4) == data);
}

void test_bool() {
  const std::string loaded = elements(
      parse(npy_with(npy_dict("|b1", false, {4}), std::string_view("\2\0\1\xff", 4)), MX_FORMAT_NPY).entries[0]);
  CHECK(loaded == std::string("\1\0\1\1", 4));
}

// The elements of a column-major file, against an index computed element by element.
template <class T>
void check_columns(const char *descr, const Dims &shape) {
  const int64_t n = element_count(shape);
  std::vector<T> file_order(static_cast<size_t>(n)), expected(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; i++) {
    file_order[static_cast<size_t>(i)] = static_cast<T>(i * 7 + 1);
    int64_t rest = i, place = 0;
    Dims strides = row_major(shape, 1);
    for (size_t axis = 0; axis < shape.size(); axis++) {
      place += rest % shape[axis] * strides[axis];
      rest /= shape[axis];
    }
    expected[static_cast<size_t>(place)] = file_order[static_cast<size_t>(i)];
  }
  const std::string_view data(reinterpret_cast<const char *>(file_order.data()), file_order.size() * sizeof(T));
  const std::string loaded = elements(parse(npy_with(npy_dict(descr, true, shape), data), MX_FORMAT_NPY).entries[0]);
  CHECK(loaded == std::string_view(reinterpret_cast<const char *>(expected.data()), expected.size() * sizeof(T)));
}

void test_columns() {
  check_columns<uint8_t>("|u1", {3, 5});
  check_columns<uint16_t>("<u2", {2, 3, 4});
  check_columns<uint32_t>("<u4", {4, 1, 3, 2});
  check_columns<uint64_t>("<u8", {1, 7});
  check_columns<uint32_t>("<u4", {700, 600});   // several runs a piece, blocks of rows, two pieces
  check_columns<uint32_t>("<u4", {300000, 2});  // a run longer than a piece
  check_columns<uint8_t>("|u1", {0, 4});
}

void put_file(const std::string &path, std::string_view data) {
  FILE *f = std::fopen(path.c_str(), "wb");
  CHECK(f && std::fwrite(data.data(), 1, data.size(), f) == data.size() && std::fclose(f) == 0);
}

std::string get_file(const std::string &path) {
  const auto file = io::open_file(path.c_str(), false);
  std::string text(static_cast<size_t>(file->size()), 0);
  file->read_at(0, std::as_writable_bytes(std::span(text.data(), text.size())));
  return text;
}

void test_open() {
  const std::string path = folder + "/a.npy", data(3 << 20, 'q');
  put_file(path, samples::npy({DType::uint8, {3 << 20}}, data));
  for (bool map : {false, true}) {
    const io::Contents contents = io::read_contents(io::open_file(path.c_str(), map), MX_FORMAT_ANY);
    CHECK(!contents.entries[0].source->mapping() == !map);
    CHECK(unlink(path.c_str()) == 0 && elements(contents.entries[0]) == data);  // it stays readable
    put_file(path, samples::npy({DType::uint8, {3 << 20}}, data));
  }
  const io::Contents contents = io::read_contents(io::open_file(path.c_str(), false), MX_FORMAT_ANY);
  CHECK(truncate(path.c_str(), 2 << 20) == 0);
  CHECK(fails([&] { elements(contents.entries[0]); }, "a.npy': ends before"));

  CHECK(fails([] { io::open_file((folder + "/none").c_str(), false); }, "No such file"));
  CHECK(fails([] { io::open_file(folder.c_str(), false); }, "not a regular file"));
  CHECK(mkfifo((folder + "/pipe").c_str(), 0600) == 0);
  CHECK(fails([] { io::open_file((folder + "/pipe").c_str(), false); }, "not a regular file"));
  put_file(folder + "/empty", "");
  CHECK(io::open_file((folder + "/empty").c_str(), true)->size() == 0);
}

int count_files() {
  DIR *dir = opendir(folder.c_str());
  int n = 0;
  while (const dirent *entry = readdir(dir)) n += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
  closedir(dir);
  return n;
}

void test_replace() {
  const std::string path = folder + "/target", link = folder + "/link";
  put_file(path, "old");
  CHECK(chmod(path.c_str(), 0640) == 0 && symlink("target", link.c_str()) == 0);
  const int before = count_files();
  {
    io::FileSink sink(path.c_str());
    sink.write("half of");
    CHECK(get_file(path) == "old" && count_files() == before + 1);
  }  // not committed
  CHECK(get_file(path) == "old" && count_files() == before);
  {
    io::FileSink sink(link.c_str());
    sink.write("new text");
    sink.patch(0, "N");
    sink.commit();
  }
  struct stat st;
  CHECK(get_file(path) == "New text" && count_files() == before);
  CHECK(stat(path.c_str(), &st) == 0 && (st.st_mode & 0777) == 0640);
  CHECK(lstat(link.c_str(), &st) == 0 && S_ISLNK(st.st_mode));
  CHECK(fails([] { io::FileSink sink((folder + "/none/x").c_str()); }, "cannot be created"));
  CHECK(fails([] { io::FileSink sink(folder.c_str()); }, "not a regular file"));
  CHECK(fails([] { io::FileSink sink((folder + "/pipe").c_str()); }, "not a regular file"));
  CHECK(fails(
      [&] {
        io::FileSink sink(path.c_str());
        sink.write("x");
        CHECK(unlink(path.c_str()) == 0 && mkdir(path.c_str(), 0700) == 0);  // now the rename cannot succeed
        sink.commit();
      },
      "cannot be replaced"));
  CHECK(count_files() == before);
}

void test_memory_sink() {
  io::MemorySink sink;
  std::string all;
  for (int i = 0; i < 100; i++) {
    const std::string text(static_cast<size_t>(i), static_cast<char>('a' + i % 26));
    sink.write(text);
    all += text;
  }
  sink.patch(5, "!");
  all[5] = '!';
  const Ref<Buffer> buffer = sink.take();
  CHECK(buffer->size() == all.size() && std::memcmp(buffer->data(), all.data(), all.size()) == 0);
}

}  // namespace

int main() {
  char name[] = "/tmp/mx-test-io-XXXXXX";
  CHECK(mkdtemp(name));
  folder = name;
  test_swap();
  test_bool();
  test_columns();
  test_open();
  test_replace();
  test_memory_sink();
  return std::system(("rm -rf '" + folder + "'").c_str());
}
