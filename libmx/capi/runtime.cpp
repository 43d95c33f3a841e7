// mx/runtime.h: state, shutdown, cancel, threads, clients and test aids.
#include "capi.h"
#include "core/node.hpp"
#include "runtime/cancel.hpp"
#include "runtime/client.hpp"
#include "runtime/delay.hpp"
#include "runtime/futex.hpp"
#include "runtime/lifecycle.hpp"
#include "runtime/memory.hpp"
#include "runtime/pool.hpp"
#include "runtime/scheduler.hpp"

namespace mx::capi {

mx_state runtime_state() noexcept {
  if (!fork_noticed()) notice_fork();
  return static_cast<mx_state>(current_epoch().state);
}

void shutdown(mx_shutdown_policy policy, uint32_t timeout_ms) { mx::shutdown(policy, timeout_ms); }
void reopen() { mx::reopen(); }

void quiesce(uint32_t timeout_ms) {
  if (!Scheduler::stop_workers(Deadline(timeout_ms)))
    fail(MX_ERROR_TIMEOUT, "quiesce: work was still running after %u ms", timeout_ms);
}

void request_cancel() noexcept { mx::request_cancel(); }
void set_num_threads(int32_t n) { mx::set_num_threads(n); }
int32_t num_threads() noexcept { return mx::num_threads(); }

Ref<Client> client_open() { return open_client(); }
void client_close(Client &x, mx_shutdown_policy policy, uint32_t timeout_ms) {
  bury_waiting_nodes();
  close_client(x, policy, timeout_ms);
}

void client_released(uint64_t *tokens, size_t cap, size_t *n_tokens_out, Client &x) {
  bury_waiting_nodes();
  *n_tokens_out = x.take_released(tokens, cap);
}

void client_pending(uint64_t *n_bytes_out, bool *any_out, Client &x) {
  bury_waiting_nodes();
  *n_bytes_out = x.pending_bytes();
  *any_out = x.pending_flag()->load(std::memory_order_acquire) != 0;
}

uint64_t test_fail_allocation(uint64_t n) noexcept { return fail_allocation_after(n); }
void test_delay(uint32_t us) noexcept { max_delay_us.store(us, std::memory_order_relaxed); }

}  // namespace mx::capi
