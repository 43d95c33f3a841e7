#include "eval/walk.hpp"

#include <algorithm>
#include <bit>

#include "base/status.hpp"

namespace mx::evaluation {
namespace {

// Node address -> walk index: open addressing, because this is the inner loop of evaluating large graphs.
class NodeMap {
 public:
  // The index of `node`; inserts `fresh` and returns it if there is none.
  uint32_t find_or_insert(const Node *node, uint32_t fresh) {
    if ((size_ + 1) * 2 > slots_.size()) grow();
    Slot &slot = probe(node);
    if (!slot.node) {
      slot = {node, fresh};
      size_++;
    }
    return slot.index;
  }

 private:
  struct Slot {
    const Node *node = nullptr;
    uint32_t index = 0;
  };
  Slot &probe(const Node *node) noexcept {
    const size_t mask = slots_.size() - 1;
    size_t at = (reinterpret_cast<uintptr_t>(node) * 0x9e3779b97f4a7c15ull) >> 20;
    while (slots_[at & mask].node && slots_[at & mask].node != node) at++;
    return slots_[at & mask];
  }
  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(std::max<size_t>(32, old.size() * 2), {});
    for (const Slot &slot : old)
      if (slot.node) probe(slot.node) = slot;
  }
  std::vector<Slot> slots_;
  size_t size_ = 0;
};

class Walker {
 public:
  Walker(Walk &walk, size_t max_nodes) : walk_(walk), max_nodes_(max_nodes) {}

  bool run(std::span<const Value> roots) {
    for (const Value &root : roots)
      if (!visit(*root.node)) return false;
    renumber();
    find_needed(roots);
    cut();
    return true;
  }

 private:
  struct Frame {
    uint32_t node;
    uint32_t next_input;
  };

  // Post-order without recursion: a node gets its final place when all its inputs have theirs.
  bool visit(Node &root) {
    if (map_.find_or_insert(&root, found_) != found_) return true;
    if (!enter(root)) return false;
    while (!stack_.empty()) {
      Frame &frame = stack_.back();
      if (frame.next_input == pool_[frame.node].inputs.size()) {
        order_.push_back(frame.node);
        stack_.pop_back();
        continue;
      }
      WalkNode &w = pool_[frame.node];
      Node *const input = w.inputs[frame.next_input++].node.get();  // w keeps it
      const uint32_t index = map_.find_or_insert(input, found_);
      w.sources.push_back(index);
      if (index == found_ && !enter(*input)) return false;
    }
    return true;
  }

  bool enter(Node &node) {
    const uint32_t index = found_++;
    Node::Snapshot snapshot = node.snapshot();
    WalkNode &w = pool_.emplace_back();
    w.node = Ref<Node>::share(node);
    if (snapshot.state == NodeState::failed) {
      snapshot.event->wait(UINT32_MAX);
      snapshot.event->throw_if_failed();
    }
    w.leaf = snapshot.state != NodeState::lazy;
    if (snapshot.state == NodeState::pending) w.event = std::move(snapshot.event);
    if (!w.leaf && node.op == OpCode::placeholder)
      fail(MX_ERROR_TRACE,
           "the value of an argument of a compiled or mapped function was asked for while the function is traced, or "
           "the array was kept beyond its trace; only shape, dtype and ndim are known there");
    if (!w.leaf && max_nodes_ && ++lazy_ > max_nodes_) return false;
    w.inputs = std::move(snapshot.inputs);
    stack_.push_back({index, 0});
    return true;
  }

  // From order of discovery to topological order.
  void renumber() {
    std::vector<uint32_t> place(pool_.size());
    for (uint32_t i = 0; i < order_.size(); i++) place[order_[i]] = i;
    walk_.nodes.reserve(pool_.size());
    for (uint32_t i : order_) {
      WalkNode &w = walk_.nodes.emplace_back(std::move(pool_[i]));
      for (uint32_t &source : w.sources) walk_.nodes[source = place[source]].uses++;
    }
  }

  // A node is alive outside when it has more references than this walk knows of: two for each edge (the graph's and the
  // walk's copy) and the walk's own.
  void find_needed(std::span<const Value> roots) {
    for (WalkNode &w : walk_.nodes) w.needed = !w.leaf && w.node->ref_count() > 2 * w.uses + 1;
    std::vector<const Node *> wanted;
    for (const Value &root : roots) wanted.push_back(root.node.get());
    std::sort(wanted.begin(), wanted.end());
    for (WalkNode &w : walk_.nodes)
      if (!w.leaf && std::binary_search(wanted.begin(), wanted.end(), w.node.get())) w.needed = true;
  }

  Stream *stream_of(const WalkNode &w) {
    if (w.node->stream) return w.node->stream.get();
    if (!default_) {
      default_ = stream_or_default(nullptr);
      walk_.streams.push_back(default_);
    }
    return default_.get();
  }

  void cut() {
    uint32_t n_levels = 0;
    bool one_region = true;
    for (WalkNode &w : walk_.nodes) {
      if (w.leaf) continue;
      w.stream = stream_of(w);
      for (uint32_t source : w.sources) {
        WalkNode &from = walk_.nodes[source];
        if (from.leaf) continue;
        const bool crosses = from.stream != w.stream || is_call(w) || is_call(from);
        if (crosses) from.needed = true;
        w.level = std::max(w.level, from.level + crosses);
      }
      one_region &= w.stream == first_stream(w) && !is_call(w) && w.level == 0;
      n_levels = std::max(n_levels, w.level + 1);
    }
    if (n_levels == 0) return;
    if (n_levels > 1) sink();
    if (one_region) {
      walk_.regions.emplace_back();
      for (uint32_t i = 0; i < walk_.nodes.size(); i++)
        if (!walk_.nodes[i].leaf) walk_.regions.back().push_back(i);
      return;
    }
    std::vector<std::vector<uint32_t>> levels(n_levels);
    for (uint32_t i = 0; i < walk_.nodes.size(); i++)
      if (!walk_.nodes[i].leaf) levels[walk_.nodes[i].level].push_back(i);
    for (const auto &level : levels) split(level);
  }

  // What only later levels read is computed there, so that it can be fused; what still crosses levels must be stored.
  void sink() {
    std::vector<uint32_t> readers(walk_.nodes.size(), UINT32_MAX);  // the first level that reads a node
    for (uint32_t i = static_cast<uint32_t>(walk_.nodes.size()); i-- > 0;) {
      WalkNode &w = walk_.nodes[i];
      if (w.leaf) continue;
      if (!w.needed && readers[i] != UINT32_MAX) w.level = readers[i];
      for (uint32_t source : w.sources) readers[source] = std::min(readers[source], w.level);
    }
    for (const WalkNode &w : walk_.nodes)
      for (uint32_t source : w.sources)
        if (WalkNode &from = walk_.nodes[source]; !w.leaf && !from.leaf && from.level != w.level) from.needed = true;
  }

  // A level into regions: one per stream, and one per compiled call.
  void split(const std::vector<uint32_t> &level) {
    std::vector<std::pair<Stream *, std::vector<uint32_t>>> by_stream;
    for (uint32_t i : level) {
      if (is_call(walk_.nodes[i])) {
        walk_.regions.push_back({i});
        continue;
      }
      Stream *stream = walk_.nodes[i].stream;
      auto it = std::find_if(by_stream.begin(), by_stream.end(), [&](const auto &s) { return s.first == stream; });
      if (it == by_stream.end()) it = by_stream.insert(it, {stream, {}});
      it->second.push_back(i);
    }
    for (auto &[stream, nodes] : by_stream) walk_.regions.push_back(std::move(nodes));
  }

  Stream *first_stream(const WalkNode &w) noexcept {
    if (!first_) first_ = w.stream;
    return first_;
  }
  static bool is_call(const WalkNode &w) noexcept { return w.node->op == OpCode::compiled_call; }

  Walk &walk_;
  const size_t max_nodes_;
  NodeMap map_;
  std::vector<WalkNode> pool_;  // in order of discovery
  std::vector<uint32_t> order_;
  std::vector<Frame> stack_;
  uint32_t found_ = 0;
  size_t lazy_ = 0;
  Ref<Stream> default_;
  Stream *first_ = nullptr;
};

}  // namespace

bool walk(std::span<const Value> roots, size_t max_nodes, Walk &out) { return Walker(out, max_nodes).run(roots); }

}  // namespace mx::evaluation
