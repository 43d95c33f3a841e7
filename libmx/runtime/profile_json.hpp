// Internal to the recorder: its buffer, and the buffer as text.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/profile.hpp"

namespace mx::profile {

struct Record {
  uint64_t begin_ns, duration_ns;
  int64_t bytes;
  int64_t active;  // bytes of active memory afterwards; -1: not told
  uint32_t thread;
  Kind kind;
  bool worker;  // of the pool
  uint8_t n_name;
  std::atomic<bool> ready;
  char name[80];
};
static_assert(sizeof(Record) == 120);

struct Buffer {
  size_t capacity = 0;
  uint64_t begin_ns = 0;
  std::atomic<uint64_t> next{0};  // counts on beyond the capacity
  Record *records() noexcept { return reinterpret_cast<Record *>(this + 1); }
};

// In the trace event format of Chrome ("Trace Event Format", Google, 2016): complete events in microseconds, a counter
// for active memory, a name for each thread.
std::string to_json(Buffer &buffer);

}  // namespace mx::profile
