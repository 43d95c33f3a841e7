// Where the bytes of arrays come from: a file, memory, a mapping of a file, or a member of a zip file (zip.hpp). A
// source is the payload of `load` nodes: it stays open while one of them is still lazy. Relies on runtime/memory.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "base/object.hpp"
#include "base/status.hpp"
#include "runtime/memory.hpp"

namespace mx::io {

// Reads a source from some offset to its end, in order.
class Reader {
 public:
  virtual ~Reader() = default;
  // Fills `out`. Throws IO when the source ends before or cannot be read.
  virtual void read(std::span<std::byte> out) = 0;
  // Called after the last read, which must have reached the end of what the reader checks. Throws IO if a checksum does
  // not fit.
  virtual void finish() {}
};

class Source : public Object {
 public:
  // As messages show it, quoted.
  const std::string &name() const noexcept { return name_; }
  uint64_t size() const noexcept { return size_; }
  virtual std::unique_ptr<Reader> reader(uint64_t offset) const = 0;
  // Memory that holds the whole source and never changes, or null.
  virtual Ref<Buffer> mapping() const { return {}; }

 protected:
  Source(std::string name, uint64_t size) : name_(std::move(name)), size_(size) {}
  std::string name_;
  uint64_t size_;
};

// A source that can be read at any place.
class Storage : public Source {
 public:
  // Fills `out` with what begins at `offset`. Throws IO.
  virtual void read_at(uint64_t offset, std::span<std::byte> out) const = 0;
  std::unique_ptr<Reader> reader(uint64_t offset) const override;

 protected:
  using Source::Source;
};

// Opens a regular file. With `map` it is mapped: then a process that truncates it makes readers die of SIGBUS. Throws
// IO.
Ref<Storage> open_file(const char *path, bool map);
// A copy of `data`.
Ref<Storage> copy_of_memory(std::span<const std::byte> data);

// Throws IO with a text that begins with the source.
[[noreturn]] void corrupt(const Source &source, const char *format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace mx::io
