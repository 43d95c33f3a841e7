// mx/memory.h: counters and limits.
#include "runtime/memory.hpp"

#include "capi.h"
#include "core/node.hpp"

namespace mx::capi {

namespace {

// What dropped graphs hold has been given up.
MemoryCounters exact_counters() noexcept {
  bury_waiting_nodes();
  return memory_counters();
}

}  // namespace

size_t active_memory() noexcept { return exact_counters().active; }
size_t peak_memory() noexcept { return exact_counters().peak; }
size_t cache_memory() noexcept { return exact_counters().cache; }
void reset_peak_memory() noexcept { mx::reset_peak_memory(); }
size_t set_memory_limit(size_t n_bytes) noexcept { return mx::set_memory_limit(n_bytes); }
size_t memory_limit() noexcept { return mx::memory_limit(); }
size_t set_cache_limit(size_t n_bytes) noexcept { return mx::set_cache_limit(n_bytes); }
void clear_cache() noexcept { mx::clear_cache(); }

}  // namespace mx::capi
