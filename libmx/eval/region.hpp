// A region of the graph as a task: claims the nodes that it will materialise, lowers, runs, hands out the results.
#pragma once
#include "eval/walk.hpp"
#include "lower/program.hpp"

namespace mx::evaluation {

// Work below this runs on the calling thread when its stream is idle.
constexpr int64_t inline_ns = 20'000;

class RegionTask : public Task {
 public:
  // Copies the region out of the walk and claims its needed nodes. Null if another thread claimed one of them first:
  // then nothing was claimed and the graph must be walked again.
  static Ref<RegionTask> claim(Walk &walk, std::span<const uint32_t> region);

  // The task of a single node whose inputs all have their values, without a walk. Null if it is not such a node, or
  // another thread claimed it first.
  static Ref<RegionTask> claim_lone(const Ref<Node> &node);

  // Lowers now if that is cheap and all leaves have their values, to find out whether the task is small.
  virtual void prepare() = 0;
  void execute() final;
  void release_inputs() noexcept final;
  Stream &stream() const noexcept { return *stream_; }

 protected:
  virtual std::vector<Output> compute(std::vector<Value> leaves) = 0;
  bool leaves_done() const noexcept;
  std::vector<Value> leaves_;

 private:
  bool claim_targets();
  void add_leaf_events(const Walk &walk, std::span<const uint32_t> region);
  Ref<Stream> stream_;
  std::vector<Ref<Node>> targets_;
};

}  // namespace mx::evaluation
