// The cancel counter. Nothing here allocates or locks: a signal handler may come in.
#include "runtime/cancel.hpp"

#include "base/status.hpp"
#include "runtime/futex.hpp"
#include "runtime/lifecycle.hpp"
#include "runtime/pool.hpp"

namespace mx {
namespace {
constinit std::atomic<uint64_t> requests{0};
static_assert(std::atomic<uint64_t>::is_always_lock_free, "mx_request_cancel must be async-signal-safe");
}  // namespace

thread_local constinit ThreadState this_thread;

void request_cancel() noexcept { requests.fetch_add(1, std::memory_order_release); }
uint64_t cancel_count() noexcept { return requests.load(std::memory_order_acquire); }

bool cancel_requested() noexcept {
  const ThreadState &t = this_thread;
  if (t.cancel_count != not_cancellable && t.cancel_count != cancel_count()) return true;
  return t.deadline_ns != 0 && now_ns() >= t.deadline_ns;
}

void check_cancel() {
  if (cancel_requested()) fail(MX_ERROR_CANCELLED, "the work was cancelled while it ran");
}

}  // namespace mx
