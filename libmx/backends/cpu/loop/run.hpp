// Splitting a run over the worker pool.
#pragma once
#include <algorithm>

#include "backends/cpu/loop/plan.hpp"
#include "runtime/pool.hpp"

namespace mx::loop {

// Calls body(begin, end) for the items [0, n) of about `item_ns` each: in parallel from 100 us of work on, in pieces of
// about 200 us.
template <class Body>
void for_items(int64_t n, double item_ns, Body &&body) {
  if (static_cast<double>(n) * item_ns < 100e3 || n < 2) return body(int64_t{0}, n);
  const int64_t grain = std::clamp<int64_t>(static_cast<int64_t>(200e3 / item_ns), 1, (n + 1) / 2);
  parallel_for(n, grain, body);
}

}  // namespace mx::loop
