// Sources that can be read at any place. Files are read with pread, which has no position that threads or forked
// processes could share.
#include "io/source.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "io/text.hpp"

namespace mx::io {
namespace {

class StorageReader final : public Reader {
 public:
  StorageReader(const Storage &storage, uint64_t at) : storage_(storage), at_(at) {}
  void read(std::span<std::byte> out) override {
    storage_.read_at(at_, out);
    at_ += out.size();
  }

 private:
  const Storage &storage_;
  uint64_t at_;
};

[[noreturn]] void ends_early(const Source &source, uint64_t offset, size_t n) {
  corrupt(source, "ends before the %zu bytes at offset %llu", n, static_cast<unsigned long long>(offset));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(Descriptor &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

class FileStorage final : public Storage {
 public:
  FileStorage(std::string name, uint64_t size, Descriptor fd) : Storage(std::move(name), size), fd_(std::move(fd)) {}
  void read_at(uint64_t offset, std::span<std::byte> out) const override {
    size_t done = 0;
    while (done < out.size()) {
      const ssize_t n = ::pread(fd_.get(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
      if (n > 0) done += static_cast<size_t>(n);
      if (n == 0) ends_early(*this, offset, out.size());  // it was longer when it was opened, or a length in it lies
      if (n < 0 && errno != EINTR) corrupt(*this, "cannot be read: %s", std::strerror(errno));
    }
  }

 private:
  Descriptor fd_;
};

class MemoryStorage final : public Storage {
 public:
  MemoryStorage(std::string name, Ref<Buffer> buffer, bool mapped)
      : Storage(std::move(name), buffer->size()), buffer_(std::move(buffer)), mapped_(mapped) {}
  void read_at(uint64_t offset, std::span<std::byte> out) const override {
    if (offset > size_ || out.size() > size_ - offset) ends_early(*this, offset, out.size());
    if (!out.empty()) std::memcpy(out.data(), buffer_->data() + offset, out.size());
  }
  Ref<Buffer> mapping() const override { return mapped_ ? buffer_ : Ref<Buffer>(); }

 private:
  Ref<Buffer> buffer_;
  bool mapped_;
};

struct Mapping {
  void *data = MAP_FAILED;
  size_t size = 0;
  ~Mapping() {
    if (data != MAP_FAILED) ::munmap(data, size);
  }
};

Ref<Storage> map_file(std::string name, size_t size, const Descriptor &fd) {
  auto mapping = std::make_unique<Mapping>();
  mapping->size = size;
  mapping->data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (mapping->data == MAP_FAILED) fail(MX_ERROR_IO, "%s: cannot be mapped: %s", name.c_str(), std::strerror(errno));
  Mapping *const owned = mapping.release();  // the buffer's, also when making one fails
  Ref<Buffer> buffer = borrow({owned->data, size, true}, [](void *p) { delete static_cast<Mapping *>(p); }, owned);
  return make_ref<MemoryStorage>(std::move(name), std::move(buffer), true);
}

}  // namespace

std::unique_ptr<Reader> Storage::reader(uint64_t offset) const {
  return std::make_unique<StorageReader>(*this, offset);
}

Ref<Storage> open_file(const char *path, bool map) {
  std::string name = quote(path, 400);
  // O_NONBLOCK: opening a named pipe must not wait for its other end; it means nothing to a regular file.
  Descriptor fd(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) fail(MX_ERROR_IO, "%s: cannot be opened: %s", name.c_str(), std::strerror(errno));
  struct stat st;
  if (::fstat(fd.get(), &st) != 0) fail(MX_ERROR_IO, "%s: cannot be examined: %s", name.c_str(), std::strerror(errno));
  if (!S_ISREG(st.st_mode)) fail(MX_ERROR_IO, "%s: is not a regular file", name.c_str());
  const auto size = static_cast<uint64_t>(st.st_size);
  if (map && size > 0) return map_file(std::move(name), size, fd);
  return make_ref<FileStorage>(std::move(name), size, std::move(fd));
}

Ref<Storage> copy_of_memory(std::span<const std::byte> data) {
  Ref<Buffer> buffer = allocate(data.size());
  if (!data.empty()) std::memcpy(buffer->data(), data.data(), data.size());
  return make_ref<MemoryStorage>("memory", std::move(buffer), false);
}

void corrupt(const Source &source, const char *format, ...) {
  char text[600];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  fail(MX_ERROR_IO, "%s: %s", source.name().c_str(), text);
}

}  // namespace mx::io
