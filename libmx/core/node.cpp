#include "core/node.hpp"

#include <thread>

#include "base/status.hpp"
#include "runtime/lifecycle.hpp"

namespace mx {
namespace {

constexpr uint32_t state_bits = 3;

// A lock bit inside an atomic word: bits 2.. hold the generation that the holder's process began with, plus one. A
// holder of an older one is a thread that a fork left behind: it will never come back, so its lock is free.
void lock_word(std::atomic<uint32_t> &word) noexcept {
  const uint32_t mine = (first_generation() + 1) << 2;
  uint32_t seen = word.load(std::memory_order_relaxed);
  for (int spins = 0;; spins++) {
    if ((seen & ~state_bits) != mine &&
        word.compare_exchange_weak(seen, (seen & state_bits) | mine, std::memory_order_acquire))
      return;
    if (spins > 64) std::this_thread::yield();
    seen = word.load(std::memory_order_relaxed);
  }
}

void unlock_word(std::atomic<uint32_t> &word, uint32_t state) noexcept { word.store(state, std::memory_order_release); }

thread_local Node *dead = nullptr;
thread_local bool burying = false;

}  // namespace

class Node::Guard {
 public:
  explicit Guard(const Node &node) noexcept : word_(node.word_) {
    lock_word(word_);
    state_ = word_.load(std::memory_order_relaxed) & state_bits;
  }
  ~Guard() { unlock_word(word_, state_); }
  NodeState state() const noexcept { return static_cast<NodeState>(state_); }
  void set(NodeState state) noexcept { state_ = static_cast<uint32_t>(state); }

 private:
  std::atomic<uint32_t> &word_;
  uint32_t state_;
};

Node::Node(OpCode op, Attrs attrs, SmallVector<Value, 2> inputs, SmallVector<Spec, 1> outputs, Ref<Stream> stream,
           Ref<Object> payload)
    : op(op),
      attrs(std::move(attrs)),
      n_outputs(static_cast<uint32_t>(outputs.size())),
      stream(std::move(stream)),
      payload(std::move(payload)),
      word_(static_cast<uint32_t>(NodeState::lazy)),
      inputs_(std::move(inputs)),
      outputs_(&first_) {
  if (n_outputs > 1) {
    more_ = std::make_unique<Output[]>(n_outputs);
    outputs_ = more_.get();
  }
  for (uint32_t i = 0; i < n_outputs; i++) outputs_[i].spec = std::move(outputs[i]);
}

Node::Node(Spec spec, Layout layout, Ref<Buffer> buffer)
    : op(OpCode::copy),
      n_outputs(1),
      word_(static_cast<uint32_t>(NodeState::done)),
      first_{std::move(spec), std::move(layout), std::move(buffer)},
      outputs_(&first_) {}

Node::Snapshot Node::snapshot() const {
  Snapshot s;
  size_t n = 2;
  for (;;) {
    s.inputs.reserve(n);
    Guard guard(*this);
    s.state = guard.state();
    if (s.state != NodeState::lazy) {
      s.event = event_;
      return s;
    }
    n = inputs_.size();
    if (n > s.inputs.capacity()) continue;  // more room first: nothing allocates under the lock bit
    for (const Value &input : inputs_) s.inputs.push_back(input);
    return s;
  }
}

bool Node::claim(const Ref<Event> &event, SmallVector<Value, 2> &inputs) noexcept {
  Guard guard(*this);
  if (guard.state() != NodeState::lazy) return false;
  event_ = event;
  inputs = std::move(inputs_);
  guard.set(NodeState::pending);
  return true;
}

void Node::finish(std::span<Output> results) noexcept {
  Ref<Event> event;
  Guard guard(*this);  // declared last: unlocks before the event is dropped
  for (uint32_t i = 0; i < n_outputs; i++) {
    outputs_[i].layout = std::move(results[i].layout);
    outputs_[i].buffer = std::move(results[i].buffer);
  }
  event = std::move(event_);
  guard.set(NodeState::done);
}

bool Node::publish(std::span<Output> results) noexcept {
  SmallVector<Value, 2> inputs;
  Guard guard(*this);  // declared last: unlocks before the inputs are dropped
  if (guard.state() != NodeState::lazy) return false;
  for (uint32_t i = 0; i < n_outputs; i++) {
    outputs_[i].layout = std::move(results[i].layout);
    outputs_[i].buffer = std::move(results[i].buffer);
  }
  inputs = std::move(inputs_);
  guard.set(NodeState::done);
  return true;
}

void Node::abandon() noexcept {
  Guard guard(*this);
  if (guard.state() == NodeState::pending) guard.set(NodeState::failed);
}

// Deleting a node drops its inputs, which may be their last references: those queue up here instead of recursing.
void Node::destroy() noexcept {
  next_dead_ = dead;
  dead = this;
  if (burying) return;
  burying = true;
  while (Node *node = dead) {
    dead = node->next_dead_;
    delete node;
  }
  burying = false;
}

Value make(OpCode op, Attrs attrs, SmallVector<Value, 2> inputs, Ref<Stream> stream, Ref<Object> payload) {
  require_not_closed();
  count_allocation();
  SmallVector<const Spec *, 4> specs;
  Ref<Trace> trace;
  for (const Value &input : inputs) {
    specs.push_back(&spec_of(input));
    const Ref<Trace> &other = input.node->trace;
    if (other && other->open() && (!trace || other->depth() > trace->depth())) trace = other;
  }
  SmallVector<Spec, 1> outputs;
  info(op).infer(attrs, std::span<const Spec *const>(specs.data(), specs.size()), outputs);
  Value value{make_ref<Node>(op, std::move(attrs), std::move(inputs), std::move(outputs), std::move(stream),
                             std::move(payload)),
              0};
  value.node->trace = std::move(trace);
  return value;
}

Value make_done(Spec spec, Layout layout, Ref<Buffer> buffer) {
  return {make_ref<Node>(std::move(spec), std::move(layout), std::move(buffer)), 0};
}

SmallVector<Value, 2> outputs_of(const Value &first) {
  SmallVector<Value, 2> values;
  for (uint32_t i = 0; i < first.node->n_outputs; i++) values.push_back({first.node, i});
  return values;
}

class Array::Guard {
 public:
  explicit Guard(const Array &array) noexcept : word_(array.lock_) { lock_word(word_); }
  ~Guard() { unlock_word(word_, 0); }

 private:
  std::atomic<uint32_t> &word_;
};

Array::Array(Value value) : value_(std::move(value)) { count_allocation(); }

Value Array::value() const noexcept {
  Guard guard(*this);
  return value_;
}

void Array::assign(Value value) noexcept {
  Guard guard(*this);
  std::swap(value_, value);
}

}  // namespace mx
