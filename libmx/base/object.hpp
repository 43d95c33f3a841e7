// Intrusively counted objects, the only things a handle can stand for.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

namespace mx {

// The type tag inside a handle. Append only.
enum class Tag : uint8_t {
  none,
  array,
  pin,
  stream,
  event,
  function,
  call,
  client,
  archive,
  vmap,
  notifier,
  transform
};
constexpr int n_tags = 12;

class Object {
 public:
  Object() = default;
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;
  void retain() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }
  // The same where only references that own lead to the object: the last one needs no locked instruction.
  void release_owned() noexcept {
    if (refs_.load(std::memory_order_acquire) == 1)
      destroy();
    else
      release();
  }
  // For lists that do not own: false when the last reference is gone already.
  bool try_retain() noexcept {
    uint32_t n = refs_.load(std::memory_order_relaxed);
    while (n && !refs_.compare_exchange_weak(n, n + 1, std::memory_order_acq_rel)) {
    }
    return n != 0;
  }
  // From no reference to one: for objects that wait in a pool, where nobody else can see them.
  void revive() noexcept { refs_.store(1, std::memory_order_relaxed); }
  // How many references exist now. Only "exactly the ones I hold" is a stable answer.
  uint32_t ref_count() const noexcept { return refs_.load(std::memory_order_acquire); }

 protected:
  virtual ~Object() = default;
  // Called when the last reference goes. Graph nodes override it, because deleting a long chain must not recurse.
  virtual void destroy() noexcept { delete this; }

 private:
  std::atomic<uint32_t> refs_{1};
};

// A counted reference, possibly null. Ref(new T) adopts the first count.
template <class T>
class Ref {
 public:
  Ref() noexcept = default;
  Ref(std::nullptr_t) noexcept {}
  explicit Ref(T *adopted) noexcept : object_(adopted) {}
  Ref(const Ref &other) noexcept : object_(other.object_) {
    if (object_) object_->retain();
  }
  Ref(Ref &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
    requires std::is_convertible_v<U *, T *>
  Ref(Ref<U> other) noexcept : object_(other.detach()) {}
  Ref &operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) object_->release();
  }
  static Ref share(T *object) noexcept {
    if (object) object->retain();
    return Ref(object);
  }
  static Ref share(T &object) noexcept { return share(&object); }
  T *get() const noexcept { return object_; }
  T *operator->() const noexcept { return object_; }
  T &operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  bool operator==(const Ref &) const noexcept = default;
  T *detach() noexcept { return std::exchange(object_, nullptr); }

 private:
  T *object_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args &&...args) {
  return Ref<T>(new T(std::forward<Args>(args)...));
}

}  // namespace mx
