// A compiled entry: the traced graph of one signature and the programs that it was lowered to, one for each combination
// of input shapes and strides that came along. Immutable but for that small cache.
#pragma once
#include <string>

#include "compile/trace_graph.hpp"
#include "eval/callable.hpp"

namespace mx {

class Entry final : public Callable {
 public:
  Entry(TracedGraph traced, std::string host_key, bool shapeless, uint64_t host_tag);
  const uint64_t host_tag;

  // Whether this is the entry for a call: what Key says, without making one.
  bool answers(std::span<const Value> inputs, std::string_view host_key) const noexcept;

  // A lazy call: one node that computes all outputs. Draws the thread's random keys that the entry wants.
  static ValueVector call(Ref<Entry> entry, ValueVector inputs, Ref<Stream> stream);

  ProgramRef find_program(std::span<const Value> inputs, Backend &backend) override;
  ProgramRef program_for(std::span<const Value> inputs, Backend &backend) override;
  uint32_t n_arguments() const noexcept override { return traced_.n_inputs + traced_.n_keys; }
  std::span<const Value> constants() const noexcept override { return traced_.constants; }
  lower::Graph graph_for(std::span<const Value> inputs) override;

  // Lowers for these inputs ahead of the first run.
  void prepare(std::span<const Value> inputs);
  int64_t constant_bytes() const noexcept;  // packed forms included
  const lower::Graph &graph() const noexcept { return traced_.graph; }

 private:
  using Arguments = SmallVector<std::pair<const Spec *, const Dims *>, 8>;  // of each the spec and the strides
  // One way in which the arguments can lie in memory.
  struct Variant {
    std::vector<Spec> specs;
    std::vector<Dims> strides;
    ProgramRef program;
    bool fits(std::span<const Value> inputs, const Backend &backend) const noexcept;
  };
  ~Entry() override;
  Arguments arguments_of(std::span<const Value> inputs) const;
  Arguments arguments_of(std::span<const Value> inputs, SmallVector<Dims, 4> &made) const;
  ProgramRef find_recent(const Arguments &arguments, const Backend &backend);
  lower::Graph graph_for(const Arguments &arguments) const;
  ProgramRef lower_and_keep(const Arguments &arguments, Backend &backend);
  SmallVector<Spec, 1> output_specs(std::span<const Value> inputs) const;

  TracedGraph traced_;
  const std::string host_key_;
  const bool shapeless_;
  // Of the backend that the first program was for; others keep nothing.
  Backend &home_;
  const Ref<PackedConstants> packed_;
  SmallVector<Spec, 1> outputs_;                 // of the shapes that were traced
  std::atomic<const Variant *> first_{nullptr};  // set once: most entries have one variant, found without a lock
  std::vector<Variant> recent_;                  // the others, most recent first; guarded by LockRank::functions
};

}  // namespace mx
