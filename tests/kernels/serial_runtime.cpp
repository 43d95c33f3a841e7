// A runtime for kernel tests that link no runtime: buffers from the heap and loops on the calling thread, cut into the
// ranges that a parallel run would have.
#include <cstdlib>
#include <new>

#include "runtime/memory.hpp"
#include "runtime/pool.hpp"

namespace mx {

struct Memory {
  static Ref<Buffer> make(size_t bytes) {
    void *data = std::aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!data) throw std::bad_alloc();
    Buffer *buffer = new Buffer;
    buffer->data_ = static_cast<std::byte *>(data);
    buffer->size_ = bytes;
    return Ref<Buffer>(buffer);
  }
};

void Buffer::destroy() noexcept {
  std::free(data_);
  delete this;
}

Ref<Buffer> allocate(size_t bytes) { return Memory::make(bytes); }

void set_num_threads(int) {}
int num_threads() noexcept { return 4; }
void check_cancel() {}
int64_t grain_for(int64_t n, Cost) noexcept { return n > 1 ? (n + 1) / 2 : 1; }

void parallel_for_erased(int64_t n, int64_t grain, void (*body)(void *, int64_t, int64_t), void *context) {
  for (int64_t begin = 0; begin < n; begin += grain) body(context, begin, n - begin < grain ? n : begin + grain);
}

}  // namespace mx
