// What threads that work together on a product have for themselves: memory, and groups to begin with.
#pragma once
#include <algorithm>
#include <atomic>
#include <bit>

#include "backends/cpu/matmul_driver.hpp"

#ifdef __linux__
#include <sched.h>
#endif

namespace mx::cpu {

// A slot is taken for a range of groups, that of the thread's processor if it is free: so in the next call, too, a
// processor works on what is in its own caches. Other processors' caches may be as far away as memory. Slots without
// groups left take those of others. Their memory is cut from one block, because large blocks lie in huge pages.
class Slots {
 public:
  static constexpr int most = 64;

  // `memory` has `bytes` for each of `count` slots.
  Slots(char *memory, int64_t bytes, int count, int64_t groups) noexcept
      : memory_(memory),
        bytes_(bytes),
        groups_(groups),
        count_(count),
        free_(count < 64 ? (uint64_t{1} << count) - 1 : UINT64_MAX) {
    for (int slot = 0; slot < count; slot++) next_[slot].store(begin(slot), std::memory_order_relaxed);
  }

  class Slot {
   public:
    explicit Slot(Slots &all) : all_(all), index_(all.take()), own_(index_ < 0 ? Scratch(all.bytes_) : Scratch()) {}
    ~Slot() {
      if (index_ >= 0) all_.free_.fetch_or(uint64_t{1} << index_, std::memory_order_release);
    }
    Slot(const Slot &) = delete;
    Slot &operator=(const Slot &) = delete;
    int index() const noexcept { return index_; }  // -1: of a thread beyond those that were expected
    char *memory() const noexcept { return index_ < 0 ? own_.get() : all_.memory_ + index_ * all_.bytes_; }
    // To be called as many times in all as there are groups.
    int64_t next_group() noexcept {
      for (int slot = std::max(index_, 0);; slot = slot + 1 < all_.count_ ? slot + 1 : 0) {
        const int64_t group = all_.next_[slot].fetch_add(1, std::memory_order_relaxed);
        if (group < all_.begin(slot + 1)) return group;
      }
    }

   private:
    Slots &all_;
    int index_;
    Scratch own_;
  };

 private:
  int64_t begin(int slot) const noexcept { return slot * groups_ / count_; }
  static int processor() noexcept {
#ifdef __linux__
    return std::max(sched_getcpu(), 0);
#else
    return 0;
#endif
  }
  int take() noexcept {
    const uint64_t own = uint64_t{1} << processor() % count_;
    uint64_t free = free_.load(std::memory_order_relaxed);
    while (free != 0) {
      const uint64_t one = free & own ? own : free & -free;
      if (free_.compare_exchange_weak(free, free & ~one, std::memory_order_acquire)) return std::countr_zero(one);
    }
    return -1;
  }
  char *const memory_;
  const int64_t bytes_, groups_;
  const int count_;
  std::atomic<uint64_t> free_;
  std::atomic<int64_t> next_[most];
};

}  // namespace mx::cpu
