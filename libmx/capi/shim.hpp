// What the generated shims (tools/gen_capi.py) are made of: handles in, handles out, and checks that name the function
// and the argument. Relies on the handle table; nothing else of the library is known here.
#pragma once
#include <span>

#include "base/small_vector.hpp"
#include "base/status.hpp"
#include "core/array.hpp"
#include "mx/array.h"

namespace mx {

[[noreturn, gnu::cold, gnu::noinline]] inline void null_argument(const char *where) {
  fail(MX_ERROR_INVALID_ARGUMENT, "%s is NULL", where);
}

// Runs what throws because of a bad argument; `where` is the "function: argument" of the error message.
template <class F>
auto naming(const char *where, F &&body) {
  try {
    return body();
  } catch (const Error &e) {
    fail(e.status(), "%s: %s", where, e.what());
  }
}

// The object behind a handle for the time of a call.
template <class T, class H>
Pinned<T> pin(H handle, const char *where) {
  return naming(where, [&] { return Pinned<T>(handle); });
}

inline uint64_t bits(mx_array handle) noexcept { return reinterpret_cast<uint64_t>(handle); }

// The value that a handle of an array stands for now.
inline Value array_at(mx_array handle, const char *where) {
  return naming(where, [&] { return array_at(bits(handle)); });
}

inline Value optional_array_at(mx_array handle, const char *where) {
  return handle ? array_at(handle, where) : Value();
}

inline ValueVector arrays_at(const mx_array *handles, size_t n, const char *where) {
  ValueVector values;
  values.reserve(n);
  for (size_t i = 0; i < n; i++) values.push_back(array_at(handles[i], where));
  return values;
}

inline void assign_array(mx_array handle, Value value, const char *where) {
  naming(where, [&] { assign_array(bits(handle), std::move(value)); });
}

inline mx_array share_array(mx_array handle, const char *where) {
  return reinterpret_cast<mx_array>(naming(where, [&] { return share_array(bits(handle)); }));
}

template <class T>
class OptionalPin {
 public:
  template <class H>
  OptionalPin(H handle, const char *where) {
    if (handle) pinned_.push_back(pin<T>(handle, where));
  }
  T *get() const noexcept { return pinned_.empty() ? nullptr : pinned_[0].get(); }

 private:
  SmallVector<Pinned<T>, 1> pinned_;
};

template <class T>
class Pins {
 public:
  template <class H>
  Pins(const H *handles, size_t n, const char *where) {
    pinned_.reserve(n);
    objects_.reserve(n);
    for (size_t i = 0; i < n; i++) objects_.push_back(pinned_.emplace_back(pin<T>(handles[i], where)).get());
  }
  std::span<T *const> span() const noexcept { return {objects_.data(), objects_.size()}; }

 private:
  SmallVector<Pinned<T>, 8> pinned_;
  SmallVector<T *, 8> objects_;
};

// A handle that is closed again unless it is taken: nothing leaks when a later step of the call fails.
template <class H>
class Opened {
 public:
  template <class T>
  explicit Opened(Ref<T> object) : handle_(object ? open_handle({object.detach()}, T::tag) : 0), tag_(T::tag) {}
  explicit Opened(Value value) : handle_(value.node ? open_array(std::move(value)) : 0), tag_(Tag::array) {}
  Opened(Opened &&other) noexcept : handle_(std::exchange(other.handle_, 0)), tag_(other.tag_) {}
  ~Opened() {
    if (handle_) tag_ == Tag::array ? close_array(handle_) : close_handle(handle_, tag_);
  }
  H take() noexcept { return reinterpret_cast<H>(std::exchange(handle_, 0)); }

 private:
  uint64_t handle_;
  Tag tag_;
};

template <class H>
class OpenedList {
 public:
  template <class T, uint32_t N>  // T: a reference to an object, or a value
  OpenedList(SmallVector<T, N> &results, size_t cap, const char *function) {
    if (results.size() > cap)
      fail(MX_ERROR_INVALID_ARGUMENT, "%s: there are %zu outputs, but cap is %zu", function, results.size(), cap);
    opened_.reserve(results.size());
    for (T &result : results) opened_.emplace_back(std::move(result));
  }
  void store(H *outs, size_t *n_out) noexcept {
    for (size_t i = 0; i < opened_.size(); i++) outs[i] = opened_[i].take();
    *n_out = opened_.size();
  }

 private:
  SmallVector<Opened<H>, 4> opened_;
};

// destroy(payload) runs exactly once: here when a call fails before its implementation has taken the two over.
class CallbackGuard {
 public:
  CallbackGuard(void (*destroy)(void *), void *payload) noexcept : destroy_(destroy), payload_(payload) {}
  CallbackGuard(const CallbackGuard &) = delete;
  CallbackGuard &operator=(const CallbackGuard &) = delete;
  ~CallbackGuard() {
    if (destroy_) destroy_(payload_);
  }
  void disarm() noexcept { destroy_ = nullptr; }

 private:
  void (*destroy_)(void *);
  void *payload_;
};

}  // namespace mx
