#include "eval/program_cache.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/lock.hpp"

namespace mx::evaluation {
namespace {

constexpr size_t max_nodes = 64, max_programs = 1024;

struct Hash {
  using is_transparent = void;
  size_t operator()(std::string_view key) const noexcept { return std::hash<std::string_view>()(key); }
};
struct Row {
  std::shared_ptr<const lower::Program> program;
  uint64_t used = 0;
};
using Table = std::unordered_map<std::string, Row, Hash, std::equal_to<>>;

struct Cache {
  Table table;  // guarded by LockRank::functions
  uint64_t tick = 0;
};
Cache &cache() noexcept {
  static Cache *const leaked = new Cache;
  return *leaked;
}

// All that lowering depends on. Counts go before lists, so different graphs never encode alike; the specs of inner
// nodes follow from those of the leaves.
class Encoder {
 public:
  explicit Encoder(const lower::Graph &graph) {
    for (const lower::GraphNode &node : graph.nodes) {
      if (node.leaf) {
        add_leaf(node.specs[0], graph.leaves[node.leaf_index].strides);
        continue;
      }
      add_node(node.op, node.inputs.size(), node.attrs);
      for (lower::Edge e : node.inputs) put(e);
    }
    put(static_cast<int64_t>(graph.outputs.size()));
    for (lower::Edge e : graph.outputs) put(e);
  }
  // As the graph of one node over its inputs, but shorter: it begins with a node, not with a leaf.
  Encoder(const Node &node, std::span<const Value> inputs) {
    add_node(node.op, inputs.size(), node.attrs);
    for (const Value &input : inputs) add_leaf(spec_of(input), input.node->output(input.index).layout.strides);
  }
  std::string_view key() const noexcept { return {bytes_.data(), bytes_.size()}; }

 private:
  void put(int64_t x) { bytes_.append(reinterpret_cast<const char *>(&x), sizeof x); }
  void put(lower::Edge e) { put(static_cast<int64_t>(uint64_t{e.node} << 32 | e.index)); }
  void put(std::span<const int64_t> list) {
    bytes_.append(reinterpret_cast<const char *>(list.data()), list.size_bytes());
  }
  void add_leaf(const Spec &spec, const Dims &strides) {
    put(-1 - static_cast<int64_t>(spec.dtype) - (static_cast<int64_t>(spec.shape.size()) << 8));
    put(spec.shape);
    put(strides);
  }
  void add_node(OpCode op, size_t n_inputs, const Attrs &attrs) {
    put(static_cast<int64_t>(op) << 48 | static_cast<int64_t>(n_inputs) << 24 |
        static_cast<int64_t>(attrs.words().size()));
    put(attrs.words());
  }
  SmallVector<char, 512> bytes_;
};

std::shared_ptr<const lower::Program> find(std::string_view key) {
  Cache &c = cache();
  const std::lock_guard guard(lock_for(LockRank::functions, &c));
  const auto it = c.table.find(key);
  if (it == c.table.end()) return {};
  it->second.used = ++c.tick;
  return it->second.program;
}

std::shared_ptr<const lower::Program> lower_now(lower::Graph graph) {
  return std::make_shared<const lower::Program>(lower::lower(std::move(graph)));
}

lower::Graph lone_graph(const Node &node, std::span<const Value> inputs) {
  lower::Graph graph;
  graph.nodes.reserve(inputs.size() + 1);
  lower::GraphNode copy;
  for (const Value &input : inputs) {
    copy.inputs.push_back({graph.add_leaf(spec_of(input)), 0});
    graph.leaves.back() = input.node->output(input.index).layout;
  }
  copy.op = node.op;
  copy.attrs = node.attrs;
  copy.payload = node.payload;
  for (uint32_t k = 0; k < node.n_outputs; k++) {
    copy.specs.push_back(node.spec(k));
    graph.outputs.push_back({static_cast<uint32_t>(inputs.size()), k});
  }
  graph.nodes.push_back(std::move(copy));
  return graph;
}

bool worth_keeping(const lower::Graph &graph) noexcept {
  if (graph.nodes.size() > max_nodes) return false;
  return std::none_of(graph.nodes.begin(), graph.nodes.end(), [](const auto &node) { return bool(node.payload); });
}

// Drops the less recently used half. The lock is held; `dropped` is freed outside it.
void shrink(Cache &c, std::vector<Table::node_type> &dropped) {
  std::vector<uint64_t> ticks;
  ticks.reserve(c.table.size());
  for (const auto &[key, row] : c.table) ticks.push_back(row.used);
  std::nth_element(ticks.begin(), ticks.begin() + static_cast<ptrdiff_t>(ticks.size() / 2), ticks.end());
  const uint64_t median = ticks[ticks.size() / 2];
  dropped.reserve(c.table.size());
  for (auto it = c.table.begin(); it != c.table.end();) {
    const auto at = it++;
    if (at->second.used < median) dropped.push_back(c.table.extract(at));
  }
}

std::shared_ptr<const lower::Program> keep(std::string_view key, std::shared_ptr<const lower::Program> program) {
  Table fresh;  // what is made and what goes is allocated and freed outside the lock
  std::vector<Table::node_type> dropped;
  fresh.emplace(std::string(key), Row{program, 0});
  Cache &c = cache();
  const std::lock_guard guard(lock_for(LockRank::functions, &c));
  if (c.table.size() >= max_programs) shrink(c, dropped);
  c.table.insert(fresh.extract(fresh.begin())).position->second.used = ++c.tick;
  return program;
}

}  // namespace

std::shared_ptr<const lower::Program> program_for(lower::Graph graph) {
  if (!worth_keeping(graph)) return lower_now(std::move(graph));
  const Encoder encoder(graph);
  if (auto program = find(encoder.key())) return program;
  return keep(encoder.key(), lower_now(std::move(graph)));
}

std::shared_ptr<const lower::Program> program_for(const Node &node, std::span<const Value> inputs) {
  if (node.payload) return lower_now(lone_graph(node, inputs));
  const Encoder encoder(node, inputs);
  if (auto program = find(encoder.key())) return program;
  return keep(encoder.key(), lower_now(lone_graph(node, inputs)));
}

}  // namespace mx::evaluation
