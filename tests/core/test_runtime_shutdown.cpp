// shutdown: the three policies, deadlines, calls from inside tasks and listeners, what is refused afterwards, reopen,
// clients, quiesce through stop, and events that nobody completes any more.
#include <vector>

#include "runtime.hpp"
#include "runtime/scheduler.hpp"

using namespace mx;
using namespace mx::test;

static State state() { return current_epoch().state; }

static void finish() {
  reopen();
  const Ref<Stream> s = stream();
  std::atomic<int> ran{0};
  for (int i = 0; i < 20; ++i) submit(*s, [&] { sleep_ms(1), ++ran; });
  shutdown(MX_FINISH, 10'000);
  CHECK(state() == State::closed && ran == 20);
  shutdown(MX_FINISH, 0);  // idempotent
  CHECK(status_of([&] { submit(*s, [] {}); }) == MX_ERROR_CLOSED);
  CHECK(status_of([] { stream(); }) == MX_ERROR_CLOSED);
  CHECK(status_of([] { require_not_closed(); }) == MX_ERROR_CLOSED);
  reopen();
  CHECK(state() == State::running);
  CHECK(status_of([&] { submit(*s, [] {}); }) == MX_ERROR_STALE);
  Ref<FunctionTask> work = task([] {});
  CHECK(status_of([&] { s->try_run_inline(*work); }) == MX_ERROR_STALE);
  CHECK(default_stream(Device{})->generation() == current_epoch().generation);
}

static void finish_without_threads() {
  reopen();
  const int before = num_threads();
  set_num_threads(0);
  const Ref<Stream> s = stream();
  int ran = 0;
  for (int i = 0; i < 20; ++i) submit(*s, [&] { ++ran; });
  shutdown(MX_FINISH, 10'000);
  CHECK(state() == State::closed && ran == 20);
  // A deadline holds also when the caller itself runs the kernel.
  reopen();
  const Ref<Stream> t = stream();
  submit(*t, [] {
    for (;;) check_cancel();
  });
  const Stopwatch watch;
  shutdown(MX_FINISH, 50);
  CHECK(state() == State::closed && watch.ms() < 250);
  set_num_threads(before);
}

static void cancel() {
  reopen();
  const Ref<Stream> s = stream();
  Gate gate;
  const Ref<Event> running = submit(*s, [&] { gate.pass(); });
  const Ref<Event> queued = submit(*s, [] {});
  gate.wait_until_entered();
  const Stopwatch watch;
  shutdown(MX_CANCEL, 5000);
  CHECK(state() == State::closed && watch.ms() < 1000);
  CHECK(running->status() == MX_ERROR_CANCELLED && queued->status() == MX_ERROR_CANCELLED);
  CHECK(status_of([&] { s->synchronize(for_ever); }) == MX_ERROR_CANCELLED);
}

// A kernel that does not look for cancel: the deadline holds, and nobody waits for its event any more.
static void deadline(mx_shutdown_policy policy, uint32_t timeout) {
  reopen();
  const Ref<Stream> s = stream();
  std::atomic<bool> entered{false}, leave{false}, left{false};
  std::atomic<int> calls{0};
  static Event::Listener listener;  // may be leaked
  static std::atomic<int> *counter;
  counter = &calls;
  listener = {};
  listener.fn = [](Event::Listener *) noexcept { ++*counter; };
  const Ref<Event> event = submit(*s, [&] {
    entered = true;
    while (!leave) sleep_ms(1);
    left = true;
  });
  event->listen(&listener);
  while (!entered) sleep_ms(1);
  std::thread waiter([&] { CHECK(event->wait(for_ever) && event->status() == MX_ERROR_CANCELLED); });
  const Stopwatch watch;
  shutdown(policy, timeout);
  CHECK(state() == State::closed && watch.ms() < timeout + 200);
  CHECK(event->wait(0) && event->status() == MX_ERROR_CANCELLED);
  waiter.join();
  leave = true;
  while (!left) sleep_ms(1);
  sleep_ms(20);
  CHECK(calls == 0);  // completion callbacks fire before CLOSED or not at all
}

// Work that waiters do bit by bit, while the pool has no threads: what was begun when the runtime closed ends as well,
// and is not taken up again later.
static void between_steps(mx_shutdown_policy policy) {
  struct Steps : Task {
    std::atomic<int> done{0};
    void execute() override {}
    bool step() override { return ++done != 0; }
  };
  const int before = num_threads();
  set_num_threads(0);
  for (int round = 0; round < 300; ++round) {
    reopen();
    Ref<Steps> work = make_ref<Steps>();
    const Ref<Event> event = work->event;
    stream()->submit(Ref<Task>(work));
    std::thread waiter([&] {
      while (state() == State::running) event->wait(0);
    });
    while (work->done == 0) std::this_thread::yield();
    shutdown(policy, 0);
    waiter.join();
    CHECK(state() == State::closed && !event->pending() && event->status() == MX_ERROR_CANCELLED);
    CHECK(Scheduler::outstanding() == 0);
  }
  set_num_threads(before);
}

struct ShutdownListener : Event::Listener {
  std::atomic<int> calls{0};
  mx_shutdown_policy policy;
};

static void from_listener(mx_shutdown_policy policy) {
  reopen();
  const Ref<Stream> s = stream();
  ShutdownListener listener;
  listener.policy = policy;
  listener.fn = [](Event::Listener *l) noexcept {
    auto *self = static_cast<ShutdownListener *>(l);
    CHECK(guard([&] { shutdown(self->policy, 10'000); }) == MX_OK);
    ++self->calls;
  };
  Gate gate;
  const Ref<Event> event = submit(*s, [&] { gate.pass(); });
  std::atomic<bool> ran{false};
  const Ref<Event> behind = submit(*s, [&] { ran = true; });
  event->listen(&listener);
  gate.open();
  const Stopwatch watch;
  while (state() != State::closed && watch.ms() < 5000) sleep_ms(1);
  CHECK(state() == State::closed && listener.calls == 1);
  CHECK(behind->wait(for_ever));
  CHECK(ran == (policy == MX_FINISH));
  CHECK(behind->status() == (policy == MX_FINISH ? MX_OK : MX_ERROR_CANCELLED));
}

static void listeners_before_closed() {
  reopen();
  static std::atomic<int> calls, late;
  calls = late = 0;
  std::vector<Event::Listener> nodes(50);
  const Ref<Stream> s = stream();
  Gate gate;
  submit(*s, [&] { gate.pass(); });
  for (Event::Listener &node : nodes) {
    node.fn = [](Event::Listener *) noexcept {
      ++calls;
      if (current_epoch().state == State::closed) ++late;
    };
    submit(*s, [] {})->listen(&node);
  }
  shutdown(MX_CANCEL, 5000);
  CHECK(calls == 50 && late == 0);
}

// The listeners of queued tasks run inside shutdown itself; one that asks for shutdown again must not wait for the
// others.
static void from_shutdown() {
  reopen();
  const Ref<Stream> s = stream();
  Gate gate;
  submit(*s, [&] { gate.pass(); });
  gate.wait_until_entered();
  ShutdownListener listeners[3];
  for (ShutdownListener &listener : listeners) {
    listener.policy = MX_CANCEL;
    listener.fn = [](Event::Listener *l) noexcept {
      CHECK(guard([] { shutdown(MX_CANCEL, 10'000); }) == MX_OK);
      ++static_cast<ShutdownListener *>(l)->calls;
    };
    submit(*s, [] {})->listen(&listener);
  }
  const Stopwatch watch;
  shutdown(MX_CANCEL, 10'000);
  CHECK(state() == State::closed && watch.ms() < 1000);
  for (const ShutdownListener &listener : listeners) CHECK(listener.calls == 1);
}

// Tasks that all ask for shutdown, with all the time in the world: none waits for another to end. One from outside
// does.
static void from_tasks(int n_outside) {
  reopen();
  const int before = num_threads();
  set_num_threads(4);
  std::atomic<int> entered{0}, left{0};
  Ref<Stream> streams[] = {stream(), stream(), stream()};
  for (const Ref<Stream> &s : streams)
    submit(*s, [&] {
      for (++entered; entered < 3;) sleep_ms(1);
      CHECK(guard([] { shutdown(MX_CANCEL, for_ever); }) == MX_OK);
      sleep_ms(20);
      ++left;
    });
  while (entered < 3) sleep_ms(1);
  const Stopwatch watch;
  std::vector<std::thread> outside;
  for (int i = 0; i < n_outside; ++i)
    outside.emplace_back([&] {
      shutdown(MX_FINISH, for_ever);
      CHECK(state() == State::closed && left == 3);
    });
  for (std::thread &t : outside) t.join();
  while (state() != State::closed && watch.ms() < 5000) sleep_ms(1);
  CHECK(state() == State::closed && left == 3);
  set_num_threads(before);
}

static void beside_submitters() {
  for (int round = 0; round < 30; ++round) {
    reopen();
    std::vector<std::thread> threads;
    std::atomic<int> ready{0};
    std::atomic<bool> go{false};
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        const Ref<Stream> s = stream();
        ++ready;
        while (!go) std::this_thread::yield();
        for (int i = 0;; ++i) {
          Ref<FunctionTask> work = task([] {});
          work->small = i % 2 == 0;
          const Ref<Event> event = work->event;
          const mx_status status = status_of([&] { s->submit(std::move(work)); });
          if (status != MX_OK) {
            CHECK(status == MX_ERROR_CLOSING || status == MX_ERROR_CLOSED);
            return;
          }
          if (i % 8 == 7) CHECK(event->wait(for_ever));
        }
      });
    while (ready != 3) std::this_thread::yield();
    go = true;
    if (round % 2) sleep_ms(1);
    const Stopwatch watch;
    shutdown(round % 3 == 0 ? MX_FINISH : round % 3 == 1 ? MX_CANCEL : MX_ABANDON, 5000);
    CHECK(state() == State::closed && watch.ms() < 5200);
    for (std::thread &t : threads) t.join();
    CHECK(Scheduler::outstanding() == 0);
  }
}

static void clients() {
  shutdown(MX_CANCEL, 100);
  const Ref<Client> a = open_client(), b = open_client();
  CHECK(state() == State::running);
  close_client(*a, MX_CANCEL, 100);
  close_client(*a, MX_CANCEL, 100);
  CHECK(state() == State::running);
  close_client(*b, MX_CANCEL, 100);
  CHECK(state() == State::closed);
  const Ref<Client> c = open_client();
  CHECK(state() == State::running);
  close_client(*c, MX_FINISH, 100);
}

static void ending_threads() {
  reopen();
  const Ref<Stream> s = stream();
  Gate gate;
  const Ref<Event> event = submit(*s, [&] { gate.pass(); });
  gate.wait_until_entered();
  CHECK(!Scheduler::stop_workers(Deadline(30)));
  gate.open();
  CHECK(event->wait(for_ever));
  CHECK(Scheduler::stop_workers(Deadline(5000)));
  CHECK(Scheduler::pumping());
  CHECK(submit(*s, [] {})->wait(for_ever));  // they come back
}

int main() {
  CHECK(status_of([] { shutdown(static_cast<mx_shutdown_policy>(3), 0); }) == MX_ERROR_INVALID_ARGUMENT);
  finish();
  finish_without_threads();
  cancel();
  deadline(MX_CANCEL, 50);
  deadline(MX_FINISH, 50);
  deadline(MX_ABANDON, 0);
  between_steps(MX_ABANDON);
  between_steps(MX_CANCEL);
  from_listener(MX_CANCEL);
  from_listener(MX_FINISH);
  listeners_before_closed();
  from_shutdown();
  from_tasks(0);
  from_tasks(2);
  beside_submitters();
  clients();
  ending_threads();
  CHECK(lock_order_failures() == 0);
  return 0;
}
