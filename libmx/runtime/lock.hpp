// All locks of the core live in one leaked table, so that fork can take every one of them in rank order and nothing is
// ever destroyed. No other mutex type is allowed in libmx (tools/check_locks.py). A lock is held for bounded,
// allocation-free sections only; whoever holds one may take only locks of a higher rank. Built with MX_CHECK_LOCKS,
// every thread checks that rule (lock_order_failures).
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>  // std::lock_guard

namespace mx {

// In the order in which they may nest.
enum class LockRank : uint8_t {
  lifecycle,
  functions,
  claims,
  streams,
  scheduler,
  events,
  clients,
  threads,
  memory,
  handles,
  kernels
};
constexpr int n_lock_ranks = 11;
constexpr int lock_stripes = 4;  // per rank; the table has n_lock_ranks * lock_stripes <= 64 entries

class Lock {
 public:
  constexpr Lock() noexcept = default;
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;
  void lock() noexcept;
  void unlock() noexcept;
  bool try_lock_for_ms(uint32_t ms) noexcept;

 private:
  friend struct LockTable;
  bool lock_slowly(uint32_t ms) noexcept;
  std::atomic<uint32_t> word_{0};  // 0 free, 1 held, 2 held and perhaps waited for
};

// The lock that guards `object` among those of its rank. Different objects may share one.
Lock &lock_for(LockRank rank, const void *object = nullptr) noexcept;

// All stripes of one rank: what every object of that rank is guarded by.
bool lock_rank(LockRank rank, uint32_t ms = UINT32_MAX) noexcept;
void unlock_rank(LockRank rank) noexcept;

class RankGuard {
 public:
  explicit RankGuard(LockRank rank) noexcept : rank_(rank) { lock_rank(rank); }
  ~RankGuard() { unlock_rank(rank_); }
  RankGuard(const RankGuard &) = delete;
  RankGuard &operator=(const RankGuard &) = delete;

 private:
  LockRank rank_;
};

// fork: takes every lock within `ms` in rank order (false: none is held), gives them back, or makes them anew.
bool lock_all(uint32_t ms) noexcept;
void unlock_all() noexcept;
void reset_all_locks() noexcept;

// How often a thread took a lock out of order; always 0 without MX_CHECK_LOCKS.
uint64_t lock_order_failures() noexcept;

}  // namespace mx
