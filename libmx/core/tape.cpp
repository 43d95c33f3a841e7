#include "core/tape.hpp"

namespace mx {
namespace {

// In place of the newest record once the tape is gone. Never followed.
Record *gone() noexcept { return reinterpret_cast<Record *>(alignof(void *)); }

TransformTrace *open_transform_around(const Trace &trace) noexcept {
  Trace *t = trace.parent.get();
  while (t && !(t->open() && t->kind == TraceKind::transform)) t = t->parent.get();
  return static_cast<TransformTrace *>(t);
}

}  // namespace

void TransformTrace::record(Ref<Record> record) noexcept {
  Record *newest = record.detach();
  append(newest, newest);
}

// Takes over the records from newest to oldest.
void TransformTrace::append(Record *newest, Record *oldest) noexcept {
  Record *seen = newest_.load(std::memory_order_relaxed);
  do {
    if (seen == gone()) {
      oldest->next_ = nullptr;
      while (newest) std::exchange(newest, newest->next_)->release();
      return;
    }
    oldest->next_ = seen;
  } while (!newest_.compare_exchange_weak(seen, newest, std::memory_order_acq_rel, std::memory_order_relaxed));
}

Record *TransformTrace::take() noexcept {
  pop_trace(*this);
  Record *newest = newest_.exchange(gone(), std::memory_order_acq_rel);
  return newest == gone() ? nullptr : newest;
}

void TransformTrace::hand_on(Record *newest) noexcept {
  if (!newest) return;
  if (TransformTrace *around = open_transform_around(*this)) {
    Record *oldest = newest;
    while (oldest->next_) oldest = oldest->next_;
    return around->append(newest, oldest);
  }
  while (newest) std::exchange(newest, newest->next_)->release();
}

std::vector<Ref<Record>> TransformTrace::finish() {
  Record *newest = take();
  size_t n = 0;
  for (const Record *r = newest; r; r = r->next_) n++;
  std::vector<Ref<Record>> records;
  try {
    records.resize(n);
  } catch (...) {
    hand_on(newest);
    throw;
  }
  for (Record *r = newest; r; r = r->next_) records[--n] = Ref<Record>::share(*r);
  hand_on(newest);
  return records;
}

void TransformTrace::abandon() noexcept { hand_on(take()); }

}  // namespace mx
