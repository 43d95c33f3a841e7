// Clients and their release queues. The queue's nodes are the buffer records themselves.
#include "runtime/client.hpp"

#include "runtime/delay.hpp"
#include "runtime/lifecycle.hpp"
#include "runtime/lock.hpp"

namespace mx {
namespace {
constinit std::atomic<uint32_t> n_open{0};
}

Client::~Client() {
  if (open_.exchange(false, std::memory_order_acq_rel)) n_open.fetch_sub(1, std::memory_order_acq_rel);
  // Records hold a reference to their client until they are queued: what is left here was never collected.
  while (Buffer *record = oldest_) {
    oldest_ = record->next_;
    recycle_record(record);
  }
}

void Client::push_released(Buffer *record) noexcept {
  record->next_ = nullptr;
  const std::lock_guard guard(lock_for(LockRank::clients, this));
  (newest_ ? newest_->next_ : oldest_) = record;
  newest_ = record;
  pending_bytes_.fetch_add(record->size_, std::memory_order_relaxed);
  pending_.store(1, std::memory_order_release);
}

size_t Client::take_released(uint64_t *tokens, size_t cap) noexcept {
  if (!fork_noticed()) notice_fork();
  drop_lost_tasks();
  Buffer *taken = nullptr;
  size_t n = 0;
  {
    const std::lock_guard guard(lock_for(LockRank::clients, this));
    for (; n < cap && oldest_; ++n) {
      Buffer *record = oldest_;
      oldest_ = record->next_;
      tokens[n] = record->token_;
      pending_bytes_.fetch_sub(record->size_, std::memory_order_relaxed);
      record->next_ = taken;
      taken = record;
    }
    if (!oldest_) {
      newest_ = nullptr;
      pending_.store(0, std::memory_order_release);
    }
  }
  while (taken) {
    Buffer *next = taken->next_;
    recycle_record(taken);
    taken = next;
  }
  return n;
}

Ref<Client> open_client() {
  count_allocation();
  Ref<Client> client = make_ref<Client>();
  // Counted first: whoever closes the last client beside this either sees it, or has begun to close the runtime.
  client->open_.store(true, std::memory_order_release);
  n_open.fetch_add(1, std::memory_order_acq_rel);
  reopen();
  return client;
}

void close_client(Client &client, mx_shutdown_policy policy, uint32_t timeout_ms) {
  if (!client.open_.exchange(false, std::memory_order_acq_rel)) return;
  if (n_open.fetch_sub(1, std::memory_order_acq_rel) == 1 && owned_by_this_process())
    shutdown(policy, timeout_ms, &n_open);
}

}  // namespace mx
