#include "core/node.hpp"

#include "base/status.hpp"
#include "core/tape.hpp"
#include "core/word_lock.hpp"

namespace mx {
namespace {

constexpr int lock_shift = 2, lock_width = 30;  // of Node::word_

// What a thread has dropped and not freed yet. Functions take one reference: each access to a thread_local of a shared
// library is a call.
struct Graves {
  Node *dead = nullptr;
  bool burying = false;
};
thread_local constinit Graves graves;
constexpr size_t most_at_once = 4096;
constinit std::atomic<Node *> waiting{nullptr};  // dead nodes, linked as those in `dead`

}  // namespace

class Node::Guard {
 public:
  explicit Guard(const Node &node) noexcept : word_(node.word_) {
    lock_word<lock_shift, lock_width>(word_, state_, [](uint32_t) { return true; });
  }
  ~Guard() { unlock_word(word_, state_); }
  NodeState state() const noexcept { return static_cast<NodeState>(state_); }
  void set(NodeState state) noexcept { state_ = static_cast<uint32_t>(state); }

 private:
  std::atomic<uint32_t> &word_;
  uint32_t state_;
};

Node::Node(OpCode op, Attrs &&attrs, ValueVector &&inputs, std::span<const Spec> outputs, Ref<Stream> stream,
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
  for (uint32_t i = 0; i < n_outputs; i++) outputs_[i].spec = outputs[i];
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

bool Node::claim(const Ref<Event> &event, ValueVector &inputs) noexcept {
  Guard guard(*this);
  if (guard.state() != NodeState::lazy) return false;
  event_ = event;
  inputs = std::move(inputs_);
  guard.set(NodeState::pending);
  return true;
}

void Node::place(std::span<Result> results) noexcept {
  for (uint32_t i = 0; i < n_outputs; i++) {
    outputs_[i].layout = std::move(results[i].layout);
    outputs_[i].buffer = std::move(results[i].buffer);
  }
}

void Node::finish(std::span<Result> results) noexcept {
  Ref<Event> event;
  Guard guard(*this);  // declared last: unlocks before the event is dropped
  place(results);
  event = std::move(event_);
  guard.set(NodeState::done);
}

void Node::abandon() noexcept {
  Guard guard(*this);
  if (guard.state() == NodeState::pending) guard.set(NodeState::failed);
}

Ref<Buffer> Node::give_up(uint32_t i, const Ref<Event> &lost) noexcept {
  event_ = lost;
  // Acquires, too: what the caller writes to the memory comes after it.
  word_.exchange(static_cast<uint32_t>(NodeState::failed), std::memory_order_acq_rel);
  return std::move(outputs_[i].buffer);
}

void Node::take_back(uint32_t i, Ref<Buffer> buffer) noexcept {
  outputs_[i].buffer = std::move(buffer);
  word_.store(static_cast<uint32_t>(NodeState::done), std::memory_order_release);
  event_ = {};
}

Node::Exclusive::Exclusive(Node &node) noexcept : node_(node) {
  lock_word<lock_shift, lock_width>(node.word_, state_, [](uint32_t) { return true; });
}

// The inputs go only once the node is done, when nobody reads them any more: a child forked at any moment before has
// them and computes the node itself.
Node::Exclusive::~Exclusive() {
  unlock_word(node_.word_, state_);
  if (finished_) dropped_ = std::move(node_.inputs_);
}

bool Node::Exclusive::lazy() const noexcept { return state_ == static_cast<uint32_t>(NodeState::lazy); }

void Node::Exclusive::finish(std::span<Result> results) noexcept {
  node_.place(results);
  finished_ = true;
  state_ = static_cast<uint32_t>(NodeState::done);
}

// Deleting a node drops its inputs, which may be their last references: those queue up here instead of recursing. Who
// drops a large graph may hold a lock of the host (Python's GIL), so beyond some nodes the rest waits.
void Node::destroy() noexcept {
  Graves &mine = graves;
  next_dead_ = mine.dead;
  mine.dead = this;
  if (!mine.burying) bury(most_at_once);
}

void Node::bury(size_t most) noexcept {
  Graves &mine = graves;
  Node *&dead = mine.dead;
  mine.burying = true;
  for (size_t n = 0;; n++) {
    if (!dead && waiting.load(std::memory_order_relaxed)) dead = waiting.exchange(nullptr, std::memory_order_acquire);
    Node *node = dead;
    if (!node) break;
    if (n == most) {
      dead = nullptr;
      Node *none = nullptr;
      if (waiting.compare_exchange_strong(none, node, std::memory_order_release, std::memory_order_relaxed)) break;
      Node *last = node;  // another thread's graph waits already: this one goes before it
      while (last->next_dead_) last = last->next_dead_;
      last->next_dead_ = none;
      while (!waiting.compare_exchange_weak(last->next_dead_, node, std::memory_order_release,
                                            std::memory_order_relaxed)) {
      }
      break;
    }
    dead = node->next_dead_;
    delete node;
  }
  mine.burying = false;
}

void bury_waiting_nodes() noexcept {
  if (waiting.load(std::memory_order_relaxed) && !graves.burying) Node::bury(SIZE_MAX);
}

Trace *trace_of(std::span<const Value> values) noexcept {
  Trace *deepest = nullptr;
  for (const Value &value : values) {
    Trace *trace = trace_of(value);
    if (trace && (!deepest || trace->depth() > deepest->depth())) deepest = trace;
  }
  return deepest;
}

Value make(OpCode op, Attrs attrs, ValueVector inputs, Ref<Stream> stream, Ref<Object> payload) {
  require_not_closed();
  count_allocation();
  SmallVector<const Spec *, 4> specs;
  for (const Value &input : inputs) specs.push_back(&spec_of(input));
  Trace *trace = trace_of(inputs);
  SmallVector<Spec, 1> outputs;
  info(op).infer(attrs, std::span<const Spec *const>(specs.data(), specs.size()), outputs);
  ValueVector taped;
  if (trace && trace->kind == TraceKind::transform) taped = inputs;
  Value value{make_ref<Node>(op, std::move(attrs), std::move(inputs), std::move(outputs), std::move(stream),
                             std::move(payload)),
              0};
  if (!trace) return value;
  value.node->trace = Ref<Trace>::share(*trace);  // an input keeps it alive until here
  if (!taped.empty())
    static_cast<TransformTrace &>(*trace).record(make_ref<Record>(std::move(taped), outputs_of(value)));
  return value;
}

Value make_done(Spec spec, Layout layout, Ref<Buffer> buffer) {
  return {make_ref<Node>(std::move(spec), std::move(layout), std::move(buffer)), 0};
}

ValueVector outputs_of(const Value &first) {
  ValueVector values;
  for (uint32_t i = 0; i < first.node->n_outputs; i++) values.push_back({first.node, i});
  return values;
}

}  // namespace mx
