// Buffers: pooled memory with exact counters, or memory borrowed from the host under a token.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/object.hpp"

namespace mx {

class Client;  // client.hpp

// Memory that arrays view. Reference counted; a pooled one returns to the pool when the last reference goes.
class Buffer : public Object {
 public:
  void release() noexcept { release_owned(); }
  std::byte *data() const noexcept { return data_; }
  size_t size() const noexcept { return size_; }          // the bytes that were asked for
  bool writable() const noexcept { return !borrowed_; }   // by kernels
  bool read_only() const noexcept { return read_only_; }  // for everybody, hosts too
  // Pinned memory is being read by somebody outside: it is never donated.
  bool pinned() const noexcept { return pins_.load(std::memory_order_acquire) != 0; }
  void pin() noexcept { pins_.fetch_add(1, std::memory_order_acq_rel); }
  void unpin() noexcept { pins_.fetch_sub(1, std::memory_order_acq_rel); }

 private:
  friend struct Memory;
  friend class Client;
  Buffer() = default;
  ~Buffer() override = default;
  void destroy() noexcept override;
  std::byte *data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
  std::atomic<uint32_t> pins_{0};
  bool borrowed_ = false, read_only_ = false;
  // borrowed: who is told, and what
  Client *client_ = nullptr;
  uint64_t token_ = 0;
  void (*destroy_fn_)(void *) = nullptr;
  void *payload_ = nullptr;
  Buffer *next_ = nullptr;  // in the pool's free list or the client's release queue
};

// 64-byte aligned, not initialised. Throws bad_alloc beyond the memory limit or when the system refuses.
Ref<Buffer> allocate(size_t bytes);
// Memory that the host lends.
struct HostMemory {
  const void *data;
  size_t bytes;
  bool read_only;
};
// When the last reference goes, `token` is put on the client's release queue (never allocates, any
// thread). Throws bad_alloc; then the token is not taken.
Ref<Buffer> borrow(const HostMemory &memory, Client &client, uint64_t token);
// For C hosts: destroy(payload) runs once, on whichever thread drops the last reference, no lock held.
// Throws bad_alloc after destroy(payload).
Ref<Buffer> borrow(const HostMemory &memory, void (*destroy)(void *), void *payload);

struct MemoryCounters {
  size_t active, peak, cache,
      slack;  // bytes; active = live pooled buffers as requested, slack = what rounding adds to it
};
MemoryCounters memory_counters() noexcept;
void reset_peak_memory() noexcept;               // peak becomes 0
size_t set_memory_limit(size_t bytes) noexcept;  // returns the one before
size_t memory_limit() noexcept;                  // at first the machine's memory
size_t set_cache_limit(size_t bytes) noexcept;   // frees what is beyond; returns the one before
size_t cache_limit() noexcept;                   // at first a quarter of the machine's memory, 4 GiB at most
void clear_cache() noexcept;

// Tests: the N-th allocation from now on fails, once (0 = off). Counts buffers and nodes (see mx_test_fail_allocation).
// Returns how many were counted since the last call; the first one begins to count.
uint64_t fail_allocation_after(uint64_t n) noexcept;
extern std::atomic<bool> counting_allocations;
void count_one_allocation();
// Throws bad_alloc when the countdown hits; called by everything that allocates on behalf of the user.
inline void count_allocation() {
  if (counting_allocations.load(std::memory_order_relaxed)) [[unlikely]]
    count_one_allocation();
}

// Puts the record of a borrowed buffer that nobody refers to any more back (client.cpp).
void recycle_record(Buffer *record) noexcept;

}  // namespace mx
