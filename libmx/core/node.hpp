// The graph: lazy, typed nodes with one or more outputs. Inputs are strong references and there are no back edges, so
// reference counts free everything; neither walking nor destroying a graph recurses.
#pragma once
#include <memory>

#include "core/output.hpp"
#include "core/trace.hpp"
#include "runtime/event.hpp"
#include "runtime/memory.hpp"
#include "runtime/stream.hpp"

namespace mx {

class Node;

// One output of a node: what an array is.
struct Value {
  Ref<Node> node;
  uint32_t index = 0;
  bool operator==(const Value &) const noexcept = default;
};

template <>
inline constexpr bool is_relocatable<Value> = true;

using ValueVector = SmallVector<Value, 2>;

enum class NodeState : uint8_t {
  lazy,     // inputs and op are there, nobody computes it
  pending,  // claimed: `event` tells when it is done
  done,     // outputs have buffers, inputs are gone
  failed    // inputs are gone, `event` holds the failure
};

class Node final : public Object {
 public:
  void release() noexcept { release_owned(); }
  // Takes over the parts; infers the outputs. `payload` is what attributes cannot hold (a file, a compiled entry).
  Node(OpCode op, Attrs &&attrs, ValueVector &&inputs, std::span<const Spec> outputs, Ref<Stream> stream,
       Ref<Object> payload);
  // A value that exists already.
  Node(Spec spec, Layout layout, Ref<Buffer> buffer);

  // Immutable after construction.
  const OpCode op;
  const Attrs attrs;
  const uint32_t n_outputs;
  const Ref<Stream> stream;  // null: the default stream of whoever evaluates
  const Ref<Object> payload;
  Ref<Trace> trace;  // the innermost trace it derives from, null outside; set before it is shared

  NodeState state() const noexcept { return static_cast<NodeState>(word_.load(std::memory_order_acquire) & 3); }
  const Spec &spec(uint32_t i = 0) const noexcept { return outputs_[i].spec; }
  // Only once done.
  const Output &output(uint32_t i = 0) const noexcept { return outputs_[i]; }

  // What a walker takes along: copied under the node's lock bit, so it stays valid whatever other threads do.
  struct Snapshot {
    NodeState state;
    ValueVector inputs;  // when lazy
    Ref<Event> event;    // when pending or failed
  };
  Snapshot snapshot() const;

  // lazy -> pending with this event; the inputs go to `inputs`, so that their buffers can be donated. False if somebody
  // else was first. Callers hold the claim lock (eval/region.cpp).
  bool claim(const Ref<Event> &event, ValueVector &inputs) noexcept;
  // pending -> done; takes the layouts and buffers.
  void finish(std::span<Result> results) noexcept;
  // pending -> failed; the event holds why.
  void abandon() noexcept;
  // For whoever has the only reference to a node that is done: takes an output's memory, to overwrite it. A child that
  // is forked from then on, and computes again what needs the node, finds it failed, with `lost`.
  Ref<Buffer> give_up(uint32_t i, const Ref<Event> &lost) noexcept;
  // Undoes that, where nothing was written.
  void take_back(uint32_t i, Ref<Buffer> buffer) noexcept;

  // A node under its lock, for as long as it takes to compute it on the spot: a few microseconds. Whoever wants to know
  // its inputs waits; a forked child finds it lazy.
  class Exclusive;

 private:
  ~Node() override = default;
  void destroy() noexcept override;
  static void bury(size_t most) noexcept;
  friend void bury_waiting_nodes() noexcept;
  void place(std::span<Result> results) noexcept;
  class Guard;
  mutable std::atomic<uint32_t> word_;  // state | generation of the lock's holder << 2
  Node *next_dead_ = nullptr;
  ValueVector inputs_;
  Ref<Event> event_;
  Output first_;
  std::unique_ptr<Output[]> more_;  // only with several outputs
  Output *outputs_;
};

class Node::Exclusive {
 public:
  explicit Exclusive(Node &node) noexcept;
  ~Exclusive();
  Exclusive(const Exclusive &) = delete;
  bool lazy() const noexcept;
  std::span<const Value> inputs() const noexcept { return node_.inputs_; }
  // lazy -> done; takes the layouts and buffers. Memory of inputs that was overwritten was given up before.
  void finish(std::span<Result> results) noexcept;

 private:
  Node &node_;
  uint32_t state_;
  bool finished_ = false;
  ValueVector dropped_;  // the inputs, once done
};

// Frees what is left of large graphs that were dropped: dropping one frees a part of it at once and the next ones go on
// with it. Called where time does not matter, or where somebody counts.
void bury_waiting_nodes() noexcept;

// Builds a node: infers specs, notes the trace, checks that the runtime is not closed. Throws what the rule throws.
Value make(OpCode op, Attrs attrs, ValueVector inputs, Ref<Stream> stream = {}, Ref<Object> payload = {});
// All outputs of a node with several.
ValueVector outputs_of(const Value &first);
// A value whose memory exists already.
Value make_done(Spec spec, Layout layout, Ref<Buffer> buffer);

inline const Spec &spec_of(const Value &v) noexcept { return v.node->spec(v.index); }
// The innermost open trace that `v` derives from; null if there is none.
inline Trace *trace_of(const Value &v) noexcept {
  Trace *trace = v.node->trace.get();
  return trace ? nearest_open(trace) : nullptr;
}
// The deepest of theirs.
Trace *trace_of(std::span<const Value> values) noexcept;
// True while `v` derives from a placeholder or tracer of a trace that is open on this thread.
inline bool is_tracer(const Value &v) noexcept {
  const Trace *trace = trace_of(v);
  return trace && trace->on_this_thread();
}

}  // namespace mx
