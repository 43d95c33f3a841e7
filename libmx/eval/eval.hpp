// Evaluation: from lazy values to memory. Lowers and runs each region once; compiled entries come ready-made.
#pragma once
#include <span>

#include "core/node.hpp"
#include "eval/pin.hpp"

namespace mx {

// Starts computing the values. Small work on an idle stream runs here and now. Throws CLOSING, CLOSED, STALE, TRACE,
// and failures that the graph already holds; failures of the work itself are stored and come from wait.
void start(std::span<const Value> values);

// As start, but does nothing and returns false for graphs that take long to lower, and mostly for those that take long
// to compute. True: all values are there.
bool start_if_small(std::span<const Value> values);

// Waits for a value, starting it if need be; false after timeout_ms. Throws the failure of the work. What is estimated
// to take no longer than that runs on this thread.
bool wait(const Value &value, uint32_t timeout_ms);

// The same for all. Throws the first failure.
bool eval(std::span<const Value> values, uint32_t timeout_ms = UINT32_MAX);
inline void eval(const Value &value) { eval(std::span(&value, 1)); }

// Copies the elements, row-major, to `out` of exactly n_bytes. Forces evaluation. Throws INVALID_ARGUMENT.
void read(void *out, size_t n_bytes, const Value &value);

// The only element of a value of size 1. Forces evaluation.
Scalar item(const Value &value);

// Evaluates and pins.
Ref<Pin> pin(const Value &value);

}  // namespace mx
