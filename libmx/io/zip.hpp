// Zip files (PKWARE APPNOTE.TXT 6.3.x) as far as npz files use them: stored and deflated members, zip64; no encryption,
// no split archives, nothing before the first member. Relies on source.hpp, deflate.hpp and crc32.hpp.
#pragma once
#include <string>
#include <vector>

#include "io/source.hpp"

namespace mx::io {

// A file inside a zip file, uncompressed. Its readers check the CRC in finish().
class ZipMember final : public Source {
 public:
  struct Place {
    std::string name;
    uint64_t offset = 0;      // of the first byte of the data
    uint64_t compressed = 0;  // bytes in the file
    uint64_t size = 0;        // bytes once inflated
    uint32_t crc = 0;
    bool deflated = false;
  };
  ZipMember(Ref<Storage> storage, Place place);
  std::unique_ptr<Reader> reader(uint64_t offset) const override;
  const Place &place() const noexcept { return place_; }
  const Storage &storage() const noexcept { return *storage_; }

 private:
  Ref<Storage> storage_;
  Place place_;
};

// The members by the central directory, which must agree with the local headers. Throws IO for anything that does not
// fit together: no directory, sizes beyond the file or beyond what deflate can hold, members that overlap. Names may
// repeat.
std::vector<ZipMember::Place> read_zip(const Storage &storage);

}  // namespace mx::io
