// Splitting a run over the worker pool.
#pragma once
#include <algorithm>

#include "backends/cpu/loop/plan.hpp"
#include "runtime/pool.hpp"

namespace mx::loop {

// About how long n elements of the plan's space take on one thread.
double item_ns(const Plan &plan, int64_t n) noexcept;

// Calls body(begin, end) for the items [0, n) of about `item_ns` each, in parallel where that pays.
template <class Body>
void for_items(int64_t n, double item_ns, Body &&body) {
  parallel_for(n, Cost{item_ns}, body);
}

}  // namespace mx::loop
