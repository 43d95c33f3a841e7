// The state of the runtime: UNINIT -> RUNNING(g) -> DRAINING -> CLOSED -> RUNNING(g + 1). One atomic word holds state
// and generation; the deciding check is made under a stream's queue lock at submission (stream.hpp). A forked child is
// UNINIT(g + 1) until its first use.
#pragma once
#include <atomic>
#include <cstdint>

#include "mx/runtime.h"

namespace mx {

enum class State : uint8_t { uninit, running, draining, closed };

struct Epoch {
  State state;
  uint32_t generation;
  bool operator==(const Epoch &) const noexcept = default;
};

Epoch current_epoch() noexcept;

// Brings UNINIT (and a forked child) to RUNNING: registers the exit and fork hooks, builds the singletons. Cheap after
// the first call. Throws CLOSING or CLOSED when the runtime is draining or closed, so ops that create work start with
// it, and FORKED in a child that was forked in the middle of something.
void require_running();

// Building lazy nodes is allowed while DRAINING, so only CLOSED throws.
void require_not_closed();

// Does nothing if `unless` is not 0 when the state would change: clients that have opened meanwhile.
void shutdown(mx_shutdown_policy policy, uint32_t timeout_ms, const std::atomic<uint32_t> *unless = nullptr);
void reopen();

// True once the work that this thread runs was cancelled, by mx_request_cancel or by a shutdown. Kernels look between
// chunks; check_cancel (pool.hpp) throws instead.
bool cancel_requested() noexcept;

// The exit hook; lifecycle.cpp registers it once.
void exit_hook() noexcept;
// True from the exit hook on: workers park after what they run, and nothing calls the host any more.
bool exiting() noexcept;
// The process that owns the current generation, as getpid() gave it.
bool owned_by_this_process() noexcept;

// --- between lifecycle.cpp, fork.cpp and scheduler.cpp ---

void set_epoch(Epoch epoch) noexcept;  // callers hold all queue locks, or are alone
void set_owner() noexcept;             // this process owns the generation
// Registers the fork handlers. Throws bad_alloc.
void register_fork_handlers();
// False in a process that was made by _Fork or clone, where no handler ran: then notice_fork makes up for it.
bool fork_noticed() noexcept;
void notice_fork() noexcept;
// True in a child whose parent held locks during the fork: it can free and read, and nothing else.
bool forked_dirty() noexcept;
[[noreturn]] void fail_dirty();
// The generation this process began with: what is older is its parent's.
extern constinit std::atomic<uint32_t> process_generation;  // fork.cpp
inline uint32_t first_generation() noexcept { return process_generation.load(std::memory_order_acquire); }
// Drops the tasks that the parent had queued, once, outside of the fork handler.
void drop_lost_tasks() noexcept;
// Called when a task has ended while the runtime drains.
void drain_progress(bool idle) noexcept;

}  // namespace mx
