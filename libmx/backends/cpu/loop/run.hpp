// Splitting a run over the worker pool.
#pragma once
#include <algorithm>

#include "backends/cpu/loop/plan.hpp"
#include "runtime/pool.hpp"

namespace mx::loop {

// Calls body(begin, end) for the items [0, n) of about `item_ns` each: in parallel from 40 us of work on, in pieces of
// 20 to 200 us, eight of them if that can be, so that threads that start late or are slow still get their share.
template <class Body>
void for_items(int64_t n, double item_ns, Body &&body) {
  const double all_ns = static_cast<double>(n) * item_ns;
  if (all_ns < 40e3 || n < 2) return body(int64_t{0}, n);
  const double piece_ns = std::clamp(all_ns / 8, 20e3, 200e3);
  parallel_for(n, std::clamp<int64_t>(static_cast<int64_t>(piece_ns / item_ns), 1, (n + 1) / 2), body);
}

}  // namespace mx::loop
