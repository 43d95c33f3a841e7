// Per-thread records and their hand-over. The end of a thread is noticed through a key of POSIX threads: a thread_local
// with a destructor would end the process where the C library has no memory to register it.
#include "runtime/thread.hpp"

#include <pthread.h>

#include <memory>
#include <new>

namespace mx {
namespace {

constinit std::atomic<ThreadRecord *> handed_over{nullptr};
thread_local constinit ThreadRecord *record = nullptr;

constinit pthread_key_t at_end{};
constinit bool has_key = false;

void hand_over(void *ended) noexcept {
  auto *mine = static_cast<ThreadRecord *>(ended);
  record = nullptr;
  mine->next = handed_over.load(std::memory_order_relaxed);
  while (!handed_over.compare_exchange_weak(mine->next, mine, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

// At load, before there can be two threads here, and while the first few keys, which need no memory, are mostly free.
__attribute__((constructor)) void make_key() noexcept { has_key = pthread_key_create(&at_end, hand_over) == 0; }

}  // namespace

ThreadRecord &thread_record() {
  if (record) [[likely]]
    return *record;
  reap_thread_records();
  auto fresh = std::make_unique<ThreadRecord>();
  // Where the process had no key left, records are never freed.
  if (has_key && pthread_setspecific(at_end, fresh.get()) != 0) throw std::bad_alloc();
  record = fresh.release();
  return *record;
}

void reap_thread_records() noexcept {
  ThreadRecord *list = handed_over.exchange(nullptr, std::memory_order_acquire);
  while (list) delete std::exchange(list, list->next);
}

void forget_thread_records() noexcept { handed_over.store(nullptr, std::memory_order_relaxed); }

}  // namespace mx
