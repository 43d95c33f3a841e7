#include "compile/trace_graph.hpp"

#include <unordered_map>

#include "base/status.hpp"

namespace mx {
namespace {

constexpr int64_t always_kept_bytes = 64 << 10;

// One node between the outputs and what they rest on, in topological order.
struct Traced {
  Ref<Node> node;
  SmallVector<Value, 2> inputs;
  SmallVector<uint32_t, 2> sources;
  bool lazy = false;
  bool varies = false;    // derives from a placeholder or a random key
  int64_t rests_on = -1;  // bytes of the arrays with a value below it; -1: none, so it is made from nothing
};

class Collector {
 public:
  std::vector<Traced> run(std::span<const Value> outputs) {
    for (const Value &output : outputs) visit(output.node);
    std::vector<uint32_t> place(found_.size());
    for (uint32_t i = 0; i < order_.size(); i++) place[order_[i]] = i;
    std::vector<Traced> sorted(found_.size());
    for (uint32_t i = 0; i < found_.size(); i++) {
      for (uint32_t &source : found_[i].sources) source = place[source];
      sorted[place[i]] = std::move(found_[i]);
    }
    return sorted;
  }

 private:
  void visit(const Ref<Node> &root) {
    if (!index_.try_emplace(root.get(), static_cast<uint32_t>(found_.size())).second) return;
    enter(root);
    while (!stack_.empty()) {
      auto &[i, next] = stack_.back();
      if (next == found_[i].inputs.size()) {
        order_.push_back(i);
        stack_.pop_back();
        continue;
      }
      const Ref<Node> input = found_[i].inputs[next++].node;
      const auto [it, fresh] = index_.try_emplace(input.get(), static_cast<uint32_t>(found_.size()));
      found_[i].sources.push_back(it->second);
      if (fresh) enter(input);
    }
  }

  void enter(const Ref<Node> &node) {
    stack_.emplace_back(static_cast<uint32_t>(found_.size()), size_t{0});
    Traced &t = found_.emplace_back();
    Node::Snapshot snapshot = node->snapshot();
    t.node = node;
    t.lazy = snapshot.state == NodeState::lazy;
    t.inputs = std::move(snapshot.inputs);
  }

  std::vector<Traced> found_;
  std::vector<uint32_t> order_;
  std::vector<std::pair<uint32_t, size_t>> stack_;
  std::unordered_map<const Node *, uint32_t> index_;
};

int find_node(std::span<const Value> values, const Node *node) noexcept {
  for (size_t i = 0; i < values.size(); i++)
    if (values[i].node.get() == node) return static_cast<int>(i);
  return -1;
}

bool is_call(const Traced &t) noexcept { return t.lazy && t.node->op == OpCode::compiled_call; }

// Notes for every node whether it varies from call to call, and what it rests on.
void classify(std::vector<Traced> &nodes, std::span<const Value> placeholders, std::span<const Value> arguments,
              bool &escapes) {
  for (Traced &t : nodes) {
    if (find_node(arguments, t.node.get()) >= 0 && find_node(placeholders, t.node.get()) < 0 &&
        t.node->op != OpCode::constant)
      fail(MX_ERROR_TRACE,
           "uncaptured input: the traced function used an array that is also an argument of this call, without going "
           "through the argument");
    // an array that a transform around this call differentiates is no constant
    if (const Trace *trace = nearest_open(t.node->trace.get()))
      escapes |= trace->kind == TraceKind::transform && trace->on_this_thread();
    if (!t.lazy) {
      t.rests_on = byte_count(t.node->spec());
      continue;
    }
    if (t.node->op == OpCode::placeholder) {
      t.varies = true;
      if (find_node(placeholders, t.node.get()) >= 0) continue;
      if (!t.node->trace || !t.node->trace->active_here())
        fail(MX_ERROR_TRACE,
             "the traced function used a placeholder of another trace, which ended or is open on "
             "another thread");
      escapes = true;
    }
    t.varies |= t.node->op == OpCode::thread_key;
    for (uint32_t source : t.sources) {
      const Traced &from = nodes[source];
      t.varies |= from.varies;
      if (from.rests_on >= 0) t.rests_on = std::max<int64_t>(t.rests_on, 0) + from.rests_on;
    }
    if (is_call(t)) t.rests_on = INT64_MAX;
  }
}

// Whether a node that is the same in every call is computed once and kept, rather than computed again by every run.
bool kept(const Traced &t) {
  if (!t.lazy || is_call(t)) return true;
  if (t.rests_on < 0) return false;
  int64_t bytes = 0;
  for (uint32_t i = 0; i < t.node->n_outputs; i++) bytes += byte_count(t.node->spec(i));
  return bytes <= always_kept_bytes || bytes <= t.rests_on;
}

}  // namespace

TracedGraph copy_trace(std::span<const Value> placeholders, std::span<const Value> arguments,
                       std::span<const Value> outputs) {
  std::vector<Traced> nodes = Collector().run(outputs);
  TracedGraph result;
  classify(nodes, placeholders, arguments, result.escapes);
  if (result.escapes) return result;

  // Which nodes the graph needs: from the outputs down to inputs, keys and kept constants.
  std::vector<bool> live(nodes.size(), false), constant(nodes.size(), false);
  for (size_t i = 0; i < nodes.size(); i++) constant[i] = !nodes[i].varies && kept(nodes[i]);
  std::unordered_map<const Node *, uint32_t> index;
  for (uint32_t i = 0; i < nodes.size(); i++) index.emplace(nodes[i].node.get(), i);
  for (const Value &output : outputs) live[index.at(output.node.get())] = true;
  for (size_t i = nodes.size(); i-- > 0;)
    if (live[i] && !constant[i])
      for (uint32_t source : nodes[i].sources) live[source] = true;

  lower::Graph &graph = result.graph;
  result.n_inputs = static_cast<uint32_t>(placeholders.size());
  for (const Value &placeholder : placeholders) graph.add_leaf(spec_of(placeholder));
  std::vector<uint32_t> place(nodes.size(), 0);
  for (uint32_t i = 0; i < nodes.size(); i++)
    if (live[i] && nodes[i].lazy && nodes[i].node->op == OpCode::thread_key) {
      place[i] = graph.add_leaf(nodes[i].node->spec());
      result.n_keys++;
    }
  for (uint32_t i = 0; i < nodes.size(); i++)
    if (live[i] && constant[i]) {
      place[i] = static_cast<uint32_t>(graph.nodes.size());
      for (uint32_t k = 0; k < nodes[i].node->n_outputs; k++) {
        graph.add_leaf(nodes[i].node->spec(k));
        result.constants.push_back({nodes[i].node, k});
      }
    }
  const auto edge = [&](uint32_t i, uint32_t output) -> lower::Edge {
    return constant[i] ? lower::Edge{place[i] + output, 0} : lower::Edge{place[i], output};
  };
  for (uint32_t i = 0; i < nodes.size(); i++) {
    const Traced &t = nodes[i];
    if (!live[i] || constant[i] || t.node->op == OpCode::thread_key) continue;
    if (t.node->op == OpCode::placeholder) {
      place[i] = static_cast<uint32_t>(find_node(placeholders, t.node.get()));
      continue;
    }
    lower::GraphNode node;
    node.op = t.node->op;
    node.attrs = t.node->attrs;
    node.payload = t.node->payload;
    for (uint32_t k = 0; k < t.node->n_outputs; k++) node.specs.push_back(t.node->spec(k));
    for (size_t k = 0; k < t.inputs.size(); k++) node.inputs.push_back(edge(t.sources[k], t.inputs[k].index));
    place[i] = static_cast<uint32_t>(graph.nodes.size());
    graph.nodes.push_back(std::move(node));
  }
  for (const Value &output : outputs) graph.outputs.push_back(edge(index.at(output.node.get()), output.index));
  return result;
}

SmallVector<Value, 2> inline_trace(std::span<const Value> placeholders, std::span<const Value> arguments,
                                   std::span<const Value> outputs) {
  const std::vector<Traced> nodes = Collector().run(outputs);
  std::unordered_map<const Node *, Value> replaced;
  for (size_t i = 0; i < placeholders.size(); i++) replaced.emplace(placeholders[i].node.get(), arguments[i]);
  const auto now = [&](const Value &value) {
    const auto it = replaced.find(value.node.get());
    if (it == replaced.end()) return value;
    return it->second.node->n_outputs > 1 && value.node->op != OpCode::placeholder ? Value{it->second.node, value.index}
                                                                                   : it->second;
  };
  for (const Traced &t : nodes) {
    bool changed = false;
    SmallVector<Value, 2> inputs;
    for (const Value &input : t.inputs) {
      inputs.push_back(now(input));
      changed |= !(inputs.back() == input);
    }
    if (changed)
      replaced.emplace(t.node.get(), make(t.node->op, t.node->attrs, inputs, t.node->stream, t.node->payload));
  }
  SmallVector<Value, 2> results;
  for (const Value &output : outputs) results.push_back(now(output));
  return results;
}

}  // namespace mx
