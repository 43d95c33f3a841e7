// What is worked out at its first use and stays. Not statics in functions: a fork while another thread is inside the
// initialiser of one leaves it begun, and the child would wait for its end for ever.
#pragma once
#include <atomic>

namespace mx {

// What `choose` returns, which is the same at every call: threads that come at once all call it.
template <auto choose>
auto settled() noexcept {
  using T = decltype(choose());
  static constinit std::atomic<T> value{};
  static constinit std::atomic<bool> known{false};
  if (!known.load(std::memory_order_acquire)) [[unlikely]] {
    value.store(choose(), std::memory_order_relaxed);
    known.store(true, std::memory_order_release);
  }
  return value.load(std::memory_order_relaxed);
}

// The one T of the process, never deleted. Throws bad_alloc when it is made.
template <class T>
T &leaked() {
  static constinit std::atomic<T *> made{nullptr};
  T *one = made.load(std::memory_order_acquire);
  if (one) [[likely]]
    return *one;
  T *fresh = new T;
  if (made.compare_exchange_strong(one, fresh, std::memory_order_acq_rel, std::memory_order_acquire)) return *fresh;
  delete fresh;
  return *one;
}

}  // namespace mx
