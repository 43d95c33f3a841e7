// Reading npz files.
#include "io/npz.hpp"

#include "io/npy.hpp"
#include "io/zip.hpp"

namespace mx::io {

Contents read_npz(const Ref<Storage> &storage) {
  Contents contents;
  for (ZipMember::Place &place : read_zip(*storage)) {
    if (place.name.ends_with('/') && place.size == 0) continue;  // a folder
    const auto member = make_ref<ZipMember>(storage, std::move(place));
    const NpyHeader header = read_npy_header(*member);
    if (header.data_bytes != member->size() - header.data_offset)
      corrupt(*member, "%llu bytes follow the array",
              static_cast<unsigned long long>(member->size() - header.data_offset - header.data_bytes));
    Entry entry;
    entry.name = member->place().name;
    if (entry.name.ends_with(".npy")) entry.name.resize(entry.name.size() - 4);
    entry.spec = header.spec;
    entry.offset = header.data_offset;
    entry.fortran = header.fortran;
    entry.swap = header.swap;
    entry.source = member;
    contents.entries.push_back(std::move(entry));
  }
  std::vector<std::string_view> names;
  for (const Entry &entry : contents.entries) names.push_back(entry.name);
  check_distinct(*storage, std::move(names), "array");
  return contents;
}

}  // namespace mx::io
