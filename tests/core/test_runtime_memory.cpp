// Buffers: exact counters, limits, the cache, borrowed memory and its tokens, failing allocations.
#include <cstring>
#include <vector>

#include "runtime.hpp"

using namespace mx;
using namespace mx::test;

static void counters() {
  clear_cache();
  const MemoryCounters before = memory_counters();
  CHECK(before.cache == 0);
  reset_peak_memory();
  CHECK(memory_counters().peak == 0);
  {
    const Ref<Buffer> a = allocate(1000), b = allocate(70'000), c = allocate(20'000'000), d = allocate(0);
    for (const Ref<Buffer> *buffer : {&a, &b, &c, &d}) {
      CHECK(reinterpret_cast<uintptr_t>((*buffer)->data()) % 64 == 0 && (*buffer)->data());
      std::memset((*buffer)->data(), 1, (*buffer)->size());
    }
    const MemoryCounters now = memory_counters();
    CHECK(now.active - before.active == 20'071'000);
    CHECK(now.peak == now.active);
    CHECK(now.slack > before.slack && now.slack - before.slack < 20'071'000 / 7);
  }
  const MemoryCounters after = memory_counters();
  CHECK(after.active == before.active && after.slack == before.slack);
  CHECK(after.peak - before.active == 20'071'000);
  CHECK(after.cache >= 20'071'000);
  clear_cache();
  CHECK(memory_counters().cache == 0);
}

// Small classes keep one buffer outside their list: it counts as cached and goes with the rest.
static void spares() {
  clear_cache();
  const size_t active = memory_counters().active;
  std::byte *first;
  {
    const Ref<Buffer> a = allocate(100), b = allocate(100);
    first = a->data();
  }
  CHECK(memory_counters().active == active && memory_counters().cache == 2 * 128);
  {
    const Ref<Buffer> a = allocate(128), b = allocate(65);
    CHECK(a->data() == first || b->data() == first);
    CHECK(memory_counters().cache == 0 && a->ref_count() == 1 && b->size() == 65);
  }
  clear_cache();
  CHECK(memory_counters().cache == 0);
  const size_t limit = set_cache_limit(200);
  {
    const Ref<Buffer> a = allocate(100), b = allocate(100);
  }
  CHECK(memory_counters().cache == 128);
  set_cache_limit(limit);
  clear_cache();
}

static void sizes() {
  // Rounding adds an eighth at most, and every size gets a block that holds it.
  for (size_t bytes = 1; bytes < size_t{1} << 26; bytes = bytes * 9 / 8 + 1)
    for (const size_t size : {bytes - 1, bytes, bytes + 1}) {
      const size_t before = memory_counters().slack;
      const Ref<Buffer> buffer = allocate(size);
      CHECK(memory_counters().slack - before <= std::max<size_t>(64, size / 8 + 1));
      if (size) buffer->data()[0] = buffer->data()[size - 1] = std::byte{1};
      CHECK(buffer->size() == size && buffer->writable() && buffer->ref_count() == 1);
    }
  clear_cache();
}

static void reuse() {
  clear_cache();
  std::byte *first;
  {
    const Ref<Buffer> a = allocate(5'000'000);
    first = a->data();
  }
  CHECK(allocate(4'999'000)->data() == first);  // the same class
  const size_t limit = set_cache_limit(0);
  CHECK(memory_counters().cache == 0);
  {
    const Ref<Buffer> a = allocate(3000);
  }
  CHECK(memory_counters().cache == 0);
  set_cache_limit(10'000);
  for (const size_t size : {6000, 3000, 4000, 5000, 200'000}) allocate(size);
  CHECK(memory_counters().cache <= 10'000 && memory_counters().cache > 0);
  CHECK(set_cache_limit(limit) == 10'000 && cache_limit() == limit);
}

static void limits() {
  const size_t active = memory_counters().active;
  const size_t before = set_memory_limit(active + 1'000'000);
  CHECK(memory_limit() == active + 1'000'000);
  const Ref<Buffer> a = allocate(900'000);
  CHECK(status_of([] { allocate(200'000); }) == MX_ERROR_OUT_OF_MEMORY);
  CHECK(memory_counters().active == active + 900'000);
  CHECK(status_of([] { allocate(90'000); }) == MX_OK);
  CHECK(memory_counters().active + memory_counters().cache <= active + 1'100'000);
  set_memory_limit(before);
  CHECK(status_of([] { allocate(size_t{1} << 62); }) == MX_ERROR_OUT_OF_MEMORY);
  CHECK(status_of([] { allocate(SIZE_MAX); }) == MX_ERROR_OUT_OF_MEMORY);
}

static void threads() {
  const size_t before = memory_counters().active;
  std::vector<std::thread> workers;
  for (int t = 0; t < 4; ++t)
    workers.emplace_back([t] {
      std::vector<Ref<Buffer>> kept;
      for (int i = 0; i < 3000; ++i) {
        const size_t size = static_cast<size_t>((i * 37 + t * 11) % 5000) + 8;
        Ref<Buffer> buffer = allocate(size);
        std::memset(buffer->data(), t, size);
        if (i % 3 == 0) kept.push_back(buffer);
        if (i % 100 == 99) kept.clear();
        CHECK(buffer->data()[size - 1] == std::byte(t));
        if (i % 500 == 0) clear_cache();
      }
    });
  for (std::thread &worker : workers) worker.join();
  CHECK(memory_counters().active == before);
}

static void tokens() {
  const Ref<Client> client = open_client();
  char host[100];
  uint64_t out[8];
  CHECK(client->take_released(out, 8) == 0 && client->pending_flag()->load() == 0);
  const size_t active = memory_counters().active;
  {
    const Ref<Buffer> a = borrow({host, 100, true}, *client, 11), b = borrow({host, 50, false}, *client, 12);
    CHECK(!a->writable() && a->read_only() && !b->writable() && !b->read_only());
    CHECK(a->size() == 100 && memory_counters().active == active);
    CHECK(client->take_released(out, 8) == 0);
  }
  CHECK(client->pending_flag()->load() == 1 && client->pending_bytes() == 150);
  CHECK(client->take_released(out, 1) == 1 && out[0] == 12);  // the last one declared is released first
  CHECK(client->take_released(out, 8) == 1 && out[0] == 11);
  CHECK(client->pending_flag()->load() == 0 && client->pending_bytes() == 0);
  // From many threads: every token exactly once.
  std::vector<std::thread> workers;
  for (uint64_t t = 0; t < 4; ++t)
    workers.emplace_back([&, t] {
      for (uint64_t i = 0; i < 1000; ++i) borrow({host, 1, false}, *client, t * 1000 + i);
    });
  std::vector<int> seen(4000);
  size_t n = 0;
  while (n < 4000)
    for (size_t i = client->take_released(out, 8); i-- > 0; ++n) ++seen[out[i]];
  for (std::thread &worker : workers) worker.join();
  for (const int count : seen) CHECK(count == 1);
  // A buffer may outlive the host's references to the client.
  Ref<Client> other = open_client();
  const Ref<Buffer> late = borrow({host, 1, false}, *other, 1);
  other = {};
}

static void callbacks() {
  int calls = 0;
  const auto destroy = [](void *payload) { ++*static_cast<int *>(payload); };
  char host[4];
  {
    const Ref<Buffer> a = borrow({host, 4, false}, destroy, &calls);
    const Ref<Buffer> b = a;
  }
  CHECK(calls == 1);
  fail_allocation_after(1);
  CHECK(status_of([&] { borrow({host, 4, false}, destroy, &calls); }) == MX_ERROR_OUT_OF_MEMORY);
  CHECK(calls == 2);
}

static void failing() {
  fail_allocation_after(0);
  allocate(10);
  CHECK(fail_allocation_after(3) == 1);
  CHECK(status_of([] { allocate(10); }) == MX_OK);
  CHECK(status_of([] { allocate(10); }) == MX_OK);
  const size_t active = memory_counters().active;
  CHECK(status_of([] { allocate(10); }) == MX_ERROR_OUT_OF_MEMORY);
  CHECK(memory_counters().active == active);
  CHECK(status_of([] { allocate(10); }) == MX_OK);
  CHECK(fail_allocation_after(0) == 4);
}

int main() {
  counters();
  spares();
  sizes();
  reuse();
  limits();
  threads();
  tokens();
  callbacks();
  failing();
  CHECK(lock_order_failures() == 0);
  return 0;
}
