// Thread keys: where they come from, how they go on, and what a fork does to them.
#include "ops/random_state.hpp"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <mutex>

#include "core/trace.hpp"
#include "ops/index.hpp"
#include "ops/random.hpp"
#include "ops/shape.hpp"
#include "runtime/lifecycle.hpp"
#include "runtime/lock.hpp"

namespace mx {
namespace {

// Trivially destructible: the node of a thread that ends with a symbolic key is leaked, nothing else.
struct ThreadKey {
  RandomKey key;
  Node *node;      // the key, if it is an array without a value yet
  uint32_t index;  // of the node's output
  uint32_t generation;
  bool started;
  bool seeded;  // by the host: a fork must not change it
};
thread_local ThreadKey state = {};

// The seed of the process, and the generation in which it was drawn.
std::atomic<uint64_t> process_seed{0};
std::atomic<uint32_t> process_seed_generation{0};
std::atomic<int64_t> serial{0};

uint64_t entropy() noexcept {
  uint64_t x = 0;
  if (getrandom(&x, sizeof x, GRND_NONBLOCK) == sizeof x) return x;
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t time = static_cast<uint64_t>(now.tv_sec) * 1000000007u + static_cast<uint64_t>(now.tv_nsec);
  const RandomKey mixed = threefry(seed_key(time), static_cast<uint32_t>(getpid()), 0);
  return static_cast<uint64_t>(mixed.word[0]) << 32 | mixed.word[1];
}

// What was drawn before the process began is its parent's.
bool is_stale(uint32_t generation) noexcept { return generation < first_generation(); }

uint64_t seed_of_process() noexcept {
  const uint64_t fresh = entropy();
  const std::lock_guard guard(lock_for(LockRank::threads));
  const uint32_t drawn = process_seed_generation.load(std::memory_order_relaxed);
  if (drawn == 0 || is_stale(drawn)) {
    process_seed.store(fresh, std::memory_order_relaxed);
    process_seed_generation.store(current_epoch().generation, std::memory_order_relaxed);
  }
  return process_seed.load(std::memory_order_relaxed);
}

RandomKey first_key() noexcept {
  const uint64_t number = thread_number();
  return threefry(seed_key(seed_of_process()), static_cast<uint32_t>(number >> 32), static_cast<uint32_t>(number));
}

void drop_node() noexcept {
  if (Node *node = std::exchange(state.node, nullptr)) node->release();
}

// A key that was set as an array becomes words once it has its value.
void load_words() noexcept {
  if (!state.node || state.node->state() != NodeState::done) return;
  const Output &output = state.node->output(state.index);
  const std::byte *data = output.buffer->data() + output.layout.offset;
  std::memcpy(&state.key.word[0], data, sizeof(uint32_t));
  std::memcpy(&state.key.word[1], data + output.layout.strides[0], sizeof(uint32_t));
  drop_node();
}

// The calling thread's state, made on first use and renewed in a forked child.
ThreadKey &ready_state() {
  require_not_closed();
  if (current_epoch().state == State::uninit) require_running();  // so that forks are noticed
  if (!state.started) {
    state.key = first_key();
    state.started = true;
  } else if (is_stale(state.generation) && !state.seeded) {
    const uint64_t fresh = entropy();
    drop_node();
    state.key = threefry(state.key, static_cast<uint32_t>(fresh >> 32), static_cast<uint32_t>(fresh));
  }
  state.generation = current_epoch().generation;
  load_words();
  return state;
}

void set_words(RandomKey key) {
  ready_state();
  drop_node();
  state.key = key;
  state.seeded = true;
}

// As random_split(key, 2) computes it: four words, the first half of which is the first output of each counter.
RandomKey advance(RandomKey &key) noexcept {
  const RandomKey first = threefry(key, 0, 2), second = threefry(key, 1, 3);
  key = {{first.word[0], second.word[0]}};
  return {{first.word[1], second.word[1]}};
}

}  // namespace

RandomKey threefry(RandomKey key, uint32_t counter0, uint32_t counter1) noexcept {
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t keys[3] = {key.word[0], key.word[1], key.word[0] ^ key.word[1] ^ 0x1bd11bda};
  uint32_t x = counter0 + keys[0], y = counter1 + keys[1];
  for (uint32_t round = 0; round < 5; round++) {
    for (int rotation : rotations[round % 2]) {
      x += y;
      y = (y << rotation | y >> (32 - rotation)) ^ x;
    }
    x += keys[(round + 1) % 3];
    y += keys[(round + 2) % 3] + round + 1;
  }
  return {{x, y}};
}

RandomKey seed_key(uint64_t seed) noexcept {
  return {{static_cast<uint32_t>(seed >> 32), static_cast<uint32_t>(seed)}};
}

Value key_array(RandomKey key) {
  Ref<Buffer> buffer = allocate(sizeof key.word);
  std::memcpy(buffer->data(), key.word, sizeof key.word);
  return make_done({DType::uint32, Dims{2}}, {Dims{sizeof(uint32_t)}, 0}, std::move(buffer));
}

void seed_thread(uint64_t seed) { set_words(seed_key(seed)); }

Value thread_key() {
  const ThreadKey &now = ready_state();
  if (now.node) return {Ref<Node>::share(now.node), now.index};
  return key_array(now.key);
}

void set_thread_key(const Value &key) {
  const Spec &spec = spec_of(key);
  if (spec.dtype != DType::uint32)
    fail(MX_ERROR_DTYPE, "random_set_state: the key is %s, but it must be uint32", name(spec.dtype));
  if (spec.shape != Dims{2})
    fail(MX_ERROR_SHAPE, "random_set_state: the key has shape %s, but it must be (2,)", to_string(spec.shape).c_str());
  ready_state();
  drop_node();
  state.node = Ref<Node>(key.node).detach();
  state.index = key.index;
  state.seeded = true;
  load_words();
}

Value next_key() {
  ThreadKey &now = ready_state();
  if (now.node) {
    const Value key{Ref<Node>::share(now.node), now.index};
    const Value pair = ops::random_split(key, 2);
    const auto half = [&](int64_t i) {
      return ops::squeeze(ops::slice_axis(pair, 0, i, i + 1, 1), ops::List(Dims{0}));
    };
    const Value drawn = half(1);
    set_thread_key(half(0));
    return drawn;
  }
  if (tracing()) return make(OpCode::thread_key, Attrs().put(serial.fetch_add(1, std::memory_order_relaxed)), {});
  return key_array(advance(now.key));
}

RandomKey next_key_words() {
  ThreadKey &now = ready_state();
  // a worker has no symbolic key: hosts set theirs on their own threads, and what is symbolic there has no value yet
  return advance(now.key);
}

}  // namespace mx
