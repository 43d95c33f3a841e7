// A host language's registration: its release queue of tokens. One per importing interpreter.
#pragma once
#include <atomic>

#include "base/object.hpp"
#include "mx/runtime.h"
#include "runtime/memory.hpp"

namespace mx {

class Client : public Object {
 public:
  static constexpr Tag tag = Tag::client;
  // Called when the last reference to a borrowed buffer goes: any thread, any state, never allocates; takes one lock of
  // the table for a few instructions. (A lock and not a lock-free list: a child must never see the list torn by its
  // fork.)
  void push_released(Buffer *record) noexcept;
  // Moves up to `cap` tokens out; returns how many.
  size_t take_released(uint64_t *tokens, size_t cap) noexcept;
  // Nonzero while tokens wait; hosts may read it without a call.
  const std::atomic<uint32_t> *pending_flag() const noexcept { return &pending_; }
  size_t pending_bytes() const noexcept { return pending_bytes_.load(std::memory_order_relaxed); }

 private:
  friend Ref<Client> open_client();
  friend void close_client(Client &client, mx_shutdown_policy policy, uint32_t timeout_ms);
  ~Client() override;
  Buffer *oldest_ = nullptr, *newest_ = nullptr;  // guarded by the client's lock
  std::atomic<uint32_t> pending_{0};
  std::atomic<size_t> pending_bytes_{0};
  std::atomic<bool> open_{false};
};

// Counts as open until close_client or until its last reference goes. Reopens a closed runtime.
Ref<Client> open_client();
// Idempotent. Shuts the runtime down when no other client is open and this process owns the runtime.
void close_client(Client &client, mx_shutdown_policy policy, uint32_t timeout_ms);

}  // namespace mx
