// fork while streams are busy: the child finds its parent's work FORKED, does new work, gets the tokens; a dirty child
// and one made by _Fork refuse work and do not hang; exit() in parent and child beside running kernels is clean and
// prompt.
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "runtime.hpp"

using namespace mx;
using namespace mx::test;

// The exit status of a child that runs `body`; a hang counts as a failure.
template <class F>
static int in_child(F &&body, pid_t (*fork_with)() = fork) {
  const pid_t pid = fork_with();
  CHECK(pid >= 0);
  if (pid == 0) {
    alarm(20);
    body();
    _exit(0);
  }
  int status;
  CHECK(waitpid(pid, &status, 0) == pid);
  return status;
}

static void clean_child() {
  const Ref<Client> client = open_client();
  const Ref<Stream> s = stream(), parked = stream();
  const Ref<Buffer> computed = allocate(100);
  char host[8];
  Gate gate;
  const Ref<Event> running = submit(*s, [&] { gate.pass(); });
  Ref<FunctionTask> queued_task = task([] {});
  queued_task->input = borrow({host, 8, false}, *client, 42);
  const Ref<Event> queued = queued_task->event;
  s->submit(std::move(queued_task));
  const Ref<Event> waiting = submit(*parked, [] {}, {queued});
  gate.wait_until_entered();
  const uint32_t generation = current_epoch().generation;
  const int status = in_child([&] {
    CHECK(current_epoch() == (Epoch{State::uninit, generation + 1}));
    CHECK(!owned_by_this_process());
    for (const Ref<Event> &event : {running, queued, waiting}) {
      CHECK(event->wait(for_ever) && event->status() == MX_ERROR_FORKED);
      CHECK(status_of([&] { event->throw_if_failed(); }) == MX_ERROR_FORKED);
    }
    CHECK(status_of([&] { submit(*s, [] {}); }) == MX_ERROR_STALE);
    CHECK(status_of([&] { s->synchronize(for_ever); }) == MX_ERROR_FORKED);
    CHECK(status_of([&] { parked->synchronize(for_ever); }) == MX_ERROR_FORKED);
    CHECK(current_epoch() == (Epoch{State::running, generation + 1}) && owned_by_this_process());
    computed->data()[0] = std::byte{1};
    // New work on the default stream, on threads of its own.
    int value = 0;
    const Ref<Event> fresh = submit(*default_stream(Device{}), [&] { value = 5; });
    CHECK(fresh->wait(for_ever) && value == 5);
    std::atomic<int64_t> total{0};
    parallel_for(1000, 10, [&](int64_t begin, int64_t end) { total += end - begin; });
    CHECK(total == 1000);
    const Ref<Event> dependent = submit(*default_stream(Device{}), [&] { value = 6; }, {queued});
    CHECK(dependent->wait(for_ever) && dependent->status() == MX_ERROR_FORKED && value == 5);
    uint64_t token = 0;
    CHECK(client->take_released(&token, 1) == 1 && token == 42);
    CHECK(status_of([] { synchronize_all(for_ever); }) == MX_ERROR_FORKED);  // the dependent's, once
    CHECK(status_of([] { synchronize_all(for_ever); }) == MX_OK);
    shutdown(MX_CANCEL, 1000);
  });
  CHECK(status == 0);
  CHECK(running->pending() && current_epoch() == (Epoch{State::running, generation}));
  gate.open();
  CHECK(waiting->wait(for_ever) && !waiting->failed());
}

[[maybe_unused]] static void many_forks() {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      const Ref<Stream> s = stream();
      while (!stop) {
        Ref<FunctionTask> work = task([] { parallel_for(8, 1, [](int64_t, int64_t) { allocate(100); }); });
        work->input = allocate(5000);
        const Ref<Event> event = work->event;
        s->submit(std::move(work));
        if (event->id() % 4 == 0) event->wait(for_ever);
        default_stream(Device{});
      }
      s->synchronize(for_ever);
    });
  for (int i = 0; i < 60; ++i) {
    const int status = in_child([] {
      int value = 0;
      const Ref<Stream> s = default_stream(Device{});
      const Ref<Event> event = submit(*s, [&] { value = 1, allocate(100); });
      CHECK(event->wait(for_ever) && value == 1);
    });
    CHECK(status == 0);
  }
  // Two threads that fork at once, and a child that forks.
  std::thread other([] {
    for (int i = 0; i < 20; ++i) CHECK(in_child([] { allocate(10); }) == 0);
  });
  for (int i = 0; i < 20; ++i)
    CHECK(in_child([] { CHECK(in_child([] { CHECK(submit(*stream(), [] {})->wait(for_ever)); }) == 0); }) == 0);
  other.join();
  stop = true;
  for (std::thread &t : threads) t.join();
}

static void dirty_child() {
  // Somebody holds a lock for longer than prepare may wait.
  std::atomic<bool> held{false}, release{false};
  std::thread holder([&] {
    const std::lock_guard guard(lock_for(LockRank::functions));
    held = true;
    while (!release) sleep_ms(1);
  });
  while (!held) sleep_ms(1);
  const Ref<Event> pending = task([] {})->event;
  const Ref<Stream> s = stream();
  Ref<Buffer> buffer = allocate(100);
  const Stopwatch watch;
  const int status = in_child([&] {
    CHECK(watch.ms() < 1000);
    CHECK(forked_dirty());
    CHECK(status_of([&] { submit(*s, [] {}); }) == MX_ERROR_FORKED);
    CHECK(std::string(error_message()).find("spawn") != std::string::npos);
    CHECK(status_of([] { reopen(); }) == MX_ERROR_FORKED);
    buffer->data()[0] = std::byte{1};
    buffer = {};
    {
      const std::lock_guard guard(lock_for(LockRank::functions));
    }
  });
  CHECK(status == 0);
  release = true;
  holder.join();
}

#ifdef __linux__
static void without_handlers() {
  // _Fork runs no handler. The child notices by itself, even where it finds a lock held by a thread that it does not
  // have.
  std::atomic<bool> held{false}, release{false};
  std::thread holder([&] {
    const std::lock_guard guard(lock_for(LockRank::streams, nullptr));
    held = true;
    while (!release) sleep_ms(1);
  });
  Gate gate;
  const Ref<Stream> s = stream();
  while (!held) sleep_ms(1);
  const Ref<FunctionTask> never = task([] {});
  const int status = in_child(
      [&] {
        {
          const std::lock_guard guard(lock_for(LockRank::streams, nullptr));
        }
        CHECK(forked_dirty());
        CHECK(status_of([&] { submit(*s, [] {}); }) == MX_ERROR_FORKED);
        CHECK(never->event->wait(for_ever) && never->event->status() == MX_ERROR_FORKED);
      },
      _Fork);
  CHECK(status == 0);
  release = true;
  holder.join();
}
#endif

// The program of a process of its own (--exit MS): exit() with kernels in flight beside threads that go on submitting.
static int exit_while_busy(int ms) {
  for (int t = 0; t < 2; ++t)
    std::thread([] {
      try {
        const Ref<Stream> s = stream();
        for (;;) submit(*s, [] { parallel_for(1000, 1, [](int64_t, int64_t) { sleep_ms(1); }); })->wait(5);
      } catch (const Error &) {
        for (;;) sleep_ms(1000);
      }
    }).detach();
  sleep_ms(ms);
  std::exit(7);
}

// As tests/teardown/run.py: sanitizers make programs slow.
static double exit_limit_ms() {
  const char *limit = std::getenv("MX_TEST_EXIT_LIMIT");
  return limit ? 1000 * std::atof(limit) : 1200;
}

static void exits(char *program) {
  for (int i = 0; i < 10; ++i) {
    std::string ms = std::to_string(5 * i);
    char option[] = "--exit";
    char *argv[] = {program, option, ms.data(), nullptr};
    const Stopwatch watch;
    const int status = in_child([&] { execv("/proc/self/exe", argv); });
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK(watch.ms() < exit_limit_ms());
  }
}

int main(int argc, char **argv) {
  if (argc == 3) return exit_while_busy(std::atoi(argv[2]));
  clean_child();
#ifndef __SANITIZE_ADDRESS__
  many_forks();
#else
  puts(
      "many_forks left out: AddressSanitizer's allocator may be locked in a child of a process whose threads allocate");
#endif
  dirty_child();
#ifdef __linux__
  without_handlers();
#endif
  exits(argv[0]);
  CHECK(lock_order_failures() == 0);
  return 0;
}
