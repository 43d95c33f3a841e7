#include "eval/program_cache.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/settled.hpp"
#include "eval/keyed_table.hpp"
#include "runtime/lock.hpp"

namespace mx::evaluation {
namespace {

// Whichever is reached first; the less recently used half goes then.
constexpr size_t most_programs = 1024, most_nodes = 16 * 1024;

struct Kept {
  ProgramRef program;
  size_t n_nodes = 0;
  uint32_t n_lookups = 0;
};
using Table = KeyedTable<Kept>;

struct Cache {
  Table table;  // guarded by LockRank::functions
  size_t n_nodes = 0;
  uint64_t tick = 0;
};
Cache &cache() { return leaked<Cache>(); }

// Programs that were looked up so often that another lookup should take no lock: each stays for ever in the one place
// that its hash allows. More than these, and what comes second to a place, are found in the cache.
struct Favourite {
  std::string key;
  ProgramRef program;
};
constexpr size_t n_favourites = 256;
constexpr uint32_t lookups_of_favourite = 32;
constinit std::atomic<const Favourite *> favourites[n_favourites];

const Favourite *favourite(std::string_view key, size_t hash) noexcept {
  const Favourite *found = favourites[hash % n_favourites].load(std::memory_order_acquire);
  return found && found->key == key ? found : nullptr;
}

void make_favourite(std::string_view key, size_t hash, const ProgramRef &program) {
  std::atomic<const Favourite *> &place = favourites[hash % n_favourites];
  const Favourite *none = nullptr;
  if (place.load(std::memory_order_relaxed)) return;
  auto made = std::make_unique<const Favourite>(Favourite{std::string(key), program});
  if (place.compare_exchange_strong(none, made.get(), std::memory_order_release, std::memory_order_relaxed))
    made.release();
}

// All that lowering depends on. Counts go before lists, so different graphs never encode alike; the specs of inner
// nodes follow from those of the leaves.
class Encoder {
 public:
  Encoder(const lower::Graph &graph, const Backend &backend) {
    if (&backend != &backend_for({})) put(reinterpret_cast<intptr_t>(&backend));
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
  std::string_view key() const noexcept {
    return {reinterpret_cast<const char *>(words_.data()), words_.size() * sizeof(int64_t)};
  }

 private:
  void put(int64_t x) { words_.push_back(x); }
  void put(lower::Edge e) { put(static_cast<int64_t>(uint64_t{e.node} << 32 | e.index)); }
  void put(std::span<const int64_t> list) {
    for (int64_t x : list) put(x);
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
  SmallVector<int64_t, 64> words_;
};

ProgramRef find(std::string_view key) {
  const size_t hash = key_hash(key);
  if (const Favourite *found = favourite(key, hash)) return {ProgramRef(), found->program.get()};  // not counted
  ProgramRef program;
  bool is_often = false;
  {
    Cache &c = cache();
    const std::lock_guard guard(lock_for(LockRank::functions, &c));
    Table::Row *row = c.table.find(key, hash);
    if (!row) return {};
    row->used = ++c.tick;
    is_often = ++row->value.n_lookups == lookups_of_favourite;
    program = row->value.program;
  }
  if (is_often) make_favourite(key, hash, program);
  return program;
}

ProgramRef lower_now(lower::Graph graph, Backend &backend = backend_for({})) {
  return std::make_shared<const lower::Program>(lower::lower(std::move(graph), backend));
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
  if (graph.nodes.size() > most_kept_nodes) return false;
  return std::none_of(graph.nodes.begin(), graph.nodes.end(), [](const auto &node) { return bool(node.payload); });
}

// Drops the less recently used half. `ticks` has room for one number of each program. The lock is held.
void shrink(Cache &c, std::vector<uint64_t> &ticks, Table::Dropped &dropped) noexcept {
  size_t n = 0;
  c.table.each([&](const Table::Row &row) { ticks[n++] = row.used; });
  const auto middle = ticks.begin() + static_cast<ptrdiff_t>(n / 2);
  std::nth_element(ticks.begin(), middle, ticks.begin() + static_cast<ptrdiff_t>(n));
  const uint64_t median = *middle;
  c.table.each([&](Table::Row &row) {
    if (row.used >= median) return;
    c.n_nodes -= row.value.n_nodes;
    c.table.drop(row, dropped);
  });
}

ProgramRef keep(std::string_view key, size_t n_nodes, ProgramRef program) {
  // What is made and what goes is allocated and freed outside the lock.
  std::unique_ptr<Table::Row> fresh(new Table::Row{std::string(key), Kept{program, n_nodes}});
  std::vector<uint64_t> ticks(most_programs);
  Table::Buckets room;
  Table::Dropped dropped;
  Cache &c = cache();
  for (;;) {
    size_t wanted;
    {
      const std::lock_guard guard(lock_for(LockRank::functions, &c));
      if (c.table.find(key, fresh->hash)) return program;  // another thread was faster
      wanted = c.table.wanted_buckets();
      if (room.size() >= wanted) {
        if (c.table.size() > 1 && (c.table.size() >= most_programs || c.n_nodes + n_nodes > most_nodes))
          shrink(c, ticks, dropped);
        c.n_nodes += n_nodes;
        c.table.insert(std::move(fresh), room)->used = ++c.tick;
        return program;
      }
    }
    room.resize(wanted);
  }
}

}  // namespace

ProgramRef find_program(const lower::Graph &graph, const Backend &backend) {
  return worth_keeping(graph) ? find(Encoder(graph, backend).key()) : ProgramRef();
}

ProgramRef program_for(lower::Graph graph, Backend &backend) {
  if (!worth_keeping(graph)) return lower_now(std::move(graph), backend);
  const Encoder encoder(graph, backend);
  if (ProgramRef program = find(encoder.key())) return program;
  const size_t n_nodes = graph.nodes.size();
  return keep(encoder.key(), n_nodes, lower_now(std::move(graph), backend));
}

ProgramRef find_program(const Node &node, std::span<const Value> inputs) {
  return node.payload ? ProgramRef() : find(Encoder(node, inputs).key());
}

ProgramRef program_for(const Node &node, std::span<const Value> inputs) {
  if (node.payload) return lower_now(lone_graph(node, inputs));
  const Encoder encoder(node, inputs);
  if (ProgramRef program = find(encoder.key())) return program;
  return keep(encoder.key(), 1, lower_now(lone_graph(node, inputs)));
}

}  // namespace mx::evaluation
