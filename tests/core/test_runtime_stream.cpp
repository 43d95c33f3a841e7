// Streams: order, dependencies between streams, errors, inline execution, defaults per thread, no threads at all.
#include <string>
#include <vector>

#include "runtime.hpp"

using namespace mx;
using namespace mx::test;

static void order() {
  const Ref<Stream> s = stream();
  std::vector<int> seen;
  for (int i = 0; i < 2000; ++i) submit(*s, [&seen, i] { seen.push_back(i); });
  CHECK(s->synchronize(for_ever));
  CHECK(seen.size() == 2000);
  for (int i = 0; i < 2000; ++i) CHECK(seen[static_cast<size_t>(i)] == i);
}

static void many_submitters() {
  const Ref<Stream> s = stream();
  int count = 0;  // not atomic: the stream orders the tasks
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        Ref<FunctionTask> work = task([&] { ++count; });
        work->small = i % 2 == 0;
        s->submit(std::move(work));
      }
    });
  for (std::thread &t : threads) t.join();
  CHECK(s->synchronize(for_ever));
  CHECK(count == 2000);
}

static void cross_stream() {
  const Ref<Stream> a = stream(), b = stream();
  Gate gate;
  int value = 0;
  const Ref<Event> first = submit(*a, [&] { gate.pass(), value = 1; });
  const Ref<Event> second = submit(*b, [&] { value = value * 10 + 2; }, {first});
  const Ref<Event> third = submit(*a, [&] { value = value * 10 + 3; }, {second});
  CHECK(!third->wait(20));
  CHECK(second->pending());
  gate.open();
  CHECK(third->wait(for_ever));
  CHECK(value == 123);
  // A long chain that goes back and forth.
  Ref<Event> last = third;
  for (int i = 0; i < 500; ++i) last = submit(i % 2 ? *a : *b, [&] { ++value; }, {last});
  CHECK(last->wait(for_ever));
  CHECK(value == 623);
}

static void parked_streams_hold_no_worker() {
  Gate gate;
  const Ref<Stream> source = stream();
  const Ref<Event> first = submit(*source, [&] { gate.pass(); });
  std::vector<Ref<Stream>> streams;
  std::atomic<int> ran{0};
  for (int i = 0; i < 50; ++i) {
    streams.push_back(stream());
    submit(*streams.back(), [&] { ++ran; }, {first});
  }
  streams.clear();  // the queued work keeps them alive
  const Ref<Stream> other = stream();
  CHECK(submit(*other, [] {})->wait(for_ever));  // a worker is free
  CHECK(ran == 0);
  gate.open();
  CHECK(synchronize_all(for_ever));
  CHECK(ran == 50);
}

static void errors() {
  const Ref<Stream> a = stream(), b = stream();
  bool ran = false;
  const Ref<Event> bad = submit(*a, [] { fail(MX_ERROR_SHAPE, "no %d", 7); });
  const Ref<Event> dependent = submit(*b, [&] { ran = true; }, {bad});
  CHECK(dependent->wait(for_ever) && dependent->failed());
  CHECK(dependent->status() == MX_ERROR_SHAPE && dependent->message() == "no 7");
  CHECK(!ran);
  CHECK(status_of([&] { dependent->throw_if_failed(); }) == MX_ERROR_SHAPE);
  const Ref<Event> good = submit(*a, [&] { ran = true; });
  CHECK(good->wait(for_ever) && !good->failed() && ran);
  // synchronize throws the first failure once.
  submit(*a, [] { fail(MX_ERROR_DTYPE, "later"); })->wait(for_ever);
  CHECK(status_of([&] { a->synchronize(for_ever); }) == MX_ERROR_SHAPE);
  CHECK(status_of([&] { a->synchronize(for_ever); }) == MX_OK);
  CHECK(status_of([&] { synchronize_all(for_ever); }) == MX_ERROR_SHAPE);  // that of b
  CHECK(status_of([&] { b->synchronize(for_ever); }) == MX_OK);
  // Inline work fails in the same way: submit itself does not throw.
  Ref<FunctionTask> inlined = task([] { throw std::bad_alloc(); });
  inlined->small = true;
  const Ref<Event> event = inlined->event;
  a->submit(std::move(inlined));
  CHECK(event->wait(for_ever) && event->failed() && event->status() == MX_ERROR_OUT_OF_MEMORY);
  CHECK(status_of([&] { a->synchronize(for_ever); }) == MX_ERROR_OUT_OF_MEMORY);
}

static void inline_execution() {
  const Ref<Stream> s = stream();
  std::thread::id where;
  Ref<FunctionTask> work = task([&] { where = std::this_thread::get_id(); });
  work->small = true;
  const Ref<Event> event = work->event;
  s->submit(work);
  CHECK(!event->pending() && where == std::this_thread::get_id() && work->released == 1);
  // Not while the queue is busy: order comes first.
  Gate gate;
  submit(*s, [&] { gate.pass(); });
  gate.wait_until_entered();
  Ref<FunctionTask> late = task([&] { where = {}; });
  CHECK(!s->try_run_inline(*late));
  late->small = true;
  s->submit(late);
  CHECK(late->event->pending());
  gate.open();
  CHECK(late->event->wait(for_ever) && where == std::thread::id{});
}

static void end_of_work() {
  // Inputs are released and the runtime's reference to the task is gone when a waiter wakes up.
  const Ref<Stream> s = stream();
  for (int i = 0; i < 200; ++i) {
    const size_t before = memory_counters().active;
    Ref<FunctionTask> work = task([] {});
    work->input = allocate(1000);
    const Ref<Event> event = work->event;
    s->submit(std::move(work));
    CHECK(event->wait(for_ever));
    CHECK(memory_counters().active == before);
  }
  // A task that is never submitted fails its event.
  const Ref<Event> orphan = task([] {})->event;
  CHECK(orphan->failed() && orphan->status() == MX_ERROR_CANCELLED);
}

struct CountingListener : Event::Listener {
  std::atomic<int> *count;
};

static void listeners() {
  const Ref<Stream> s = stream();
  std::atomic<int> count{0};
  CountingListener nodes[64];
  Gate gate;
  const Ref<Event> event = submit(*s, [&] { gate.pass(); });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 16; ++i) {
        CountingListener &node = nodes[t * 16 + i];
        node.count = &count;
        node.fn = [](Event::Listener *l) noexcept { ++*static_cast<CountingListener *>(l)->count; };
        if (t == 3 && i == 8) gate.open();
        event->listen(&node);
      }
    });
  for (std::thread &t : threads) t.join();
  CHECK(event->wait(for_ever));
  CHECK(s->synchronize(for_ever));
  for (int i = 0; i < 1000 && count != 64; ++i) sleep_ms(1);
  CHECK(count == 64);
}

static void defaults() {
  const Ref<Stream> mine = default_stream(Device{});
  CHECK(default_stream(Device{}) == mine);
  std::thread([&] {
    CHECK(default_stream(Device{}) != mine);
    CHECK(stream_or_default(mine.get()) == mine);
  }).join();
  const Ref<Stream> other = stream();
  set_default_stream(other);
  CHECK(stream_or_default(nullptr) == other);
  set_default_stream(mine);
  CHECK(status_of([] { new_stream(Device{MX_GPU, 0}); }) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(status_of([] { set_default_device(Device{MX_CPU, 1}); }) == MX_ERROR_INVALID_ARGUMENT);
}

// Work in bounded steps, so that a waiter can leave in between.
class SteppedTask : public Task {
 public:
  void execute() override { CHECK(false); }
  bool step() override {
    sleep_ms(5);
    return ++steps < 20;
  }
  std::atomic<int> steps{0};
};

static void no_threads() {
  const int before = num_threads();
  set_num_threads(0);
  const Ref<Stream> a = stream(), b = stream(), unrelated = stream();
  bool other = false;
  int value = 0;
  std::thread::id where;
  submit(*unrelated, [&] { other = true; });
  const Ref<Event> first = submit(*a, [&] { value = 1; });
  const Ref<Event> second = submit(*b, [&] { value += 10, where = std::this_thread::get_id(); }, {first});
  CHECK(second->wait(for_ever));
  CHECK(value == 11 && where == std::this_thread::get_id());
  CHECK(!other);  // a waiter runs only what it waits for
  CHECK(synchronize_all(for_ever) && other);
  // Time slices, and going on on another thread.
  Ref<SteppedTask> stepped = make_ref<SteppedTask>();
  const Ref<Event> event = stepped->event;
  a->submit(stepped);
  const Stopwatch watch;
  CHECK(!event->wait(20));
  CHECK(watch.ms() < 60 && stepped->steps > 0 && stepped->steps < 20);
  std::thread([&] { CHECK(event->wait(for_ever)); }).join();
  CHECK(stepped->steps == 20);
  // Threads that submit and wait at once.
  std::atomic<int> count{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      Ref<Event> last;
      for (int i = 0; i < 50; ++i) {
        last = last ? submit(i % 2 ? *a : *b, [&] { ++count; }, {last}) : submit(*a, [&] { ++count; });
        if (i % 10 == 9) CHECK(last->wait(for_ever));
      }
    });
  for (std::thread &t : threads) t.join();
  CHECK(count == 200);
  const Ref<Event> waits = submit(*a, [&] { ++count; });
  set_num_threads(before);
  CHECK(waits->wait(for_ever) && count == 201);
}

int main() {
  order();
  many_submitters();
  cross_stream();
  parked_streams_hold_no_worker();
  errors();
  inline_execution();
  end_of_work();
  listeners();
  defaults();
  no_threads();
  CHECK(lock_order_failures() == 0);
  return 0;
}
