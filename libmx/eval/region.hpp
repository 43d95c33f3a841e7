// A region of the graph as a task: claims the nodes that it will materialise, lowers, runs, hands out the results.
#pragma once
#include <optional>

#include "eval/walk.hpp"
#include "lower/run.hpp"

namespace mx::evaluation {

// Work below this runs on the calling thread when its stream is idle.
constexpr int64_t inline_ns = 20'000;
// Below this a task costs more than the work.
constexpr int64_t here_ns = 10'000;

class RegionTask : public Task {
 public:
  // Copies the region out of the walk.
  static Ref<RegionTask> copy(const Walk &walk, std::span<const uint32_t> region);
  // Lowers now if that is cheap and all leaves have their values, to find out whether the task is small.
  virtual void prepare() = 0;
  // Claims the region's needed nodes, before the task is submitted. False if another thread claimed one of them first:
  // then nothing was claimed and the graph must be walked again.
  bool claim(Walk &walk, std::span<const uint32_t> region);
  void execute() final;
  bool step() final;  // lowers, or runs one step of the program
  void release_inputs() noexcept final;
  Stream &stream() const noexcept { return *stream_; }

  std::vector<Value> leaves;

 protected:
  // Lowers what is not lowered yet, and begins the run, which gives the outputs of all targets.
  virtual void begin(std::optional<lower::Run> &run) = 0;
  bool leaves_done() const noexcept;
  Backend &backend() const { return backend_for(stream_->device()); }

 private:
  bool claim_targets();
  void check_leaves() const;
  void deliver();
  void add_leaf_events(const Walk &walk, std::span<const uint32_t> region);
  Ref<Stream> stream_;
  std::vector<Ref<Node>> targets_;
  std::optional<lower::Run> run_;
};

// Computes a single node whose inputs all have their values, if that takes next to no time: on this thread, under the
// node's lock, without a task, a claim or an event. Else nothing is done, and `estimate_ns` says how long it takes, 0
// if that is not known.
bool run_here(Node &node, int64_t &estimate_ns);

}  // namespace mx::evaluation
