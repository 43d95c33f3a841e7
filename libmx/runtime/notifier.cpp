// The box outlives its notifier while events still refer to it; the descriptor does not.
#include "runtime/notifier.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/status.hpp"
#include "runtime/delay.hpp"
#include "runtime/lifecycle.hpp"
#include "runtime/lock.hpp"
#include "runtime/memory.hpp"

#ifdef __linux__
#include <sys/eventfd.h>
#endif

namespace mx {
namespace {

// One descriptor to poll and one to write to; with an eventfd they are the same.
struct Channel {
  int read_end = -1, write_end = -1;
};

Channel open_channel() {
#ifdef __linux__
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd >= 0) return {fd, fd};
#else
  int ends[2];
  if (pipe(ends) == 0) {
    for (const int end : ends) {
      fcntl(end, F_SETFD, FD_CLOEXEC);
      fcntl(end, F_SETFL, O_NONBLOCK);
    }
    return {ends[0], ends[1]};
  }
#endif
  fail(MX_ERROR_IO, "notifier_new: no file descriptor: %s", std::strerror(errno));
}

void close_channel(Channel channel) noexcept {
  if (channel.read_end >= 0) ::close(channel.read_end);
  if (channel.write_end >= 0 && channel.write_end != channel.read_end) ::close(channel.write_end);
}

}  // namespace

class Notifier::Box : public Object {
 public:
  struct Entry : Event::Listener {
    Ref<Box> box;
    uint64_t token = 0;
    Entry *next_ended = nullptr;
  };

  explicit Box(Channel channel) noexcept : channel_(channel) {}
  int descriptor() const noexcept { return channel_.read_end; }

  static void ended(Event::Listener *listener) noexcept {
    auto *entry = static_cast<Entry *>(listener);
    delay_point();
    if (!entry->box->push(entry)) delete entry;
  }

  Entry *take(size_t most) noexcept {
    const std::lock_guard guard(lock());
    Entry *first = oldest_, *last = nullptr;
    for (size_t n = 0; n < most && oldest_; ++n) {
      last = oldest_;
      oldest_ = oldest_->next_ended;
    }
    if (!last) return nullptr;
    last->next_ended = nullptr;
    if (!oldest_) {
      newest_ = nullptr;
      clear();
    }
    return first;
  }

  // In a forked child this closes the child's descriptor and drops the child's copy of the queue.
  void close() noexcept {
    Channel channel;
    {
      const std::lock_guard guard(lock());
      channel = std::exchange(channel_, {});
    }
    close_channel(channel);
    while (Entry *entry = oldest_) {
      oldest_ = entry->next_ended;
      delete entry;
    }
  }

 private:
  Lock &lock() noexcept { return lock_for(LockRank::clients, this); }

  // The write comes under the lock: afterwards the number may be that of another file. It cannot block.
  bool push(Entry *entry) noexcept {
    entry->next_ended = nullptr;
    const std::lock_guard guard(lock());
    if (channel_.write_end < 0) return false;
    const bool was_empty = oldest_ == nullptr;
    (was_empty ? oldest_ : newest_->next_ended) = entry;
    newest_ = entry;
    if (was_empty) {
      const uint64_t one = 1;
      while (write(channel_.write_end, &one, sizeof one) < 0 && errno == EINTR) continue;
    }
    return true;
  }

  void clear() noexcept {
    uint64_t count;
    while (read(channel_.read_end, &count, sizeof count) < 0 && errno == EINTR) continue;
  }

  // Guarded by the lock. Each time the queue is no longer empty one number is written, each time it is empty one read.
  Channel channel_;
  Entry *oldest_ = nullptr, *newest_ = nullptr;
};

Notifier::Notifier() : process_(first_generation()) {
  const Channel channel = open_channel();
  try {
    box_ = make_ref<Box>(channel);
  } catch (...) {
    close_channel(channel);
    throw;
  }
}

Notifier::~Notifier() {
  if (box_) box_->close();
}

void Notifier::check_process(const char *function) const {
  if (!fork_noticed()) notice_fork();
  if (first_generation() != process_)
    fail(MX_ERROR_STALE, "%s: the notifier belongs to the process that this one was forked from", function);
}

int Notifier::descriptor() const {
  check_process("notifier_fd");
  return box_->descriptor();
}

bool Notifier::add(Event &event, uint64_t token) {
  check_process("notifier_add");
  if (!event.pending()) return false;
  count_allocation();
  auto *entry = new Box::Entry;
  entry->fn = Box::ended;
  entry->internal = true;  // who waits must hear of it, too, when the runtime closes
  entry->box = box_;
  entry->token = token;
  event.listen(entry);
  return true;
}

size_t Notifier::take(uint64_t *tokens, size_t cap) {
  check_process("notifier_take");
  size_t n = 0;
  for (Box::Entry *entry = box_->take(cap); entry;) {
    tokens[n++] = entry->token;
    delete std::exchange(entry, entry->next_ended);
  }
  return n;
}

}  // namespace mx
