// The recorder. A writer announces itself before it looks whether a recording is on, so stop() knows when the last one
// has left; a writer that the system holds up in between makes stop() leave the buffer to it.
#include "runtime/profile.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/status.hpp"
#include "runtime/cancel.hpp"
#include "runtime/futex.hpp"
#include "runtime/memory.hpp"
#include "runtime/profile_json.hpp"

namespace mx::profile {
namespace {

enum Phase : uint32_t { idle, busy, active };
constinit std::atomic<uint32_t> phase{idle};
constinit std::atomic<uint32_t> writers{0};
constinit Buffer *current = nullptr;  // owned by whoever brought the phase to busy
thread_local constinit uint32_t thread_number = 0;

uint32_t this_thread_number() noexcept {
  if (thread_number == 0) {
#ifdef __linux__
    thread_number = static_cast<uint32_t>(syscall(SYS_gettid));
#else
    static constinit std::atomic<uint32_t> last{0};
    thread_number = last.fetch_add(1, std::memory_order_relaxed) + 1;
#endif
  }
  return thread_number;
}

void enter(Phase from, const char *why_not) {
  uint32_t expected = from;
  if (!phase.compare_exchange_strong(expected, busy, std::memory_order_acquire))
    fail(MX_ERROR_INVALID_ARGUMENT, "%s", why_not);
}

// Whether all writers have left; they stay for the copy of one record.
bool writers_left() noexcept {
  for (const Deadline deadline(200); writers.load(std::memory_order_seq_cst) != 0;) {
    if (deadline.passed()) return false;
    sleep_ns(50'000);
  }
  return true;
}

}  // namespace

constinit std::atomic<Buffer *> recording{nullptr};
thread_local constinit std::string_view current_kernel;

void start(size_t capacity) {
  count_allocation();
  enter(idle, "profile_start: a profile is being recorded already");
  // calloc: pages that no record reaches are never touched.
  void *memory = capacity > (size_t{1} << 32) ? nullptr : std::calloc(1, sizeof(Buffer) + capacity * sizeof(Record));
  if (!memory) {
    phase.store(idle, std::memory_order_release);
    throw std::bad_alloc();
  }
  current = new (memory) Buffer;
  current->capacity = capacity;
  current->begin_ns = now_ns();
  recording.store(current, std::memory_order_seq_cst);
  phase.store(active, std::memory_order_release);
}

std::string stop() {
  enter(active, "profile_stop: no profile is being recorded");
  recording.store(nullptr, std::memory_order_seq_cst);
  const bool alone = writers_left();
  Buffer *buffer = std::exchange(current, nullptr);
  std::string text;
  try {
    text = to_json(*buffer);
  } catch (...) {
    if (alone) std::free(buffer);
    phase.store(idle, std::memory_order_release);
    throw;
  }
  if (alone) std::free(buffer);
  phase.store(idle, std::memory_order_release);
  return text;
}

// Memory of the parent's recording is left alone: it was perhaps being written.
void forget() noexcept {
  recording.store(nullptr, std::memory_order_relaxed);
  writers.store(0, std::memory_order_relaxed);
  phase.store(idle, std::memory_order_relaxed);
  thread_number = 0;
  current_kernel = {};
}

uint64_t begin() noexcept { return now_ns(); }

void record(Kind kind, std::string_view name, uint64_t begin, int64_t bytes, int64_t active) noexcept {
  const uint64_t now = now_ns();
  writers.fetch_add(1, std::memory_order_seq_cst);
  // What began before this recording belongs to none.
  if (Buffer *buffer = recording.load(std::memory_order_seq_cst); buffer && begin >= buffer->begin_ns) {
    const uint64_t at = buffer->next.fetch_add(1, std::memory_order_relaxed);
    if (at < buffer->capacity) {
      Record &r = buffer->records()[at];
      r.begin_ns = begin;
      r.duration_ns = now - begin;
      r.bytes = bytes;
      r.active = active;
      r.thread = this_thread_number();
      r.kind = kind;
      r.worker = mx::this_thread.worker;
      r.n_name = static_cast<uint8_t>(std::min(name.size(), sizeof r.name));
      std::memcpy(r.name, name.data(), r.n_name);
      r.ready.store(true, std::memory_order_release);
    }
  }
  writers.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace mx::profile
