// Sinks. A file is written under another name and renamed when it is on the disk, so that neither a failure nor a crash
// nor a power cut leaves half a file at the target.
#include "io/sink.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>

#include "base/status.hpp"
#include "io/text.hpp"

namespace mx::io {
namespace {

// The file that a chain of symbolic links ends at, `path` itself if there is none yet.
std::string resolve(const char *path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path, nullptr), &std::free);
  return real ? real.get() : path;
}

std::string temporary_name(const std::string &folder) {
  static std::atomic<uint64_t> counter{0};
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return folder + ".mx-" + std::to_string(::getpid()) + "-" + std::to_string(now.tv_nsec) + "-" +
         std::to_string(counter.fetch_add(1, std::memory_order_relaxed)) + ".tmp";
}

// Some file systems cannot sync; that is no failure of the write.
bool synced(int fd) noexcept {
  while (::fsync(fd) != 0)
    if (errno != EINTR) return errno == EINVAL || errno == ENOTSUP || errno == EROFS;
  return true;
}

}  // namespace

FileSink::FileSink(const char *path) : path_(resolve(path)) {
  const size_t slash = path_.rfind('/');
  folder_ = slash == path_.npos ? "" : path_.substr(0, slash + 1);
  struct stat st;
  const bool exists = ::stat(path_.c_str(), &st) == 0;
  if (exists && !S_ISREG(st.st_mode)) fail(MX_ERROR_IO, "%s: is not a regular file", quote(path_, 400).c_str());
  for (int tries = 0; fd_ < 0; tries++) {
    temporary_ = temporary_name(folder_);
    fd_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ >= 0 || errno == EINTR || (errno == EEXIST && tries < 100)) continue;
    temporary_.clear();
    failed("cannot be created");
  }
  // The permissions stay if we may set them; a file of another owner gets ours.
  if (exists && ::fchmod(fd_, st.st_mode & 0777) != 0) errno = 0;
}

FileSink::~FileSink() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void FileSink::failed(const char *what) const {
  const int error = errno;
  fail(MX_ERROR_IO, "%s: %s: %s", quote(path_, 400).c_str(), what, std::strerror(error));
}

void FileSink::put(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t piece = std::min<size_t>(bytes.size(), 1 << 30);
    const ssize_t n = ::pwrite(fd_, bytes.data(), piece, static_cast<off_t>(offset));
    if (n < 0 && errno != EINTR) failed("cannot be written");
    if (n <= 0) continue;
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
}

void FileSink::write(std::span<const std::byte> bytes) {
  put(position_, bytes);
  position_ += bytes.size();
}

void FileSink::patch(uint64_t offset, std::span<const std::byte> bytes) { put(offset, bytes); }

void FileSink::commit() {
  if (!synced(fd_)) failed("cannot be brought to the disk");
  const int fd = std::exchange(fd_, -1);
  if (::close(fd) != 0 && errno != EINTR) failed("cannot be closed");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) failed("cannot be replaced");
  temporary_.clear();
  // The new name, too, must survive a power cut. By now the file is there, so a failure would be a lie.
  const int folder = ::open(folder_.empty() ? "." : folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  synced(folder);
  ::close(folder);
}

void MemorySink::write(std::span<const std::byte> bytes) {
  const size_t needed = position_ + bytes.size();
  if (!buffer_ || buffer_->size() < needed) {
    Ref<Buffer> bigger = allocate(position_ == 0 ? needed : std::max(needed, 2 * static_cast<size_t>(position_)));
    if (position_ > 0) std::memcpy(bigger->data(), buffer_->data(), position_);
    buffer_ = std::move(bigger);
  }
  if (!bytes.empty()) std::memcpy(buffer_->data() + position_, bytes.data(), bytes.size());
  position_ = needed;
}

void MemorySink::patch(uint64_t offset, std::span<const std::byte> bytes) {
  std::memcpy(buffer_->data() + offset, bytes.data(), bytes.size());
}

Ref<Buffer> MemorySink::take() {
  if (buffer_ && buffer_->size() == position_) return std::exchange(buffer_, {});
  Ref<Buffer> exact = allocate(position_);
  if (position_ > 0) std::memcpy(exact->data(), buffer_->data(), position_);
  buffer_ = {};
  return exact;
}

}  // namespace mx::io
