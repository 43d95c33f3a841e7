// The buffer pool. Sizes are rounded up to classes, eight per power of two; each class keeps a list of free buffers
// that still own their memory, and small classes one spare beside it that is exchanged without a lock, so the common
// small allocation is two atomic operations. When the cache limit is reached, the class that was unused for longest
// gives way. Blocks above 4 MiB come from mmap with huge pages.
#include "runtime/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <new>

#include "runtime/client.hpp"
#include "runtime/delay.hpp"
#include "runtime/lock.hpp"
#include "runtime/profile.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define MX_POISON(data, size) ASAN_POISON_MEMORY_REGION(data, size)
#define MX_UNPOISON(data, size) ASAN_UNPOISON_MEMORY_REGION(data, size)
#else
#define MX_POISON(data, size) (void)0
#define MX_UNPOISON(data, size) (void)0
#endif

namespace mx {
namespace {

constexpr size_t alignment = 64;
constexpr size_t mapped_from = size_t{4} << 20;  // larger blocks are mapped, not taken from the heap
constexpr size_t huge_page = size_t{2} << 20;

// Classes: 64, 128 ... 512, then eight per power of two.
constexpr uint32_t n_classes = 8 + 8 * 38;
constexpr size_t largest = size_t{1} << 46;

uint32_t class_of(size_t bytes) noexcept {
  if (bytes <= 512) return bytes == 0 ? 0 : static_cast<uint32_t>((bytes - 1) / 64);
  const int log = std::bit_width(bytes - 1) - 1;  // 2^log <= bytes - 1 < 2^(log + 1), log >= 9
  const size_t step = (bytes - 1) >> (log - 3) & 7;
  return static_cast<uint32_t>(8 + (log - 9) * 8 + static_cast<int>(step));
}

size_t capacity_of(uint32_t size_class) noexcept {
  if (size_class < 8) return (size_class + size_t{1}) * 64;
  const uint32_t log = (size_class - 8) / 8 + 9, step = (size_class - 8) % 8;
  return (size_t{9} + step) << (log - 3);
}

// Small classes have spares; all of these together are less than a limit that leaves room for them must be.
constexpr uint32_t n_spares = 8 + 8 * 3;
constexpr size_t most_spare_bytes = size_t{64} << 10;
constexpr size_t spares_from = size_t{1} << 20;  // with a smaller cache limit there are none

struct FreeList {
  Buffer *head = nullptr;          // guarded by the lock of the class
  std::atomic<uint32_t> count{0};  // of the list; changes under the lock
  std::atomic<Buffer *> spare{nullptr};
  std::atomic<uint64_t> last_used{0};  // a time that goes up with every miss
};

constinit FreeList classes[n_classes];
constinit FreeList records;  // of borrowed buffers: no memory
constinit std::atomic<size_t> active{0}, peak{0};
constinit std::atomic<size_t> listed{0};             // bytes of the buffers in lists
constinit std::atomic<size_t> made{0};               // bytes of all buffers of the pool, in use or not
constinit std::atomic<size_t> limit{SIZE_MAX};       // SIZE_MAX: not set
constinit std::atomic<size_t> kept_limit{SIZE_MAX};  // SIZE_MAX: not set
constinit std::atomic<uint64_t> ticks{0};
constinit std::atomic<uint64_t> allocations{0}, failing{0};  // see fail_allocation_after

constexpr uint32_t max_records = 1024;  // kept for reuse

Lock &lock_of(const FreeList &list) noexcept { return lock_for(LockRank::memory, &list); }

size_t machine_memory() noexcept {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(size) : size_t{1} << 34;
}

// Whole huge pages, aligned to them; nullptr if the system refuses.
std::byte *map_block(size_t capacity) noexcept {
  const size_t total = capacity + huge_page;
  void *raw = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto *begin = static_cast<std::byte *>(raw);
  const size_t before = (huge_page - reinterpret_cast<uintptr_t>(begin) % huge_page) % huge_page;
  if (before) munmap(begin, before);
  munmap(begin + before + capacity, huge_page - before);
#ifdef MADV_HUGEPAGE
  madvise(begin + before, capacity, MADV_HUGEPAGE);
#endif
  return begin + before;
}

std::byte *take_from_system(size_t capacity) noexcept {
  if (capacity > mapped_from) return map_block(capacity);
  return static_cast<std::byte *>(std::aligned_alloc(alignment, capacity));
}

void give_to_system(std::byte *data, size_t capacity) noexcept {
  MX_UNPOISON(data, capacity);
  if (capacity > mapped_from)
    munmap(data, capacity);
  else
    std::free(data);
}

size_t cached_bytes() noexcept {
  size_t bytes = listed.load(std::memory_order_relaxed);
  for (uint32_t c = 0; c < n_spares; c++)
    if (classes[c].spare.load(std::memory_order_relaxed)) bytes += capacity_of(c);
  return bytes;
}

void raise_peak(size_t now) noexcept {
  size_t before = peak.load(std::memory_order_relaxed);
  while (now > before && !peak.compare_exchange_weak(before, now, std::memory_order_relaxed)) {
  }
}

}  // namespace

struct Memory {
  static Buffer *pop(FreeList &list) noexcept {
    if (list.count.load(std::memory_order_relaxed) == 0) return nullptr;
    const std::lock_guard guard(lock_of(list));
    Buffer *buffer = list.head;
    if (!buffer) return nullptr;
    list.head = buffer->next_;
    list.count.store(list.count.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    return buffer;
  }

  static void push(FreeList &list, Buffer *buffer) noexcept {
    const std::lock_guard guard(lock_of(list));
    buffer->next_ = list.head;
    list.head = buffer;
    list.count.store(list.count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  // A free buffer of a class, its spare or from its list.
  static Buffer *take(FreeList &list) noexcept {
    if (list.spare.load(std::memory_order_relaxed))
      if (Buffer *buffer = list.spare.exchange(nullptr, std::memory_order_acquire)) return buffer;
    Buffer *buffer = pop(list);
    if (buffer) listed.fetch_sub(buffer->capacity_, std::memory_order_relaxed);
    return buffer;
  }

  static void discard(Buffer *buffer) noexcept {
    made.fetch_sub(buffer->capacity_, std::memory_order_relaxed);
    give_to_system(buffer->data_, buffer->capacity_);
    delete buffer;
  }

  // Frees cached blocks, those of the classes that were unused for longest first, until the cache holds at most
  // `bytes`.
  static void trim(size_t bytes) noexcept {
    constexpr auto relaxed = std::memory_order_relaxed;
    while (cached_bytes() > bytes) {
      FreeList *oldest = nullptr;
      for (FreeList &list : classes)
        if ((list.count.load(relaxed) != 0 || list.spare.load(relaxed)) &&
            (!oldest || list.last_used.load(relaxed) < oldest->last_used.load(relaxed)))
          oldest = &list;
      if (!oldest) return;  // what is missing is on its way in or out
      if (Buffer *buffer = take(*oldest)) discard(buffer);
    }
  }

  static Buffer *make(size_t capacity) {
    auto *buffer = new Buffer;
    buffer->data_ = take_from_system(capacity);
    if (!buffer->data_) {
      trim(0);
      buffer->data_ = take_from_system(capacity);
    }
    if (!buffer->data_) {
      delete buffer;
      throw std::bad_alloc();
    }
    buffer->capacity_ = capacity;
    made.fetch_add(capacity, std::memory_order_relaxed);
    return buffer;
  }

  static Buffer *find_or_make(FreeList &list, size_t capacity) {
    if (Buffer *buffer = take(list)) {
      MX_UNPOISON(buffer->data_, capacity);
      buffer->revive();
      return buffer;
    }
    list.last_used.store(ticks.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    // What is cached counts towards the memory limit too, but gives way.
    const size_t top = memory_limit(), used = active.load(std::memory_order_relaxed) + capacity;
    if (used > top)
      trim(0);
    else if (cached_bytes() > top - used)
      trim(top - used);
    return make(capacity);
  }

  // What does not fit is never counted: it would take the room of what other threads ask for meanwhile.
  static size_t reserve(size_t bytes) {
    size_t before = active.load(std::memory_order_relaxed);
    do {
      const size_t top = memory_limit();
      if (bytes > largest || bytes > top || before > top - bytes) throw std::bad_alloc();
    } while (!active.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
    return before + bytes;
  }

  static Ref<Buffer> allocate(size_t bytes) {
    count_allocation();
    const uint64_t begin = profile::on() ? profile::begin() : 0;
    const size_t now = reserve(bytes);
    Buffer *buffer;
    try {
      const uint32_t size_class = class_of(bytes);
      buffer = find_or_make(classes[size_class], capacity_of(size_class));
    } catch (...) {
      active.fetch_sub(bytes, std::memory_order_relaxed);
      throw;
    }
    raise_peak(now);
    if (begin) [[unlikely]]
      profile::record(profile::Kind::allocation, "allocate", begin, static_cast<int64_t>(bytes),
                      static_cast<int64_t>(now));
    buffer->size_ = bytes;
    return Ref<Buffer>(buffer);
  }

  static Ref<Buffer> borrow(const HostMemory &memory) {
    count_allocation();
    Buffer *buffer = pop(records);
    if (buffer)
      buffer->revive();
    else
      buffer = new Buffer;
    buffer->data_ = static_cast<std::byte *>(const_cast<void *>(memory.data));
    buffer->size_ = memory.bytes;
    buffer->borrowed_ = true;
    buffer->read_only_ = memory.read_only;
    return Ref<Buffer>(buffer);
  }

  static void set_owner(Buffer &buffer, Client &client, uint64_t token) noexcept {
    client.retain();
    buffer.client_ = &client;
    buffer.token_ = token;
  }
  static void set_owner(Buffer &buffer, void (*destroy)(void *), void *payload) noexcept {
    buffer.destroy_fn_ = destroy;
    buffer.payload_ = payload;
  }

  static void recycle(Buffer *record) noexcept {
    record->client_ = nullptr;
    record->destroy_fn_ = nullptr;
    record->data_ = nullptr;
    if (records.count.load(std::memory_order_relaxed) < max_records)
      push(records, record);
    else
      delete record;
  }

  static void put_back(Buffer *buffer) noexcept {
    const size_t capacity = buffer->capacity_;
    const size_t before = active.fetch_sub(buffer->size_, std::memory_order_relaxed);
    if (profile::on()) [[unlikely]]
      profile::record(profile::Kind::release, "release", profile::begin(), static_cast<int64_t>(buffer->size_),
                      static_cast<int64_t>(before - buffer->size_));
    const size_t kept = cache_limit();
    if (capacity > kept) return discard(buffer);
    MX_POISON(buffer->data_, capacity);
    FreeList &list = classes[class_of(capacity)];
    if (kept >= spares_from && &list < classes + n_spares) {
      buffer = list.spare.exchange(buffer, std::memory_order_acq_rel);
      if (!buffer) return;
    }
    listed.fetch_add(capacity, std::memory_order_relaxed);
    push(list, buffer);
    if (listed.load(std::memory_order_relaxed) + most_spare_bytes > kept) trim(kept);
  }
};

void Buffer::destroy() noexcept {
  delay_point();
  if (!borrowed_) return Memory::put_back(this);
  if (Client *client = client_) {
    client->push_released(this);  // this record may be reused from here on
    return client->release();
  }
  if (destroy_fn_) destroy_fn_(payload_);
  Memory::recycle(this);
}

Ref<Buffer> allocate(size_t bytes) { return Memory::allocate(bytes); }

Ref<Buffer> borrow(const HostMemory &memory, Client &client, uint64_t token) {
  Ref<Buffer> buffer = Memory::borrow(memory);
  Memory::set_owner(*buffer, client, token);
  return buffer;
}

Ref<Buffer> borrow(const HostMemory &memory, void (*destroy)(void *), void *payload) {
  Ref<Buffer> buffer;
  try {
    buffer = Memory::borrow(memory);
  } catch (...) {
    if (destroy) destroy(payload);
    throw;
  }
  Memory::set_owner(*buffer, destroy, payload);
  return buffer;
}

void recycle_record(Buffer *record) noexcept { Memory::recycle(record); }

MemoryCounters memory_counters() noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  const size_t in_use = active.load(relaxed), cache = cached_bytes(), all = made.load(relaxed);
  return {in_use, peak.load(relaxed), cache, all > in_use + cache ? all - in_use - cache : 0};
}

void reset_peak_memory() noexcept { peak.store(0, std::memory_order_relaxed); }

size_t memory_limit() noexcept {
  const size_t bytes = limit.load(std::memory_order_relaxed);
  if (bytes != SIZE_MAX) [[likely]]
    return bytes;
  size_t unset = SIZE_MAX;
  const size_t machine = machine_memory();
  return limit.compare_exchange_strong(unset, machine, std::memory_order_relaxed) ? machine : unset;
}

size_t set_memory_limit(size_t bytes) noexcept {
  memory_limit();
  return limit.exchange(std::min(bytes, SIZE_MAX - 1), std::memory_order_relaxed);
}

size_t cache_limit() noexcept {
  const size_t bytes = kept_limit.load(std::memory_order_relaxed);
  if (bytes != SIZE_MAX) [[likely]]
    return bytes;
  size_t unset = SIZE_MAX;
  const size_t share = std::min(machine_memory() / 4, size_t{4} << 30);
  return kept_limit.compare_exchange_strong(unset, share, std::memory_order_relaxed) ? share : unset;
}

size_t set_cache_limit(size_t bytes) noexcept {
  cache_limit();
  const size_t before = kept_limit.exchange(std::min(bytes, SIZE_MAX - 1), std::memory_order_relaxed);
  Memory::trim(bytes);
  return before;
}

void clear_cache() noexcept { Memory::trim(0); }

std::atomic<bool> counting_allocations{false};

uint64_t fail_allocation_after(uint64_t n) noexcept {
  counting_allocations.store(true, std::memory_order_relaxed);
  failing.store(n, std::memory_order_relaxed);
  return allocations.exchange(0, std::memory_order_relaxed);
}

void count_one_allocation() {
  allocations.fetch_add(1, std::memory_order_relaxed);
  uint64_t left = failing.load(std::memory_order_relaxed);
  while (left != 0 && !failing.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
  }
  if (left == 1) throw std::bad_alloc();
}

}  // namespace mx
