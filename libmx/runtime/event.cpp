// Events. The word holds the phase, whether somebody sleeps on it, and the failure's status. Listeners are a lock-free
// stack that completion takes over as a whole. Relies on scheduler.hpp for pumping when the pool has no threads.
#include "runtime/event.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/delay.hpp"
#include "runtime/futex.hpp"
#include "runtime/lifecycle.hpp"
#include "runtime/profile.hpp"
#include "runtime/scheduler.hpp"

namespace mx {
namespace {

// The word: bits 0-1 phase, bit 2 somebody sleeps, bit 3 the text is the status's fixed one, bits 8-15 status.
enum : uint32_t { pending_phase = 0, claimed_phase = 1, done_phase = 2, failed_phase = 3, phase_mask = 3 };
constexpr uint32_t sleeper_bit = 4, fixed_text_bit = 8;
constexpr int status_shift = 8;

uint32_t phase_of(uint32_t word) noexcept { return word & phase_mask; }
bool is_final(uint32_t word) noexcept { return phase_of(word) >= done_phase; }
uint32_t failed_word(mx_status status, bool fixed) noexcept {
  return failed_phase | (fixed ? fixed_text_bit : 0) | static_cast<uint32_t>(status) << status_shift;
}

const char *fixed_text(mx_status status) noexcept {
  switch (status) {
    case MX_ERROR_OUT_OF_MEMORY:
      return "out of memory";
    case MX_ERROR_CANCELLED:
      return "the work was dropped: the runtime was closed";
    case MX_ERROR_FORKED:
      return "the work was lost in a fork: it was queued or running in the parent process";
    default:
      return "the work failed, and there was no memory for the message";
  }
}

// Ends every listener list: nobody can be added any more.
constinit Event::Listener closed_list{nullptr};
constinit std::atomic<uint64_t> last_id{0};

// How often a waiter looks whether the runtime was closed.
constexpr uint64_t look_ns = 20'000'000;

}  // namespace

struct Event::Failure {
  char text[1];
};

Event::Event() noexcept
    : generation_(current_epoch().generation), id_(last_id.fetch_add(1, std::memory_order_relaxed) + 1) {}

Event::~Event() { std::free(failure_.load(std::memory_order_acquire)); }

Event::Loss Event::loss() const noexcept {
  const Epoch now = current_epoch();
  if (generation_ == now.generation) return now.state == State::closed ? Loss::closed : Loss::none;
  return generation_ < first_generation() ? Loss::forked : Loss::closed;
}

bool Event::live() const noexcept {
  const uint32_t word = word_.load(std::memory_order_acquire);
  return !is_final(word) && loss() == Loss::none;
}

bool Event::pending() const noexcept {
  const uint32_t word = word_.load(std::memory_order_acquire);
  if (is_final(word)) return false;
  const Loss why = loss();
  if (why == Loss::none) return true;
  give_up(why);
  return !is_final(word_.load(std::memory_order_acquire));
}

// Nobody will complete this event, or nobody may wait for it any more.
void Event::give_up(Loss why) const noexcept {
  uint32_t word = word_.load(std::memory_order_acquire);
  const bool forked = why == Loss::forked;
  const uint32_t failure = failed_word(forked ? MX_ERROR_FORKED : MX_ERROR_CANCELLED, true);
  do {
    // The thread that claimed it is about to finish, unless it did not come along into this process.
    if (is_final(word) || (phase_of(word) == claimed_phase && !forked)) return;
  } while (!word_.compare_exchange_weak(word, failure, std::memory_order_acq_rel, std::memory_order_acquire));
  if (word & sleeper_bit) wake(&word_, INT32_MAX);
  // The parent's list may have been caught in the middle of a change, and its listeners are the parent's.
  if (forked)
    listeners_.store(&closed_list, std::memory_order_release);
  else
    notify();
}

bool Event::failed() const noexcept {
  return !pending() && phase_of(word_.load(std::memory_order_acquire)) == failed_phase;
}

mx_status Event::status() const noexcept {
  return static_cast<mx_status>(word_.load(std::memory_order_acquire) >> status_shift);
}

const char *Event::text() const noexcept {
  const uint32_t word = word_.load(std::memory_order_acquire);
  if (phase_of(word) != failed_phase) return "";
  if (word & fixed_text_bit) return fixed_text(status());
  return failure_.load(std::memory_order_acquire)->text;
}

void Event::throw_if_failed() const {
  if (failed()) throw Error(status(), text());
}

bool Event::claim() noexcept {
  uint32_t word = word_.load(std::memory_order_acquire);
  do {
    if (phase_of(word) != pending_phase) return false;
  } while (
      !word_.compare_exchange_weak(word, word | claimed_phase, std::memory_order_acq_rel, std::memory_order_acquire));
  delay_point();
  return true;
}

void Event::settle(uint32_t word) const noexcept {
  const uint32_t before = word_.exchange(word, std::memory_order_acq_rel);
  if (before & sleeper_bit) wake(&word_, INT32_MAX);
  delay_point();
  notify();
}

void Event::complete() noexcept {
  if (loss() == Loss::forked) return give_up(Loss::forked);
  if (claim()) settle(done_phase);
}

void Event::fail(mx_status status, const char *message) noexcept {
  if (loss() == Loss::forked) return give_up(Loss::forked);
  if (!claim()) return;
  const size_t size = std::strlen(message) + 1;
  auto *failure = static_cast<Failure *>(std::malloc(size));
  if (failure) {
    std::memcpy(failure->text, message, size);
    failure_.store(failure, std::memory_order_release);
  }
  settle(failed_word(status, !failure));
}

void Event::notify() const noexcept {
  Listener *newest = listeners_.exchange(&closed_list, std::memory_order_acq_rel);
  if (newest == nullptr || newest == &closed_list) return;
  // Split into the runtime's own and the host's, oldest first.
  Listener *own = nullptr, *host = nullptr;
  while (newest) {
    Listener *next = newest->next;
    Listener *&list = newest->internal ? own : host;
    newest->next = list;
    list = newest;
    newest = next;
  }
  while (own) {
    Listener *next = own->next;
    own->fn(own);
    own = next;
  }
  while (host) {
    Listener *next = host->next;
    const Epoch now = current_epoch();
    if (now.generation == host->generation && now.state != State::closed && !exiting()) host->fn(host);
    host = next;
  }
}

void Event::listen(Listener *listener) noexcept {
  if (!pending()) return listener->fn(listener);
  listener->generation = current_epoch().generation;
  Listener *head = listeners_.load(std::memory_order_acquire);
  do {
    if (head == &closed_list) return listener->fn(listener);
    listener->next = head;
  } while (!listeners_.compare_exchange_weak(head, listener, std::memory_order_acq_rel, std::memory_order_acquire));
}

void Event::sleep(uint64_t ns) noexcept {
  uint32_t word = word_.load(std::memory_order_acquire);
  do {
    if (is_final(word)) return;
  } while (!(word & sleeper_bit) && !word_.compare_exchange_weak(word, word | sleeper_bit, std::memory_order_acq_rel,
                                                                 std::memory_order_acquire));
  delay_point();
  wait_on(word_, word | sleeper_bit, ns);
}

// What a waiter does before it sleeps: it helps with parallel loops, of its own task above all, and watches for a
// moment.
void Event::watch(const Deadline &deadline) noexcept {
  Scheduler::Shared &s = Scheduler::state;
  s.watching_waiters.fetch_add(1, std::memory_order_seq_cst);
  for (uint64_t end = now_ns() + spin_ns; pending() && now_ns() < end && !deadline.passed();) {
    if (Scheduler::help_job(*this, deadline)) end = now_ns() + spin_ns;
    for (int i = 0; i < 32 && s.n_jobs.load(std::memory_order_relaxed) == 0; ++i) cpu_relax();
  }
  s.watching_waiters.fetch_sub(1, std::memory_order_seq_cst);
  // Who posted a job just now may have relied on this thread.
  if (pending() && !deadline.passed()) Scheduler::help_job(*this, deadline);
}

void Event::wait_until_submitted() const noexcept {
  for (int spins = 0; stream_.load(std::memory_order_acquire) == 0 && pending(); ++spins)
    spins < 100 ? cpu_relax() : sleep_ns(20'000);
}

bool Event::wait(uint32_t timeout_ms) noexcept {
  if (!pending()) return true;
  const profile::Span span(profile::Kind::wait, "wait for a value");
  if (!fork_noticed()) notice_fork();
  const Deadline deadline(timeout_ms);
  if (Scheduler::pumping()) Scheduler::help(*this, deadline);
  if (timeout_ms != 0) {
    Scheduler::run_own(*this, deadline);
    watch(deadline);
  }
  while (pending()) {
    const uint64_t left = deadline.left_ns(look_ns);
    if (left == 0) return false;
    if (Scheduler::pumping())
      Scheduler::help(*this, deadline);
    else
      sleep(left);
  }
  return true;
}

}  // namespace mx
