// Sleeping on a 32-bit word, and time. Everything in the runtime that blocks does it here. On systems without futexes
// the sleeper polls, which is slower but equally correct.
#pragma once
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace mx {

inline uint64_t now_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

// A point in time; UINT32_MAX milliseconds is never.
class Deadline {
 public:
  explicit Deadline(uint32_t ms) noexcept : end_(ms == UINT32_MAX ? UINT64_MAX : now_ns() + uint64_t{ms} * 1'000'000) {}
  bool passed() const noexcept { return end_ != UINT64_MAX && now_ns() >= end_; }
  // What is left, at most `limit`.
  uint64_t left_ns(uint64_t limit) const noexcept {
    if (end_ == UINT64_MAX) return limit;
    const uint64_t now = now_ns();
    return now >= end_ ? 0 : std::min(limit, end_ - now);
  }

 private:
  uint64_t end_;
};

inline void cpu_relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

inline void sleep_ns(uint64_t ns) noexcept {
  const timespec t{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  nanosleep(&t, nullptr);
}

// Sleeps while the word is `expected`, at most `ns`; may return early.
inline void wait_on(std::atomic<uint32_t> &word, uint32_t expected, uint64_t ns) noexcept {
#ifdef __linux__
  const timespec t{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, &t, nullptr, 0);
#else
  if (word.load(std::memory_order_acquire) == expected) sleep_ns(std::min<uint64_t>(ns, 50'000));
#endif
}

// Wakes sleepers. Only the address counts: the word may be gone already.
inline void wake(const std::atomic<uint32_t> *word, int count) noexcept {
#ifdef __linux__
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
#else
  (void)word, (void)count;
#endif
}

// How long a thread may look at a word before it sleeps: about the cost of being woken.
constexpr uint64_t spin_ns = 20'000;

}  // namespace mx
