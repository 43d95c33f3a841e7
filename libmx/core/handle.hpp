// The handle table: 64-bit values (tag | generation | slot) that are checked on every use, like file descriptors.
#pragma once
#include "base/object.hpp"

namespace mx {

// What a handle stands for, and what more its type wants to know about it.
struct SlotItem {
  Object *object = nullptr;
  uint32_t detail = 0;
};

uint64_t open_handle(SlotItem adopted, Tag tag);  // takes over one count; throws bad_alloc after releasing it
void close_handle(uint64_t handle, Tag tag);      // throws MX_ERROR_HANDLE unless live; 0 is fine
uint64_t live_handles(Tag tag) noexcept;          // Tag::none: of all types

// Keeps the object behind a handle alive for one call, even when another thread closes the handle.
class PinnedObject {
 public:
  PinnedObject() noexcept = default;
  PinnedObject(uint64_t handle, Tag tag);  // throws MX_ERROR_HANDLE
  PinnedObject(PinnedObject &&other) noexcept : object_(std::exchange(other.object_, nullptr)), slot_(other.slot_) {}
  ~PinnedObject();

 protected:
  Object *object_ = nullptr;

 private:
  uint32_t slot_ = 0;
};

// Exclusive access to a slot for a few instructions: for the type whose items change (core/array.hpp) and are cheaper
// to copy than to pin. A type is either locked or pinned, never both.
class LockedSlot {
 public:
  LockedSlot(uint64_t handle, Tag tag);  // throws MX_ERROR_HANDLE
  ~LockedSlot();
  LockedSlot(const LockedSlot &) = delete;
  SlotItem &item() noexcept { return *item_; }
  const SlotItem &item() const noexcept { return *item_; }
  Object *close() noexcept;  // ends the handle; the caller releases the object

 private:
  SlotItem *item_ = nullptr;
  uint64_t state_ = 0;
  uint32_t slot_;
};

// C handle <-> object. T::tag says the type.
template <class T>
class Pinned : PinnedObject {
 public:
  template <class H>
  explicit Pinned(H handle) : PinnedObject(reinterpret_cast<uint64_t>(handle), T::tag) {}
  T &operator*() const noexcept { return static_cast<T &>(*object_); }
  T *get() const noexcept { return static_cast<T *>(object_); }
};

template <class H, class T>
void put(H *out, Ref<T> object) {
  *out = reinterpret_cast<H>(open_handle({object.detach()}, T::tag));
}

template <class T, class H>
void close(H handle) {
  close_handle(reinterpret_cast<uint64_t>(handle), T::tag);
}

}  // namespace mx
