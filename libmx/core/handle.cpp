// Slots live in chunks that are never freed; a free slot waits on a lock-free stack. A slot's state counts the calls
// that use its object right now, so closing a handle on one thread never pulls the object from under another; or, for
// arrays, it holds a lock.
#include "core/handle.hpp"

#include <atomic>
#include <new>

#include "base/status.hpp"
#include "core/word_lock.hpp"
#include "runtime/lock.hpp"

namespace mx {
namespace {

// state = tag << 56 | generation << 32 | live << 31 | pins or lock; its upper half is that of the handle. Whoever
// brings it to "not live, no pins" recycles the slot.
constexpr uint64_t live_bit = uint64_t{1} << 31;
constexpr int lock_width = 31;
constexpr uint32_t chunk_size = 4096, n_chunks = 16384, generations = 1u << 24;

struct Slot {
  std::atomic<uint64_t> state{0};
  SlotItem item;
  std::atomic<uint32_t> next_free{0};
};

struct Table {
  std::atomic<Slot *> chunks[n_chunks] = {};
  std::atomic<uint64_t> free{0};  // counter << 32 | slot: the counter defeats ABA
  uint32_t n_slots = 1;           // slot 0 stays empty so that no handle is 0; guarded by LockRank::handles
};

constinit Table table;  // nothing destroys it: any thread may still be inside at exit
static_assert(std::is_trivially_destructible_v<Table>);

inline Slot &slot_at(uint32_t slot) noexcept {
  return table.chunks[slot / chunk_size].load(std::memory_order_acquire)[slot % chunk_size];
}

uint32_t pop_free() noexcept {
  std::atomic<uint64_t> &free = table.free;
  uint64_t top = free.load(std::memory_order_acquire);
  while (static_cast<uint32_t>(top) != 0) {
    const uint64_t next = slot_at(static_cast<uint32_t>(top)).next_free.load(std::memory_order_relaxed);
    if (free.compare_exchange_weak(top, ((top >> 32) + 1) << 32 | next, std::memory_order_acq_rel))
      return static_cast<uint32_t>(top);
  }
  return 0;
}

void push_free(uint32_t slot) noexcept {
  std::atomic<uint64_t> &free = table.free;
  uint64_t top = free.load(std::memory_order_relaxed);
  do {
    slot_at(slot).next_free.store(static_cast<uint32_t>(top), std::memory_order_relaxed);
  } while (!free.compare_exchange_weak(top, ((top >> 32) + 1) << 32 | slot, std::memory_order_acq_rel));
}

uint32_t take_slot() {
  if (const uint32_t slot = pop_free()) return slot;
  Table &t = table;
  Lock &lock = lock_for(LockRank::handles);
  for (;;) {
    lock.lock();
    const uint32_t slot = t.n_slots, chunk = slot / chunk_size;
    if (chunk < n_chunks && t.chunks[chunk].load(std::memory_order_relaxed)) {
      t.n_slots++;
      lock.unlock();
      return slot;
    }
    lock.unlock();
    if (chunk >= n_chunks) throw std::bad_alloc();
    Slot *fresh = new Slot[chunk_size], *expected = nullptr;  // outside the lock: it allocates
    if (!t.chunks[chunk].compare_exchange_strong(expected, fresh, std::memory_order_acq_rel)) delete[] fresh;
  }
}

// Returns what was in the slot.
Object *recycle(uint32_t slot) noexcept {
  Slot &s = slot_at(slot);
  Object *object = s.item.object;
  const uint64_t generation = ((s.state.load(std::memory_order_relaxed) >> 32) + 1) % generations;
  s.state.store(generation << 32, std::memory_order_release);
  push_free(slot);
  return object;
}

// The slot that a handle names, if there is such a slot.
inline Slot *slot_of(uint64_t handle) noexcept {
  const uint32_t slot = static_cast<uint32_t>(handle);
  if (slot / chunk_size >= n_chunks) return nullptr;
  Slot *chunk = table.chunks[slot / chunk_size].load(std::memory_order_acquire);
  return chunk ? chunk + slot % chunk_size : nullptr;
}

// Whether a slot with this state is that of the handle.
inline bool belongs(uint64_t state, uint64_t handle) noexcept {
  return state & live_bit && state >> 32 == handle >> 32;
}

// Applies `change` to the slot's state if the handle is live; returns the state before, 0 if it is not live.
template <class Change>
uint64_t update(uint64_t handle, Tag tag, Change change) noexcept {
  Slot *slot = handle >> 56 == static_cast<uint64_t>(tag) ? slot_of(handle) : nullptr;
  if (!slot) return 0;
  uint64_t s = slot->state.load(std::memory_order_acquire);
  do {
    if (!belongs(s, handle)) return 0;
  } while (!slot->state.compare_exchange_weak(s, change(s), std::memory_order_acq_rel));
  return s;
}

[[noreturn]] void not_live(uint64_t handle, Tag tag) {
  static constexpr const char *names[n_tags] = {"?",    "array",  "pin",     "stream", "event",    "function",
                                                "call", "client", "archive", "vmap",   "notifier", "transform"};
  const auto kind = static_cast<uint8_t>(tag);
  const char *name = kind < n_tags && names[kind] ? names[kind] : "?";
  fail(MX_ERROR_HANDLE, "0x%llx is not a live handle of type mx_%s", static_cast<unsigned long long>(handle), name);
}

}  // namespace

uint64_t open_handle(SlotItem adopted, Tag tag) {
  Ref<Object> object(adopted.object);
  const uint32_t slot = take_slot();
  Slot &s = slot_at(slot);
  s.item = {object.detach(), adopted.detail};
  const uint64_t generation = s.state.load(std::memory_order_relaxed) >> 32;
  const uint64_t upper = static_cast<uint64_t>(tag) << 56 | generation << 32;
  s.state.store(upper | live_bit, std::memory_order_release);
  return upper | slot;
}

void close_handle(uint64_t handle, Tag tag) {
  if (handle == 0) return;
  const uint64_t before = update(handle, tag, [](uint64_t s) { return s & ~live_bit; });
  if (!before) not_live(handle, tag);
  if (!(before & (live_bit - 1))) recycle(static_cast<uint32_t>(handle))->release();
}

// Looks at every slot: a counter would cost each handle two atomic operations.
uint64_t live_handles(Tag tag) noexcept {
  Lock &lock = lock_for(LockRank::handles);
  lock.lock();
  const uint32_t n_slots = table.n_slots;
  lock.unlock();
  uint64_t n = 0;
  for (uint32_t slot = 1; slot < n_slots; slot++) {
    const uint64_t state = slot_at(slot).state.load(std::memory_order_relaxed);
    n += state & live_bit && (tag == Tag::none || state >> 56 == static_cast<uint64_t>(tag));
  }
  return n;
}

PinnedObject::PinnedObject(uint64_t handle, Tag tag) : slot_(static_cast<uint32_t>(handle)) {
  if (!update(handle, tag, [](uint64_t s) { return s + 1; })) not_live(handle, tag);
  object_ = slot_at(slot_).item.object;
}

PinnedObject::~PinnedObject() {
  if (!object_) return;
  const uint64_t before = slot_at(slot_).state.fetch_sub(1, std::memory_order_acq_rel);
  if (!(before & live_bit) && (before & (live_bit - 1)) == 1) recycle(slot_)->release();
}

LockedSlot::LockedSlot(uint64_t handle, Tag tag) : slot_(static_cast<uint32_t>(handle)) {
  Slot *slot = handle >> 56 == static_cast<uint64_t>(tag) ? slot_of(handle) : nullptr;
  if (!slot || !lock_word<0, lock_width>(slot->state, state_, [&](uint64_t s) { return belongs(s, handle); }))
    not_live(handle, tag);
  item_ = &slot->item;
}

LockedSlot::~LockedSlot() {
  if (item_) unlock_word(slot_at(slot_).state, state_);
}

Object *LockedSlot::close() noexcept {
  item_ = nullptr;
  return recycle(slot_);
}

}  // namespace mx
