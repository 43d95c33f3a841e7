// Internal to the runtime: what a thread owns, its default streams. The record is on the heap; when the thread ends,
// its key's destructor hands it over with a single CAS and a later call frees it. No thread_local has a destructor.
#pragma once
#include "base/small_vector.hpp"
#include "runtime/stream.hpp"

namespace mx {

struct ThreadRecord {
  SmallVector<Ref<Stream>, 1> streams;  // one per device that was used
  ThreadRecord *next = nullptr;         // once handed over
};

// The calling thread's, made on first use. Throws bad_alloc.
ThreadRecord &thread_record();
// Frees the records of threads that have ended.
void reap_thread_records() noexcept;
// In a forked child: the records of threads that are gone may be torn, so they are left alone.
void forget_thread_records() noexcept;

}  // namespace mx
