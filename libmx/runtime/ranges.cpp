#include "runtime/ranges.hpp"

#include <algorithm>

namespace mx {

Ranges::Ranges(int64_t n_ranges, uint32_t n_threads) noexcept : n_shares_(std::min(n_threads, max_shares)) {
  for (uint64_t i = 0; i < n_shares_; i++) {
    const uint64_t n = static_cast<uint64_t>(n_ranges), begin = n * i / n_shares_, end = n * (i + 1) / n_shares_;
    shares_[i].store(begin | end << 32, std::memory_order_relaxed);
  }
}

int64_t Ranges::take(uint32_t place) noexcept {
  for (uint32_t i = 0; i < n_shares_; i++) {
    std::atomic<uint64_t> &share = shares_[(place + i) % n_shares_];
    uint64_t ends = share.load(std::memory_order_relaxed);
    while (static_cast<uint32_t>(ends) != ends >> 32) {
      const bool own = i == 0;
      const uint64_t left = own ? ends + 1 : ends - (uint64_t{1} << 32);
      if (share.compare_exchange_weak(ends, left, std::memory_order_relaxed))
        return own ? static_cast<uint32_t>(ends) : static_cast<int64_t>(left >> 32);
    }
  }
  return -1;
}

bool Ranges::empty() const noexcept {
  for (uint32_t i = 0; i < n_shares_; i++) {
    const uint64_t ends = shares_[i].load(std::memory_order_relaxed);
    if (static_cast<uint32_t>(ends) != ends >> 32) return false;
  }
  return true;
}

}  // namespace mx
