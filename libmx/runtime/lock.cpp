// The table of locks: three-state futex words in constant-initialised storage that nothing ever destroys.
#include "runtime/lock.hpp"

#include "runtime/delay.hpp"
#include "runtime/futex.hpp"
#include "runtime/lifecycle.hpp"

namespace mx {
namespace {

constexpr int n_locks = n_lock_ranks * lock_stripes;
static_assert(n_locks <= 64);
constinit Lock locks[n_locks];
constinit std::atomic<uint64_t> order_failures{0};

#ifdef MX_CHECK_LOCKS
thread_local uint64_t held = 0;  // one bit per lock of the table
constexpr uint64_t from_bit(int i) { return i >= 64 ? 0 : ~uint64_t{0} << i; }
int index_of(const Lock *lock) noexcept { return static_cast<int>(lock - locks); }
// `within_rank`: the stripes of a rank may be taken one after the other.
void note_lock(const Lock *lock, bool within_rank) noexcept {
  const int i = index_of(lock);
  const int first_forbidden = within_rank ? i : i / lock_stripes * lock_stripes;
  if (held & from_bit(first_forbidden)) order_failures.fetch_add(1, std::memory_order_relaxed);
  held |= uint64_t{1} << i;
}
void note_unlock(const Lock *lock) noexcept { held &= ~(uint64_t{1} << index_of(lock)); }
void note_none() noexcept { held = 0; }
#else
void note_lock(const Lock *, bool) noexcept {}
void note_unlock(const Lock *) noexcept {}
void note_none() noexcept {}
#endif

}  // namespace

struct LockTable {
  static bool take(Lock &lock, uint32_t ms) noexcept {
    uint32_t free = 0;
    if (!lock.word_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed) &&
        !lock.lock_slowly(ms))
      return false;
    note_lock(&lock, true);
    return true;
  }
  // Takes locks[first] to locks[last - 1]; all or none.
  static bool take_range(int first, int last, uint32_t ms) noexcept {
    const uint64_t start = now_ns();
    for (int i = first; i < last; ++i) {
      const uint64_t spent = ms == UINT32_MAX ? 0 : (now_ns() - start) / 1'000'000;
      if (spent <= ms && take(locks[i], ms == UINT32_MAX ? ms : static_cast<uint32_t>(ms - spent))) continue;
      while (i-- > first) locks[i].unlock();
      return false;
    }
    return true;
  }
  static void reset() noexcept {
    for (Lock &lock : locks) lock.word_.store(0, std::memory_order_relaxed);
    note_none();
  }
};

bool Lock::lock_slowly(uint32_t ms) noexcept {
  for (int i = 0; i < 64; ++i) {
    uint32_t free = 0;
    if (word_.load(std::memory_order_relaxed) == 0 &&
        word_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed))
      return true;
    cpu_relax();
  }
  const Deadline deadline(ms);
  while (word_.exchange(2, std::memory_order_acquire) != 0) {
    const uint64_t left = deadline.left_ns(50'000'000);
    if (left == 0) return false;
    wait_on(word_, 2, left);
    // A process made by _Fork or clone ran no handler: whoever holds the lock may not exist here.
    if (!fork_noticed()) notice_fork();
  }
  return true;
}

void Lock::lock() noexcept {
  delay_point();
  uint32_t free = 0;
  if (!word_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed))
    lock_slowly(UINT32_MAX);
  note_lock(this, false);
}

void Lock::unlock() noexcept {
  note_unlock(this);
  if (word_.exchange(0, std::memory_order_release) == 2) wake(&word_, 1);
}

bool Lock::try_lock_for_ms(uint32_t ms) noexcept {
  uint32_t free = 0;
  if (!word_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed) && !lock_slowly(ms))
    return false;
  note_lock(this, false);
  return true;
}

Lock &lock_for(LockRank rank, const void *object) noexcept {
  const uint64_t hash = (reinterpret_cast<uintptr_t>(object) >> 4) * 0x9E3779B97F4A7C15u;
  return locks[static_cast<int>(rank) * lock_stripes + static_cast<int>(hash >> 62) % lock_stripes];
}

bool lock_rank(LockRank rank, uint32_t ms) noexcept {
  const int first = static_cast<int>(rank) * lock_stripes;
  return LockTable::take_range(first, first + lock_stripes, ms);
}

void unlock_rank(LockRank rank) noexcept {
  for (int i = lock_stripes; i-- > 0;) locks[static_cast<int>(rank) * lock_stripes + i].unlock();
}

bool lock_all(uint32_t ms) noexcept { return LockTable::take_range(0, n_locks, ms); }
void unlock_all() noexcept {
  for (int i = n_locks; i-- > 0;) locks[i].unlock();
}
void reset_all_locks() noexcept { LockTable::reset(); }
uint64_t lock_order_failures() noexcept { return order_failures.load(std::memory_order_relaxed); }

}  // namespace mx
