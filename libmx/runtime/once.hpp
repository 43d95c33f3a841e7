// Something that is done once, at its first use, without a result of its own: under a lock that fork waits for, so that
// no child finds it begun for ever. For what would be the initialiser of a static in a function; see base/settled.hpp.
#pragma once
#include <atomic>
#include <mutex>

#include "runtime/lock.hpp"

namespace mx {

class Once {
 public:
  // `act` takes no lock and does not allocate.
  template <class F>
  void operator()(F act) noexcept {
    if (done_.load(std::memory_order_acquire)) [[likely]]
      return;
    const std::lock_guard guard(lock_for(LockRank::kernels));
    if (done_.load(std::memory_order_relaxed)) return;
    act();
    done_.store(true, std::memory_order_release);
  }

 private:
  std::atomic<bool> done_{false};
};

}  // namespace mx
