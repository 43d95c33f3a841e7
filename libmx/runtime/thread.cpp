// Per-thread records and their hand-over.
#include "runtime/thread.hpp"

namespace mx {
namespace {

constinit std::atomic<ThreadRecord *> handed_over{nullptr};
thread_local constinit ThreadRecord *record = nullptr;

struct HandOver {
  bool armed = false;
  ~HandOver() {
    ThreadRecord *mine = std::exchange(record, nullptr);
    if (!mine) return;
    mine->next = handed_over.load(std::memory_order_relaxed);
    while (!handed_over.compare_exchange_weak(mine->next, mine, std::memory_order_release, std::memory_order_relaxed)) {
    }
  }
};
thread_local HandOver hand_over;

}  // namespace

ThreadRecord &thread_record() {
  if (record) [[likely]]
    return *record;
  reap_thread_records();
  record = new ThreadRecord;
  hand_over.armed = true;  // registers the destructor with the first use of this thread
  return *record;
}

void reap_thread_records() noexcept {
  ThreadRecord *list = handed_over.exchange(nullptr, std::memory_order_acquire);
  while (list) delete std::exchange(list, list->next);
}

void forget_thread_records() noexcept { handed_over.store(nullptr, std::memory_order_relaxed); }

}  // namespace mx
