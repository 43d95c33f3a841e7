// The lock table: mutual exclusion, time limits, taking everything for a fork, and the order checker.
#include <vector>

#include "runtime.hpp"

using namespace mx;
using namespace mx::test;

static void excludes() {
  Lock &lock = lock_for(LockRank::memory);
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        const std::lock_guard guard(lock);
        ++count;
      }
    });
  for (std::thread &t : threads) t.join();
  CHECK(count == 80'000);
}

static void gives_up() {
  Lock &lock = lock_for(LockRank::handles);
  const std::lock_guard guard(lock);
  std::thread([&] {
    const Stopwatch watch;
    CHECK(!lock.try_lock_for_ms(20));
    CHECK(!lock_all(20));
    CHECK(watch.ms() >= 39 && watch.ms() < 500);
    CHECK(lock_for(LockRank::lifecycle).try_lock_for_ms(0));  // lock_all left nothing behind
    lock_for(LockRank::lifecycle).unlock();
  }).join();
}

static void takes_all() {
  CHECK(lock_all(1000));
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < n_lock_ranks; ++rank)
    threads.emplace_back([&, rank] {
      const RankGuard guard(static_cast<LockRank>(rank));
      ++taken;
    });
  sleep_ms(30);
  CHECK(taken == 0);
  unlock_all();
  for (std::thread &t : threads) t.join();
  CHECK(taken == n_lock_ranks);
}

static void spreads() {
  std::vector<int> objects(4096);
  size_t differing = 0;
  for (const int &object : objects) differing += &lock_for(LockRank::claims, &object) != &lock_for(LockRank::claims);
  CHECK(differing > 1000 && differing < 4000);
  CHECK(&lock_for(LockRank::claims, objects.data()) == &lock_for(LockRank::claims, objects.data()));
}

static void checks_order() {
  CHECK(lock_order_failures() == 0);
  {
    const std::lock_guard outer(lock_for(LockRank::streams));
    const std::lock_guard inner(lock_for(LockRank::memory));
  }
  CHECK(lock_order_failures() == 0);
  {
    const std::lock_guard outer(lock_for(LockRank::memory));
    const std::lock_guard inner(lock_for(LockRank::streams));
  }
#ifdef MX_CHECK_LOCKS
  CHECK(lock_order_failures() == 1);
#endif
}

int main() {
  excludes();
  gives_up();
  takes_all();
  spreads();
  checks_order();
  return 0;
}
