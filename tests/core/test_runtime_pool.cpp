// parallel_for: every index once, ranges fixed by n and grain, nesting, several loops at once, errors, cancel,
// resizing, and what it costs.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <vector>

#include "runtime.hpp"
#include "runtime/ranges.hpp"

using namespace mx;
using namespace mx::test;

static void covers_once() {
  for (const int64_t n : {0, 1, 2, 7, 64, 1000, 4097})
    for (const int64_t grain : {1, 3, 64, 5000}) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(n));
      std::atomic<bool> aligned{true};
      parallel_for(n, grain, [&](int64_t begin, int64_t end) {
        if (begin % grain != 0 || end - begin > grain || (end != n && end - begin != grain)) aligned = false;
        for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
      });
      CHECK(aligned);
      for (const std::atomic<int> &hit : hits) CHECK(hit == 1);
    }
}

static std::vector<int64_t> all_from(Ranges &ranges, uint32_t place) {
  std::vector<int64_t> taken;
  for (int64_t i; (i = ranges.take(place)) >= 0;) taken.push_back(i);
  return taken;
}

// Each begins in its own share, from the front, and goes on from the back of the others'.
static void shares() {
  using List = std::vector<int64_t>;
  Ranges two(7, 2);
  CHECK(two.take(1) == 3 && two.take(0) == 0 && two.take(3) == 4 && two.take(2) == 1);
  CHECK((all_from(two, 0) == List{2, 6, 5}));
  CHECK(two.empty() && two.take(1) == -1);
  Ranges three(9, 3);
  CHECK((all_from(three, 4) == List{3, 4, 5, 8, 7, 6, 2, 1, 0}));
  Ranges more_shares_than_ranges(2, 4);
  CHECK(!more_shares_than_ranges.empty());
  CHECK((all_from(more_shares_than_ranges, 0) == List{0, 1}));
  Ranges many(INT32_MAX, 1000);
  CHECK(many.take(0) == 0 && many.take(999) == int64_t{INT32_MAX} * 7 / 16);
  Ranges raced(100000, 2);
  List taken[3];
  std::vector<std::thread> threads;
  for (uint32_t place = 0; place < 3; place++)
    threads.emplace_back([&, place] { taken[place] = all_from(raced, place); });
  for (std::thread &thread : threads) thread.join();
  std::set<int64_t> every;
  for (const List &list : taken) every.insert(list.begin(), list.end());
  CHECK(every.size() == 100000 && *every.begin() == 0 && *every.rbegin() == 99999);
  CHECK(taken[0].size() + taken[1].size() + taken[2].size() == 100000);
}

static void nested() {
  std::atomic<int> total{0};
  parallel_for(20, 1, [&](int64_t, int64_t) {
    const std::thread::id self = std::this_thread::get_id();
    parallel_for(50, 5, [&](int64_t begin, int64_t end) {
      CHECK(std::this_thread::get_id() == self);
      total += static_cast<int>(end - begin);
    });
  });
  CHECK(total == 1000);
}

static void several_at_once() {
  std::vector<std::thread> threads;
  std::atomic<int64_t> total{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i)
        parallel_for(64, 1,
                     [&](int64_t begin, int64_t end) { total.fetch_add(end - begin, std::memory_order_relaxed); });
    });
  const Ref<Stream> s = stream();
  for (int i = 0; i < 300; ++i)
    submit(*s, [&] { parallel_for(64, 8, [&](int64_t begin, int64_t end) { total += end - begin; }); });
  for (std::thread &t : threads) t.join();
  CHECK(s->synchronize(for_ever));
  CHECK(total == 5 * 300 * 64);
}

static void errors() {
  std::atomic<int> ran{0};
  CHECK(status_of([&] {
          parallel_for(1000, 1, [&](int64_t begin, int64_t) {
            ++ran;
            if (begin == 10) fail(MX_ERROR_INDEX, "at %d", 10);
            if (begin > 10) sleep_ms(1);
          });
        }) == MX_ERROR_INDEX);
  CHECK(std::string(error_message()) == "at 10");
  CHECK(ran < 1000);
  CHECK(status_of([] { parallel_for(8, 1, [](int64_t, int64_t) { throw std::bad_alloc(); }); }) ==
        MX_ERROR_OUT_OF_MEMORY);
  // A dead job is really gone.
  int again = 0;
  parallel_for(1, 1, [&](int64_t, int64_t) { ++again; });
  CHECK(again == 1);
}

static void cancel() {
  const Ref<Stream> s = stream();
  std::atomic<int> ran{0};
  std::atomic<bool> started{false};
  const Ref<Event> running = submit(*s, [&] {
    parallel_for(100000, 1, [&](int64_t, int64_t) {
      ++ran;
      started = true;
      sleep_ms(1);
    });
  });
  const Ref<Event> queued = submit(*s, [&] { ran = -1; });
  while (!started) sleep_ms(1);
  request_cancel();
  const Stopwatch watch;
  CHECK(running->wait(for_ever) && running->status() == MX_ERROR_CANCELLED);
  CHECK(queued->wait(for_ever) && queued->status() == MX_ERROR_CANCELLED);
  CHECK(watch.ms() < 500 && ran > 0 && ran < 50000);
  // What comes later is not affected.
  const Ref<Event> later = submit(*s, [&] { parallel_for(10, 1, [&](int64_t, int64_t) { ran = 7; }); });
  CHECK(later->wait(for_ever) && !later->failed() && ran == 7);
  CHECK(status_of([&] { s->synchronize(for_ever); }) == MX_ERROR_CANCELLED);
}

static void resizing() {
  const int before = num_threads();
  for (int round = 0; round < 20; ++round)
    for (const int n : {0, 1, 2, 5}) {
      set_num_threads(n);
      CHECK(num_threads() == n);
      std::atomic<int64_t> total{0};
      parallel_for(100, 3, [&](int64_t begin, int64_t end) { total += end - begin; });
      const Ref<Stream> s = stream();
      const Ref<Event> event = submit(*s, [&] { total += 1; });
      CHECK(event->wait(for_ever));
      CHECK(total == 101);
    }
  CHECK(status_of([] { set_num_threads(-1); }) == MX_ERROR_INVALID_ARGUMENT);
  set_num_threads(before);
}

static void participants() {
  set_num_threads(2);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  for (int i = 0; i < 50; ++i)
    parallel_for(16, 1, [&](int64_t, int64_t) {
      sleep_ms(1);
      const std::lock_guard guard(mutex);
      threads.insert(std::this_thread::get_id());
    });
  CHECK(threads.contains(std::this_thread::get_id()));
  CHECK(threads.size() >= 2);
}

// Loops of several hosts and streams while the number of threads changes all the time.
static void resizing_while_busy() {
  const int before = num_threads();
  std::atomic<bool> stop{false};
  std::atomic<int64_t> loops{0};
  std::vector<std::thread> hosts;
  for (int t = 0; t < 2; ++t)
    hosts.emplace_back([&] {
      while (!stop) {
        std::atomic<int64_t> total{0};
        parallel_for(200, 3, [&](int64_t begin, int64_t end) { total += end - begin; });
        CHECK(total == 200);
        ++loops;
      }
    });
  const Ref<Stream> s = stream();
  for (int i = 0; i < 400; ++i) {
    set_num_threads(i % 5);
    std::atomic<int64_t> total{0};
    const Ref<Event> event =
        submit(*s, [&] { parallel_for(100, 7, [&](int64_t begin, int64_t end) { total += end - begin; }); });
    CHECK(event->wait(for_ever) && !event->failed() && total == 100);
  }
  while (loops < 10) sleep_ms(1);
  stop = true;
  for (std::thread &t : hosts) t.join();
  set_num_threads(before);
}

static void grains() {
  const int before = num_threads();
  for (const int threads : {0, 1, 2, 8})
    for (const int64_t n : {0, 1, 2, 1000, 1'000'000})
      for (const double item_ns : {0.0, 0.1, 10.0, 1e4, 1e7}) {
        set_num_threads(threads);
        const int64_t grain = grain_for(n, {item_ns});
        const double all_ns = static_cast<double>(n) * item_ns;
        CHECK(grain >= 1 && (grain <= n || n == 0));
        CHECK(grain == 1 || static_cast<double>(grain) * item_ns <= 1.1e6);  // a cancel gets through
        if (all_ns < 20e3) CHECK(grain >= n);
        if (threads > 1 && n > 1 && all_ns > 200e3) CHECK(2 * grain <= n + 1);
      }
  set_num_threads(before);
}

// Keeps the workers of a pool of `n` from anything else.
class Occupied {
 public:
  explicit Occupied(int n) : gates_(static_cast<size_t>(n)) {
    for (Gate &gate : gates_) {
      streams_.push_back(stream());
      events_.push_back(submit(*streams_.back(), [&gate] { gate.pass(); }));
      gate.wait_until_entered();
    }
  }
  ~Occupied() {
    for (Gate &gate : gates_) gate.open();
    for (const Ref<Event> &event : events_) event->wait(for_ever);
  }

 private:
  std::vector<Gate> gates_;
  std::vector<Ref<Stream>> streams_;
  std::vector<Ref<Event>> events_;
};

// A thread that waits runs what it waits for, if nobody else does and it is known not to take too long.
static void waiters_run_their_task() {
  set_num_threads(2);
  const Occupied occupied(2);
  const Ref<Stream> s = stream();
  const auto submit_known = [&](int64_t estimate_ns, std::thread::id *where) {
    Ref<FunctionTask> t = task([where] { *where = std::this_thread::get_id(); });
    t->estimate_ns = estimate_ns;
    const Ref<Event> event = t->event;
    s->submit(std::move(t));
    return event;
  };
  std::thread::id first, second, third;
  submit_known(1000, &first);
  CHECK(submit_known(1000, &second)->wait(for_ever));
  CHECK(first == std::this_thread::get_id() && second == first);
  const Ref<Event> slow = submit_known(60'000'000, &third);
  CHECK(!slow->wait(5) && third == std::thread::id());
  CHECK(slow->wait(for_ever) && third == first);
  const Ref<Event> unknown = submit_known(INT64_MAX, &third);
  CHECK(!unknown->wait(5));
}

// A thread that waits takes part in the loops of the thread that does the work.
static void waiters_help() {
  set_num_threads(2);
  Gate gate;
  const Ref<Stream> blocked = stream(), s = stream();
  const Ref<Event> blocker = submit(*blocked, [&] { gate.pass(); });
  gate.wait_until_entered();
  std::atomic<int> inside{0};
  const Ref<Event> event = submit(*s, [&] {
    parallel_for(2, 1, [&](int64_t, int64_t) {
      ++inside;
      while (inside < 2) check_cancel();
    });
  });
  while (!event->wait(1)) {
  }
  CHECK(!event->failed() && inside == 2);
  gate.open();
  CHECK(blocker->wait(for_ever));
}

// The system refuses threads: everything runs on the threads that ask for it.
// A waiter that helps with a loop comes back when its time is over, not when the loop is.
static void waiters_come_back() {
  const Ref<Stream> s = stream();
  const Ref<Event> event = submit(*s, [] { parallel_for(300, 1, [](int64_t, int64_t) { sleep_ms(2); }); });
  CHECK(!event->wait(20));
  CHECK(!event->wait(1));
  CHECK(event->wait(for_ever));
}

static void refused_threads() {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    if (getuid() == 0) CHECK(setuid(65534) == 0);  // root has no limit
    const rlimit none{0, 0};
    CHECK(setrlimit(RLIMIT_NPROC, &none) == 0);
    set_num_threads(4);
    const Ref<Stream> s = stream();
    std::thread::id where;
    CHECK(submit(*s, [&] { where = std::this_thread::get_id(); })->wait(for_ever));
    CHECK(where == std::this_thread::get_id());
    std::atomic<int64_t> total{0};
    parallel_for(1000, 10, [&](int64_t begin, int64_t end) { total += end - begin; });
    CHECK(total == 1000);
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

// What a loop costs; printed with MX_BENCH, because time on a shared machine is no test.
static void cost() {
  if (!std::getenv("MX_BENCH")) return;
  set_num_threads(2);
  const auto spin = [](int64_t begin, int64_t end) {
    volatile double x = 1;
    for (int64_t i = begin; i < end; ++i) x = x * 1.0000001 + 1e-9;
  };
  for (const int64_t n : {20'000, 60'000, 200'000, 1'000'000}) {
    double serial = 1e9, parallel = 1e9;
    for (int i = 0; i < 200; ++i) {
      const Stopwatch one;
      spin(0, n);
      serial = std::min(serial, one.ms());
      const Stopwatch two;
      parallel_for(n, n / 16, spin);
      parallel = std::min(parallel, two.ms());
    }
    std::printf("%8ld: %.1f us on one thread, %.1f on two: %.2fx\n", static_cast<long>(n), serial * 1e3, parallel * 1e3,
                serial / parallel);
  }
  const Ref<Stream> s = stream();
  Stopwatch inlined;
  for (int i = 0; i < 100000; ++i) {
    Ref<FunctionTask> work = task([] {});
    work->small = true;
    s->submit(std::move(work));
  }
  std::printf("small task inline %.0f ns\n", inlined.ms() * 10);
  Stopwatch handed;
  for (int i = 0; i < 20000; ++i) submit(*s, [] {})->wait(for_ever);
  std::printf("task handed over and waited for %.2f us\n", handed.ms() / 20);
  Stopwatch blocks;
  for (int i = 0; i < 1000000; ++i) allocate(256);
  std::printf("allocate and free 256 bytes %.0f ns\n", blocks.ms());
}

int main() {
  covers_once();
  shares();
  nested();
  several_at_once();
  errors();
  cancel();
  resizing();
  resizing_while_busy();
  grains();
  participants();
  waiters_run_their_task();
  waiters_help();
  waiters_come_back();
  refused_threads();
  cost();
  CHECK(lock_order_failures() == 0);
  return 0;
}
