#include "core/array.hpp"

#include "core/word_lock.hpp"

namespace mx {
namespace {

constexpr uint32_t is_shared = UINT32_MAX;  // SlotItem::detail of a SharedArray; else it is the index of an output

// An array of several handles.
class SharedArray final : public Object {
 public:
  explicit SharedArray(Value value) noexcept : value_(std::move(value)) {}
  Value get() noexcept {
    lock();
    Value value = value_;
    unlock_word(word_, 0u);
    return value;
  }
  void exchange(Value &value) noexcept {
    lock();
    std::swap(value_, value);
    unlock_word(word_, 0u);
  }

 private:
  void lock() noexcept {
    uint32_t state;
    lock_word<0, 31>(word_, state, [](uint32_t) { return true; });
  }
  std::atomic<uint32_t> word_{0};
  Value value_;
};

SlotItem to_item(Value value) noexcept { return {value.node.detach(), value.index}; }
// Takes over the reference in the item, which is not of a shared array.
Value to_value(SlotItem item) noexcept { return {Ref<Node>(static_cast<Node *>(item.object)), item.detail}; }

// The shared array in a slot, if there is one.
Ref<SharedArray> shared_in(const SlotItem &item) noexcept {
  if (item.detail != is_shared) return {};
  return Ref<SharedArray>::share(static_cast<SharedArray *>(item.object));
}

}  // namespace

uint64_t open_array(Value value) {
  const uint32_t index = value.index;
  return open_handle({value.node.detach(), index}, Tag::array);
}

Value array_at(uint64_t handle) {
  Ref<SharedArray> shared;
  {
    const LockedSlot slot(handle, Tag::array);
    shared = shared_in(slot.item());
    if (!shared) return {Ref<Node>::share(static_cast<Node *>(slot.item().object)), slot.item().detail};
  }
  return shared->get();
}

void assign_array(uint64_t handle, Value value) {
  Ref<SharedArray> shared;
  {
    LockedSlot slot(handle, Tag::array);
    shared = shared_in(slot.item());
    if (!shared) value = to_value(std::exchange(slot.item(), to_item(std::move(value))));
  }
  if (shared) shared->exchange(value);
}

uint64_t share_array(uint64_t handle) {
  auto fresh = make_ref<SharedArray>(Value());  // before the lock: it allocates
  Ref<SharedArray> shared;
  {
    LockedSlot slot(handle, Tag::array);
    shared = shared_in(slot.item());
    if (!shared) {
      Value value = to_value(slot.item());
      fresh->exchange(value);
      shared = fresh;
      slot.item() = {fresh.detach(), is_shared};
    }
  }
  return open_handle({shared.detach(), is_shared}, Tag::array);
}

void close_array(uint64_t handle) {
  if (handle == 0) return;
  LockedSlot slot(handle, Tag::array);
  const bool shared = slot.item().detail == is_shared;
  Object *const object = slot.close();
  shared ? object->release() : static_cast<Node *>(object)->release();
}

}  // namespace mx
