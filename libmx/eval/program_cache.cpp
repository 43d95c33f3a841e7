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

// All that lowering depends on. Counts go before lists, so different graphs never encode alike; the specs of inner nodes
// follow from those of the leaves.
class Encoder {
 public:
  explicit Encoder(const lower::Graph &graph) {
    for (const lower::GraphNode &node : graph.nodes) node.leaf ? add_leaf(graph, node) : add_node(node);
    put(static_cast<int64_t>(graph.outputs.size()));
    for (lower::Edge e : graph.outputs) put(e);
  }
  std::string_view key() const noexcept { return {bytes_.data(), bytes_.size()}; }

 private:
  void put(int64_t x) { bytes_.append(reinterpret_cast<const char *>(&x), sizeof x); }
  void put(lower::Edge e) { put(static_cast<int64_t>(uint64_t{e.node} << 32 | e.index)); }
  void put(std::span<const int64_t> list) {
    bytes_.append(reinterpret_cast<const char *>(list.data()), list.size_bytes());
  }
  void add_leaf(const lower::Graph &graph, const lower::GraphNode &node) {
    const Spec &spec = node.specs[0];
    put(-1 - static_cast<int64_t>(spec.dtype));
    put(static_cast<int64_t>(spec.shape.size()));
    put(spec.shape);
    put(graph.leaves[node.leaf_index].strides);
  }
  void add_node(const lower::GraphNode &node) {
    put(static_cast<int64_t>(node.op) << 48 | static_cast<int64_t>(node.inputs.size()) << 24 |
        static_cast<int64_t>(node.attrs.words().size()));
    for (lower::Edge e : node.inputs) put(e);
    put(node.attrs.words());
  }
  SmallVector<char, 512> bytes_;
};

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

}  // namespace

std::shared_ptr<const lower::Program> program_for(lower::Graph graph) {
  if (!worth_keeping(graph)) return std::make_shared<const lower::Program>(lower::lower(std::move(graph)));
  const Encoder encoder(graph);
  Cache &c = cache();
  Lock &lock = lock_for(LockRank::functions, &c);
  {
    const std::lock_guard guard(lock);
    const auto it = c.table.find(encoder.key());
    if (it != c.table.end()) {
      it->second.used = ++c.tick;
      return it->second.program;
    }
  }
  auto program = std::make_shared<const lower::Program>(lower::lower(std::move(graph)));
  Table fresh;
  std::vector<Table::node_type> dropped;
  fresh.emplace(std::string(encoder.key()), Row{program, 0});
  const std::lock_guard guard(lock);
  if (c.table.size() >= max_programs) shrink(c, dropped);
  auto result = c.table.insert(fresh.extract(fresh.begin()));
  result.position->second.used = ++c.tick;
  return program;
}

}  // namespace mx::evaluation
