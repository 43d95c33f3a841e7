// The named arrays of an opened file. Opening reads and checks everything but the elements; arrays are lazy `load`
// nodes on the file. Relies on the graph (core/node.hpp) and on sources.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/node.hpp"
#include "io/source.hpp"
#include "mx/io.h"

namespace mx::io {

// One array of a file. All fields have been checked against the source.
struct Entry {
  std::string name;
  Spec spec;
  uint64_t offset = 0;  // of the first element in `source`
  bool fortran = false, swap = false;
  Ref<Source> source;
};

struct Contents {
  mx_format format = MX_FORMAT_ANY;  // set by read_contents
  std::vector<Entry> entries;
  std::vector<std::pair<std::string, std::string>> metadata;
};

// Throws IO if two of the names are equal.
void check_distinct(const Source &source, std::vector<std::string_view> names, const char *what);

// What the file is by its first bytes if `format` is MX_FORMAT_ANY. Throws IO.
Contents read_contents(Ref<Storage> storage, mx_format format);

}  // namespace mx::io

namespace mx {

// What a handle mx_archive stands for. Immutable.
class Archive final : public Object {
 public:
  static constexpr Tag tag = Tag::archive;
  explicit Archive(io::Contents contents);
  mx_format format() const noexcept { return contents_.format; }
  const std::vector<io::Entry> &entries() const noexcept { return contents_.entries; }
  const std::vector<std::pair<std::string, std::string>> &metadata() const noexcept { return contents_.metadata; }
  // The number of the entry with this name; throws INDEX.
  size_t find(std::string_view name) const;
  // A new array, lazy unless the source is mapped and the elements can be used where they lie.
  Value array(size_t i, Ref<Stream> stream) const;

 private:
  io::Contents contents_;
  std::vector<uint32_t> by_name_;  // numbers of entries
};

}  // namespace mx
