// A test aid: threads pause for a random short time at points where races hide (mx_test_delay, MX_TEST_DELAY).
#pragma once
#include <atomic>
#include <cstdint>

namespace mx {

extern std::atomic<uint32_t> max_delay_us;  // 0: off
void delay_randomly(uint32_t max_us) noexcept;

inline void delay_point() noexcept {
  if (const uint32_t us = max_delay_us.load(std::memory_order_relaxed)) delay_randomly(us);
}

}  // namespace mx
