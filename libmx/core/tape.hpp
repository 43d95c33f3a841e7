// The tape of a transform: every node that was made from its tracers, in order of creation, with inputs, which the node
// itself gives up once it is computed. The order is topological: a node's inputs were on the tape before it.
#pragma once
#include <vector>

#include "core/node.hpp"

namespace mx {

// One step from inputs to outputs.
class Record final : public Object {
 public:
  Record(ValueVector inputs, ValueVector outputs) noexcept : inputs(std::move(inputs)), outputs(std::move(outputs)) {}
  const ValueVector inputs;
  const ValueVector outputs;  // of one node; of a custom rule: of a node each
  // A step whose derivative the host supplies: `token` is its name for the rule.
  struct Custom {
    uint64_t token = 0;
    bool has_vjp = false, has_jvp = false;
    bool any() const noexcept { return has_vjp || has_jvp; }
  };
  Custom custom;

 private:
  friend class TransformTrace;
  ~Record() override = default;
  Record *next_ = nullptr;  // older; owned
};

class TransformTrace final : public Trace {
 public:
  explicit TransformTrace(Ref<Trace> parent) noexcept : Trace(TraceKind::transform, std::move(parent)) {}
  // Appends; nothing happens once the tape is gone. Any thread, lock-free.
  void record(Ref<Record> record) noexcept;
  // Ends the trace and takes the tape, oldest first; empty the second time. The tape goes on as part of that of the
  // nearest open transform around this one, whose derivatives lead through it.
  std::vector<Ref<Record>> finish();
  void abandon() noexcept;  // finish, for those who do not want the tape

 private:
  ~TransformTrace() override { abandon(); }
  Record *take() noexcept;
  void hand_on(Record *newest) noexcept;
  void append(Record *newest, Record *oldest) noexcept;
  std::atomic<Record *> newest_{nullptr};
};

}  // namespace mx
