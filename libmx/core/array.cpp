#include "core/array.hpp"

#include <atomic>
#include <utility>

#include "base/status.hpp"
#include "core/word_lock.hpp"

namespace mx {
namespace {

// SlotItem::detail of a SharedArray, and of an item between two arrays; else it is the index of an output.
constexpr uint32_t is_shared = UINT32_MAX, is_torn = UINT32_MAX - 1;

void need_whole(uint32_t detail) {
  if (detail == is_torn) fail(MX_ERROR_FORKED, "the array was being replaced when this process was forked");
}

// Changes the two halves of a place one after the other: a child forked in between, which finds the lock of the place
// open, sees `is_torn`.
template <class Change>
void tear(uint32_t &detail, uint32_t to, Change change) noexcept {
  detail = is_torn;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  change();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  detail = to;
}

// An array of several handles.
class SharedArray final : public Object {
 public:
  explicit SharedArray(Value value) noexcept : value_(std::move(value)) {}
  Value get() {
    const Held held(word_);
    need_whole(value_.index);
    return value_;
  }
  void exchange(Value &value) {
    const Held held(word_);
    need_whole(value_.index);
    const uint32_t before = value_.index;
    tear(value_.index, value.index, [&] { std::swap(value_.node, value.node); });
    value.index = before;
  }

 private:
  class Held {
   public:
    explicit Held(std::atomic<uint32_t> &word) noexcept : word_(word) {
      uint32_t state;
      lock_word<0, 31>(word_, state, [](uint32_t) { return true; });
    }
    ~Held() { unlock_word(word_, 0u); }

   private:
    std::atomic<uint32_t> &word_;
  };
  std::atomic<uint32_t> word_{0};
  Value value_;
};

// Takes over the reference in the item, which is not of a shared array.
Value to_value(SlotItem item) noexcept { return {Ref<Node>(static_cast<Node *>(item.object)), item.detail}; }

void replace(SlotItem &item, Object *object, uint32_t detail) noexcept {
  tear(item.detail, detail, [&] { item.object = object; });
}

// The shared array in a slot, if there is one.
Ref<SharedArray> shared_in(const SlotItem &item) {
  need_whole(item.detail);
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
    if (!shared) {
      Value before = to_value(slot.item());
      replace(slot.item(), value.node.detach(), value.index);
      value = std::move(before);
    }
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
      replace(slot.item(), fresh.detach(), is_shared);
    }
  }
  return open_handle({shared.detach(), is_shared}, Tag::array);
}

void close_array(uint64_t handle) {
  if (handle == 0) return;
  LockedSlot slot(handle, Tag::array);
  const uint32_t detail = slot.item().detail;
  Object *const object = slot.close();
  if (detail == is_torn) return;  // of which type it is nobody knows
  detail == is_shared ? object->release() : static_cast<Node *>(object)->release();
}

}  // namespace mx
