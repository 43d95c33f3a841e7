// Writing zip files: stored or deflated members, zip64 where sizes need it, no time stamps, so that equal contents give
// equal files. Relies on sink.hpp, deflate.hpp and crc32.hpp.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "io/deflate.hpp"
#include "io/sink.hpp"

namespace mx::io {

class ZipWriter {
 public:
  explicit ZipWriter(Sink &sink) : sink_(sink) {}
  // Begins a member that `size` bytes will be written to. Throws INVALID_ARGUMENT if the name exceeds 65 535 bytes.
  void begin(std::string name, uint64_t size, bool deflated);
  void write(std::span<const std::byte> bytes);
  void end();
  // Writes the directory.
  void finish();

 private:
  struct Member {
    std::string name;
    uint64_t header = 0, size = 0, compressed = 0;
    uint32_t crc = 0;
    bool deflated = false, large = false;  // large: the local header has a zip64 field
  };
  std::string local_header(const Member &member) const;
  std::string central_header(const Member &member) const;

  Sink &sink_;
  std::vector<Member> members_;
  std::unique_ptr<Deflater> deflater_;
};

}  // namespace mx::io
