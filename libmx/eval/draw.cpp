// Drawings in the DOT language (Graphviz). Values are ellipses that bear their names, ops are boxes.
#include <algorithm>
#include <map>
#include <set>

#include "eval/explain.hpp"
#include "eval/walk.hpp"
#include "lower/explain.hpp"

namespace mx {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// A to Z, then AA, AB ...
std::string letters(size_t n) {
  std::string text;
  for (n++; n > 0; n = (n - 1) / 26) text.insert(text.begin(), static_cast<char>('A' + (n - 1) % 26));
  return text;
}

class Drawing {
 public:
  Drawing(std::span<const Value> values, std::span<const std::string_view> names) : values_(values) {
    evaluation::walk(values, 0, walk_);
    for (const Value &value : values) wanted_.insert(key(value));
    for (const evaluation::WalkNode &w : walk_.nodes)
      if (!w.leaf)
        for (const Value &input : w.inputs) read_.insert(key(input));
    for (size_t i = 0; i < values.size(); i++)
      if (!names[i].empty()) {
        names_[key(values[i])] = names[i];
        taken_.emplace_back(names[i]);
      }
  }

  std::string run() {
    text_ = "digraph {\n";
    for (const evaluation::WalkNode &w : walk_.nodes) {
      if (w.leaf || w.node->op == OpCode::constant)
        add_source(w);
      else if (w.node->op == OpCode::compiled_call)
        add_call(w);
      else
        add_op(w);
    }
    for (const Value &value : values_)
      if (!read_.contains(key(value))) text_ += "{ rank=sink; " + quoted(name(value)) + "; }\n";
    return text_ + "}\n";
  }

 private:
  using ValueKey = std::pair<const Node *, uint32_t>;
  static ValueKey key(const Value &value) { return {value.node.get(), value.index}; }

  std::string fresh_name() {
    for (;;) {
      std::string name = letters(n_letters_++);
      if (std::find(taken_.begin(), taken_.end(), name) == taken_.end()) return name;
    }
  }

  const std::string &name(const Value &value) {
    std::string &name = names_[key(value)];
    if (name.empty()) name = fresh_name();
    return name;
  }

  // The values of a node that somebody reads or asked for.
  std::vector<Value> used_outputs(const evaluation::WalkNode &w) const {
    std::vector<Value> used;
    for (uint32_t k = 0; k < w.node->n_outputs; k++) {
      const Value value{w.node, k};
      if (wanted_.contains(key(value)) || read_.contains(key(value))) used.push_back(value);
    }
    return used;
  }

  void add_value(const std::string &name, const Spec &spec, bool source) {
    text_ += std::string("{ ") + (source ? "rank=source; " : "") + quoted(name) +
             " [tooltip=" + quoted(std::string(mx::name(spec.dtype)) + " " + to_string(spec.shape)) + "]; }\n";
  }

  void add_source(const evaluation::WalkNode &w) {
    for (const Value &value : used_outputs(w)) add_value(name(value), spec_of(value), true);
  }

  std::string add_box(const std::string &label) {
    std::string box = "op" + std::to_string(n_boxes_++);
    text_ += "{ " + box + " [label=" + quoted(label) + ", shape=box]; }\n";
    return box;
  }

  void add_op(const evaluation::WalkNode &w) {
    const std::string box = add_box(lower::op_name(w.node->op));
    for (const Value &input : w.inputs) text_ += quoted(name(input)) + " -> " + box + "\n";
    for (const Value &value : used_outputs(w)) {
      add_value(name(value), spec_of(value), false);
      text_ += box + " -> " + quoted(name(value)) + "\n";
    }
  }

  using Inside = std::map<std::pair<uint32_t, uint32_t>, std::string>;  // names of the values inside a call

  // A compiled call as the units that it is made of. What it returns in several places, or as it came in, has an arrow
  // from one name to the other.
  void add_call(const evaluation::WalkNode &w) {
    lower::Graph graph = static_cast<Callable &>(*w.node->payload).graph_for(w.inputs);
    lower::simplify(graph);
    const lower::Fusion fusion = lower::fuse(graph);
    Inside inside;
    for (uint32_t i = 0; i < graph.nodes.size(); i++) {
      const lower::GraphNode &node = graph.nodes[i];
      if (!node.leaf) continue;
      const bool argument = node.leaf_index < w.inputs.size();
      std::string &leaf = inside[{i, 0}] = argument ? name(w.inputs[node.leaf_index]) : fresh_name();
      if (!argument) add_value(leaf, node.specs[0], true);
    }
    for (uint32_t k = 0; k < graph.outputs.size(); k++) {
      const lower::Edge e = graph.outputs[k];
      const Value value{w.node, k};
      if (!inside.try_emplace({e.node, e.index}, name(value)).second)
        text_ += quoted(inside[{e.node, e.index}]) + " -> " + quoted(name(value)) + "\n";
    }
    for (uint32_t unit = 0; unit < fusion.units.size(); unit++) add_unit(graph, fusion, unit, inside);
  }

  void add_unit(const lower::Graph &graph, const lower::Fusion &fusion, uint32_t unit, Inside &inside) {
    const lower::Unit &u = fusion.units[unit];
    const std::string box = add_box(lower::unit_name(graph, u));
    std::vector<std::string> read;
    for (const std::vector<uint32_t> *nodes : {&u.nodes, &u.reduces})
      for (uint32_t i : *nodes)
        for (lower::Edge e : graph.nodes[i].inputs) {
          const auto it = inside.find({e.node, e.index});
          if (fusion.unit_of[e.node] == unit || it == inside.end() ||
              std::find(read.begin(), read.end(), it->second) != read.end())
            continue;
          read.push_back(it->second);
          text_ += quoted(it->second) + " -> " + box + "\n";
        }
    for (const std::vector<uint32_t> *nodes : {&u.nodes, &u.reduces})
      for (uint32_t i : *nodes)
        if (fusion.outside[i])
          for (uint32_t k = 0; k < graph.nodes[i].specs.size(); k++) add_made(graph, box, {i, k}, inside);
  }

  void add_made(const lower::Graph &graph, const std::string &box, lower::Edge e, Inside &inside) {
    std::string &made = inside[{e.node, e.index}];
    if (made.empty()) made = fresh_name();
    add_value(made, graph.spec(e), false);
    text_ += box + " -> " + quoted(made) + "\n";
  }

  std::span<const Value> values_;
  evaluation::Walk walk_;
  std::set<ValueKey> wanted_, read_;
  std::map<ValueKey, std::string> names_;
  std::vector<std::string> taken_;
  size_t n_letters_ = 0, n_boxes_ = 0;
  std::string text_;
};

}  // namespace

std::string draw(std::span<const Value> values, std::span<const std::string_view> names) {
  return Drawing(values, names).run();
}

}  // namespace mx
