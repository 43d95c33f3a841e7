// A compiled entry: the traced graph of one signature and the programs that it was lowered to, one for each combination
// of input shapes and strides that came along. Immutable but for that small cache.
#pragma once
#include <memory>

#include "compile/trace_graph.hpp"
#include "eval/callable.hpp"
#include "lower/program.hpp"

namespace mx {

class Entry final : public Callable {
 public:
  Entry(TracedGraph traced, uint64_t host_tag) noexcept;
  const uint64_t host_tag;

  // A lazy call: one node that computes all outputs. Draws the thread's random keys that the entry wants.
  SmallVector<Value, 4> call(std::span<const Value> inputs, Ref<Stream> stream);

  std::shared_ptr<const lower::Program> program_for(std::span<const Value> inputs) override;
  std::vector<lower::Leaf> leaves(std::span<const Value> inputs) override;
  lower::Graph graph_for(std::span<const Value> inputs) override;

  // Lowers for these inputs ahead of the first run.
  void prepare(std::span<const Value> inputs);
  int64_t constant_bytes() const noexcept;
  const lower::Graph &graph() const noexcept { return traced_.graph; }

 private:
  // One way in which the arguments can lie in memory.
  struct Variant {
    std::vector<Spec> specs;
    std::vector<Dims> strides;
    std::shared_ptr<const lower::Program> program;
  };
  ~Entry() override = default;
  using Arguments = SmallVector<std::pair<const Spec *, const Dims *>, 8>;  // of each the spec and the strides
  std::shared_ptr<const lower::Program> program_for(const Arguments &arguments);
  std::shared_ptr<const lower::Program> find(const Arguments &arguments);
  lower::Graph graph_for(const Arguments &arguments) const;
  Arguments arguments_of(std::span<const Value> inputs, SmallVector<Dims, 4> &made) const;
  SmallVector<Spec, 1> output_specs(std::span<const Value> inputs) const;
  uint32_t n_arguments() const noexcept { return traced_.n_inputs + traced_.n_keys; }

  TracedGraph traced_;
  std::vector<Variant> variants_;  // most recent first; guarded by LockRank::functions
};

}  // namespace mx
