// The cache of kernels: by content (the hash only narrows the search), least recently used out first, leaked at exit.
#include <mutex>
#include <utility>

#include "backends/cpu/loop/kernel.hpp"
#include "base/settled.hpp"
#include "runtime/lock.hpp"

namespace mx::loop {
namespace {

constexpr uint32_t max_kernels = 2048, n_buckets = 4096;

struct Item {
  uint64_t hash;
  KernelRef kernel;
  Item *chain = nullptr;                    // in the bucket
  Item *newer = nullptr, *older = nullptr;  // in the order of use
};

struct Cache {
  Item *buckets[n_buckets] = {};
  Item *newest = nullptr, *oldest = nullptr;
  uint32_t n = 0;

  Item *find(uint64_t hash, const Code &code) const noexcept {
    for (Item *item = buckets[hash % n_buckets]; item; item = item->chain)
      if (item->hash == hash && item->kernel->code == code) return item;
    return nullptr;
  }
  void unlink(Item *item) noexcept {
    (item->newer ? item->newer->older : newest) = item->older;
    (item->older ? item->older->newer : oldest) = item->newer;
  }
  void push(Item *item) noexcept {
    item->newer = nullptr;
    item->older = newest;
    (newest ? newest->newer : oldest) = item;
    newest = item;
  }
  void insert(Item *item) noexcept {
    item->chain = std::exchange(buckets[item->hash % n_buckets], item);
    push(item);
    n++;
  }
  Item *evict() noexcept {
    if (n <= max_kernels) return nullptr;
    Item *const item = oldest;
    unlink(item);
    Item **at = &buckets[item->hash % n_buckets];
    while (*at != item) at = &(*at)->chain;
    *at = item->chain;
    n--;
    return item;
  }
};

Cache &cache() { return leaked<Cache>(); }

uint64_t mixed(uint64_t hash, uint64_t x) noexcept {
  const unsigned __int128 product = static_cast<unsigned __int128>(hash ^ x) * 0x9e3779b97f4a7c15u;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}
uint64_t hash_of(const Code &code) noexcept {
  uint64_t hash = mixed(code.ins.size(), code.n_scalars + 0x243f6a8885a308d3u);
  for (const Ins &ins : code.ins) {
    const uint64_t head = static_cast<uint64_t>(ins.op) | static_cast<uint64_t>(ins.type) << 8 |
                          static_cast<uint64_t>(ins.part) << 16 | static_cast<uint64_t>(ins.arg) << 32;
    const uint64_t operands = ins.a | static_cast<uint64_t>(ins.b) << 16 | static_cast<uint64_t>(ins.c) << 32;
    hash = mixed(mixed(hash, head), operands);
  }
  for (DType type : code.operands) hash = mixed(hash, static_cast<uint64_t>(type) + 1);
  return hash;
}

KernelRef found(Cache &cache, uint64_t hash, const Code &code) noexcept {
  Item *const item = cache.find(hash, code);
  if (!item) return nullptr;
  cache.unlink(item);
  cache.push(item);
  return item->kernel;
}

}  // namespace

KernelRef compile(const Code &code) {
  const uint64_t hash = hash_of(code);
  Cache &all = cache();
  Lock &lock = lock_for(LockRank::kernels);
  {
    const std::lock_guard held(lock);
    if (KernelRef kernel = found(all, hash, code)) return kernel;
  }
  // Nothing is allocated or freed under the lock. Whoever comes second takes what the first one made.
  auto fresh = std::make_unique<Item>(Item{hash, compile_for(micro_ops(), code)});
  std::unique_ptr<Item> evicted;
  const std::lock_guard held(lock);
  if (KernelRef kernel = found(all, hash, code)) return kernel;
  const KernelRef kernel = fresh->kernel;
  all.insert(fresh.release());
  evicted.reset(all.evict());
  return kernel;
}

}  // namespace mx::loop
