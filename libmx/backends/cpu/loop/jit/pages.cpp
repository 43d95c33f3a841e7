// Each function has pages of its own: private ones, so that a fork leaves both processes with what they have, and
// neither can see what the other makes later.
#include "backends/cpu/loop/jit/pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "backends/cpu/loop/jit/versions.hpp"

namespace mx::loop::jit {
namespace {

constexpr int64_t max_code_bytes = int64_t{32} << 20;
std::atomic<int64_t> used{0};
std::atomic<bool> refused{false};

size_t whole_pages(size_t bytes) noexcept {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

const void *executable_copy(const void *code, size_t bytes) noexcept {
  const size_t size = whole_pages(bytes);
  const int64_t counted = static_cast<int64_t>(size);
  if (used.fetch_add(counted, std::memory_order_relaxed) + counted <= max_code_bytes) {
    void *const pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages != MAP_FAILED) {
      std::memcpy(pages, code, bytes);
      if (mprotect(pages, size, PROT_READ | PROT_EXEC) == 0) return pages;
      refused.store(true, std::memory_order_relaxed);
      munmap(pages, size);
    }
  }
  used.fetch_sub(counted, std::memory_order_relaxed);
  return nullptr;
}

void discard(const void *code, size_t bytes) noexcept {
  const size_t size = whole_pages(bytes);
  munmap(const_cast<void *>(code), size);
  used.fetch_sub(static_cast<int64_t>(size), std::memory_order_relaxed);
}

bool is_refused() noexcept { return refused.load(std::memory_order_relaxed); }
int64_t code_bytes() noexcept { return used.load(std::memory_order_relaxed); }

}  // namespace mx::loop::jit
