// Where bytes go: a file that appears only once it is complete, or memory. Relies on runtime/memory.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/memory.hpp"

namespace mx::io {

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(std::span<const std::byte> bytes) = 0;
  // Overwrites what was written at `offset`.
  virtual void patch(uint64_t offset, std::span<const std::byte> bytes) = 0;
  uint64_t position() const noexcept { return position_; }
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void patch(uint64_t offset, std::string_view text) { patch(offset, std::as_bytes(std::span(text))); }

 protected:
  uint64_t position_ = 0;
};

// Writes to a new file beside `path`. Unless commit() is reached the new file is removed and `path` stays as it was.
class FileSink final : public Sink {
 public:
  // Throws IO, also if `path` is something else than a regular file.
  explicit FileSink(const char *path);
  ~FileSink() override;
  using Sink::patch;
  using Sink::write;
  void write(std::span<const std::byte> bytes) override;
  void patch(uint64_t offset, std::span<const std::byte> bytes) override;
  // Brings the bytes to the disk, then renames the file over `path`.
  void commit();

 private:
  void put(uint64_t offset, std::span<const std::byte> bytes);
  [[noreturn]] void failed(const char *what) const;
  std::string path_, folder_, temporary_;
  int fd_ = -1;
};

class MemorySink final : public Sink {
 public:
  using Sink::patch;
  using Sink::write;
  void write(std::span<const std::byte> bytes) override;
  void patch(uint64_t offset, std::span<const std::byte> bytes) override;
  // What was written, in a buffer of just its size.
  Ref<Buffer> take();

 private:
  Ref<Buffer> buffer_;
};

}  // namespace mx::io
