// Between a free and the second one lie only the frees of one solver's matrices: a short list of the latest is enough.
#include "backends/cpu/linalg_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace mx::cpu {
namespace {

constexpr size_t alignment = 64;  // what the widest vectors need
constexpr unsigned n_latest = 64;
thread_local constinit void *latest[n_latest] = {};  // freed by this thread, and not given to it again
thread_local constinit unsigned place = 0;

}  // namespace

void *linalg_malloc(size_t bytes) noexcept {
  void *const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory) std::replace(std::begin(latest), std::end(latest), memory, static_cast<void *>(nullptr));
  return memory;
}

void linalg_free(void *memory) noexcept {
  if (!memory || std::find(std::begin(latest), std::end(latest), memory) != std::end(latest)) return;
  latest[place++ % n_latest] = memory;
  std::free(memory);
}

}  // namespace mx::cpu
