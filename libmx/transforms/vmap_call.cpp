// Compiled calls, and ops without a rule of their own.
#include <vector>

#include "compile/entry.hpp"
#include "ops/create.hpp"
#include "ops/index.hpp"
#include "transforms/vmap_rules.hpp"

namespace mx::vmap {

// A call made outside of the mapping's trace whose inputs are found to be mapped: what it compiled is mapped.
MappedList map_compiled_call(const LaneOp &call) {
  const auto &entry = static_cast<const Entry &>(*call.payload);
  const lower::Graph &graph = entry.graph();
  const uint32_t n_arguments = entry.n_arguments();
  std::vector<MappedList> values(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); i++) {
    const lower::GraphNode &node = graph.nodes[i];
    if (node.leaf) {
      const uint32_t leaf = node.leaf_index;
      values[i] = {leaf < n_arguments ? call.in[leaf] : Mapped{entry.constants()[leaf - n_arguments], -1}};
      continue;
    }
    MappedList in;
    for (lower::Edge e : node.inputs) in.push_back(values[e.node][e.index]);
    values[i] = apply({node.op, node.attrs, call.s, node.payload, in, call.lanes});
  }
  MappedList out;
  for (lower::Edge e : graph.outputs) out.push_back(values[e.node][e.index]);
  return out;
}

// Lane by lane.
MappedList map_unrolled(const LaneOp &call) {
  const int64_t n = call.lanes.count();
  MappedList out;
  if (n == 0) {
    for (const Spec &spec : lane_outputs(call))
      out.push_back({ops::zeros(inserted(spec.shape, 0, 0), spec.dtype, call.s), 0});
    return out;
  }
  std::vector<std::vector<Value>> lanes;  // of each output
  for (int64_t i = 0; i < n; i++) {
    ValueVector in;
    for (const Mapped &x : call.in) {
      if (!x.differs()) {
        in.push_back(x.value);
        continue;
      }
      const Value lane = ops::slice_axis(x.value, static_cast<size_t>(x.axis), i, i + 1, 1, call.s);
      in.push_back(ops::squeeze(lane, List(Dims{x.axis}), call.s));
    }
    const ValueVector results = outputs_of(same_op(call, std::move(in)));
    lanes.resize(results.size());
    for (size_t k = 0; k < results.size(); k++) lanes[k].push_back(results[k]);
  }
  for (const std::vector<Value> &results : lanes) out.push_back({ops::stack(results, 0, call.s), 0});
  return out;
}

}  // namespace mx::vmap
