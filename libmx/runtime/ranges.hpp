// Who takes which ranges of a parallel loop.
#pragma once
#include <atomic>
#include <cstdint>

namespace mx {

// What is left to take of the ranges of a parallel loop. Each thread begins in a share of its own and takes from the
// front; without one it takes from the back of the others'. So a loop that comes again finds in a thread's cache what
// that thread had the time before.
class Ranges {
 public:
  static constexpr int64_t most = INT32_MAX;  // two numbers of ranges lie in one word
  Ranges(int64_t n_ranges, uint32_t n_threads) noexcept;
  // The number of a range; -1: there is none.
  int64_t take(uint32_t place) noexcept;
  bool empty() const noexcept;

 private:
  static constexpr uint32_t max_shares = 16;
  uint32_t n_shares_;
  std::atomic<uint64_t> shares_[max_shares];  // the first range | the one after the last << 32
};

}  // namespace mx
