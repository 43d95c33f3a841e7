// The numbers are counts, not measurements. Bytes: each operand is read or written once, broadcast ones as they lie in
// memory. Flops: one per element for each op (and per input element of a reduction), 2 m n k for products.
#include "lower/explain.hpp"

#include <algorithm>
#include <cctype>

#include "lower/why.hpp"

namespace mx::lower {
namespace {

constexpr size_t max_named_ops = 12;

bool stretches(const Graph &graph, Edge input, const GraphNode &node) {
  const GraphNode &from = graph.nodes[input.node];
  if (!from.leaf && (from.op == OpCode::constant || from.op == OpCode::number_of_elements)) return false;
  if (!from.leaf && (from.op == OpCode::broadcast_to || from.op == OpCode::broadcast_like)) return true;
  return info(node.op).kind == OpKind::elementwise && !(graph.spec(input).shape == node.specs[0].shape);
}

// "8.39 MB", "512 B".
std::string scaled(double x, const char *unit) {
  static constexpr const char *prefixes[] = {"", "k", "M", "G", "T", "P"};
  size_t prefix = 0;
  for (; x >= 1000 && prefix < 5; prefix++) x /= 1000;
  // Three digits, without printf's locale.
  const auto thousandths = static_cast<int64_t>(x * 1000 + 0.5);
  std::string text = std::to_string(thousandths / 1000);
  if (prefix && thousandths < 100000) {
    const std::string fraction = std::to_string(thousandths % 1000 + 1000).substr(1);
    text += "." + fraction.substr(0, thousandths < 10000 ? 2 : 1);
  }
  return text + " " + prefixes[prefix] + unit;
}

std::string bytes_text(int64_t bytes) { return scaled(static_cast<double>(bytes), "B"); }
std::string spec_text(const Spec &spec) { return std::string(name(spec.dtype)) + " " + to_string(spec.shape); }

// Bytes in memory behind a value: a broadcast view has no more than what it is a view of.
int64_t memory_behind(const Graph &graph, Edge e) {
  int64_t bytes = byte_count(graph.spec(e));
  const GraphNode *node = &graph.nodes[e.node];
  while (!node->leaf && info(node->op).kind == OpKind::view && !node->inputs.empty()) {
    bytes = std::min(bytes, byte_count(graph.spec(node->inputs[0])));
    node = &graph.nodes[node->inputs[0].node];
  }
  return bytes;
}

double elements(const Spec &spec) {
  double n = 1;
  for (int64_t size : spec.shape) n *= static_cast<double>(size);
  return n;
}

double flops_of(const Graph &graph, const GraphNode &node) {
  const Spec &out = node.specs[0];
  switch (node.op) {
    case OpCode::matmul:
    case OpCode::addmm: {
      const Spec &a = graph.spec(node.inputs[node.op == OpCode::addmm]);
      return 2 * elements(out) * static_cast<double>(a.shape.empty() ? 1 : a.shape.back());
    }
    case OpCode::attention: {
      const Spec &q = graph.spec(node.inputs[0]), &k = graph.spec(node.inputs[1]);
      return 4 * elements(q) * static_cast<double>(k.shape[k.shape.size() - 2]);
    }
    default:
      break;
  }
  if (info(node.op).kind == OpKind::reduce) return elements(graph.spec(node.inputs[0]));
  return info(node.op).kind == OpKind::view ? 0 : elements(out);
}

class Report {
 public:
  Report(Graph graph, Backend &backend) : graph_(std::move(graph)) {
    simplify(graph_);
    expand(graph_);
    fusion_ = fuse(graph_);
    program_ = lower(graph_, backend);
  }

  std::string run() {
    add_inputs();
    text_ += "steps\n";
    for (uint32_t at = 0; at < program_.steps.size(); at++) add_step(at);
    if (program_.steps.empty()) text_ += "  none: the outputs are views of the inputs\n";
    text_ += "outputs\n";
    for (size_t i = 0; i < program_.outputs.size(); i++)
      text_ += "  out" + std::to_string(i) + "  " + spec_text(program_.outputs[i].spec) +
               origin(program_.outputs[i].storage) + "\n";
    add_memory();
    add_reasons();
    return std::move(text_);
  }

 private:
  struct Cost {
    int64_t read = 0, written = 0;
    double flops = 0;
  };

  // What computes a step.
  const char *executor(const Step &step) const noexcept {
    if (step.kind == Step::Kind::library) return "library";
    return program_.backend->executor(*(step.kind == Step::Kind::rows ? step.passes.front() : step).prepared);
  }

  void add_inputs() {
    text_ += "inputs\n";
    for (const GraphNode &node : graph_.nodes)
      if (node.leaf) text_ += "  in" + std::to_string(node.leaf_index) + "  " + spec_text(node.specs[0]) + "\n";
  }

  std::string storage_name(uint32_t storage) const {
    const Storage &s = program_.storages[storage];
    if (s.kind == Storage::Kind::leaf) return "in" + std::to_string(s.index);
    for (size_t i = 0; i < program_.outputs.size(); i++)
      if (program_.outputs[i].storage == storage) return "out" + std::to_string(i);
    return "tmp" + std::to_string(storage);
  }

  std::string origin(uint32_t storage) const {
    const Storage &s = program_.storages[storage];
    if (s.kind == Storage::Kind::leaf) return ", a view of " + storage_name(storage);
    std::string text;
    for (uint32_t donor : s.donors) text += (text.empty() ? ", may take over in" : " or in") + std::to_string(donor);
    return text;
  }

  // The unit's operands, each once.
  Cost cost(const Unit &unit) const {
    Cost c;
    std::vector<Edge> seen;
    for (const std::vector<uint32_t> *nodes : {&unit.nodes, &unit.reduces})
      for (uint32_t i : *nodes) {
        const GraphNode &node = graph_.nodes[i];
        c.flops += flops_of(graph_, node);
        if (is_written(unit, i))
          for (const Spec &spec : node.specs) c.written += byte_count(spec);
        for (Edge e : node.inputs) {
          const GraphNode &from = graph_.nodes[e.node];
          if (std::binary_search(unit.nodes.begin(), unit.nodes.end(), e.node) ||
              (!from.leaf && info(from.op).kind == OpKind::constant) ||
              std::find(seen.begin(), seen.end(), e) != seen.end())
            continue;
          seen.push_back(e);
          c.read += memory_behind(graph_, e);
        }
      }
    return c;
  }

  bool is_written(const Unit &unit, uint32_t i) const {
    if (unit.kind == Unit::Kind::rows) return fusion_.outside[i] && !is_view(graph_.nodes[i]);
    return unit.kind != Unit::Kind::loop || std::binary_search(unit.stores.begin(), unit.stores.end(), i) ||
           std::binary_search(unit.reduces.begin(), unit.reduces.end(), i);
  }

  const Unit &unit_of(const Step &step) const {
    const Unit &unit = fusion_.units[step.unit];
    return unit.kind == Unit::Kind::rows && step.kind == Step::Kind::loop ? unit.passes[step.pass] : unit;
  }

  void add_names(const char *label, std::vector<std::string> names) {
    if (names.empty()) return;
    text_ += label;
    std::vector<std::string> said;
    for (const std::string &name : names) {
      if (std::find(said.begin(), said.end(), name) != said.end()) continue;
      text_ += (said.empty() ? " " : ", ") + name;
      said.push_back(name);
    }
  }

  void add_step(uint32_t at) {
    const Step &step = program_.steps[at];
    const Unit &unit = unit_of(step);
    const bool is_copy = unit.kind == Unit::Kind::view;  // a view that strides cannot say
    const bool loop = step.kind != Step::Kind::library;
    text_ += "  " + std::to_string(at) + "  " + executor(step) + "  " + step.label;
    if (loop)
      text_ += "  over " + to_string(is_copy ? graph_.spec(graph_.nodes[unit.nodes[0]].inputs[0]).shape : unit.shape);
    if (step.kind == Step::Kind::rows) text_ += " in " + to_string(step.tiles) + " tiles";
    text_ += "\n    ";
    std::vector<std::string> read, written;
    for (uint32_t storage : step.written) written.push_back(storage_name(storage));
    for (size_t k = 0; k < step.operand_storage.size(); k++)
      if (k + step.written.size() - step.outputs.size() < step.operand_storage.size())
        read.push_back(storage_name(step.operand_storage[k]));
    for (const Place &place : step.inputs) read.push_back(storage_name(place.storage));
    add_names(" reads", read);
    add_names(read.empty() ? " writes" : ", writes", written);
    Cost c = cost(unit);
    if (step.epilogue) {
      const Cost more = cost(fusion_.units[step.epilogue_unit]);
      c = {c.read + more.read, c.written + more.written, c.flops + more.flops};
    }
    text_ += "; " + bytes_text(c.read + c.written);
    if (c.flops > 0) text_ += ", " + scaled(c.flops, "flop");
    text_ += "\n";
    total_.read += c.read;
    total_.written += c.written;
    total_.flops += c.flops;
  }

  void add_memory() {
    int64_t outputs = 0;
    for (const Storage &storage : program_.storages)
      if (storage.kind == Storage::Kind::owned) outputs += storage.bytes;
    text_ += "total\n  " + bytes_text(total_.read + total_.written) + " read and written, " +
             scaled(total_.flops, "flop") + "\n";
    text_ += "  peak memory " + bytes_text(program_.peak_bytes()) + ": outputs " + bytes_text(outputs) +
             ", temporaries " + bytes_text(program_.arena_bytes) + "\n";
  }

  // The last step of a unit; views have none.
  uint32_t step_of(uint32_t unit) const {
    for (uint32_t at = static_cast<uint32_t>(program_.steps.size()); at-- > 0;)
      if (program_.steps[at].unit == unit || program_.steps[at].epilogue_unit == unit) return at;
    return UINT32_MAX;
  }

  void add_reasons() {
    std::string reasons;
    for (const Split &split : splits(graph_, fusion_)) {
      const uint32_t producer = step_of(split.producer), reader = step_of(split.reader);
      if (producer == UINT32_MAX || reader == UINT32_MAX || producer == reader) continue;
      reasons += "  " + std::to_string(reader) + " after " + std::to_string(producer) + ": " + split.reason + "\n";
    }
    if (!reasons.empty()) text_ += "splits\n" + reasons;
  }

  Graph graph_;
  Fusion fusion_;
  Program program_;
  Cost total_;
  std::string text_;
};

}  // namespace

std::string op_name(OpCode op) {
  std::string text;
  bool upper = true;
  for (const char *c = info(op).name; *c; c++) {
    if (*c != '_') text += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(*c))) : *c;
    upper = *c == '_';
  }
  return text;
}

std::string unit_name(const Graph &graph, const Unit &unit) {
  if (unit.nodes.size() + unit.reduces.size() == 1)
    return op_name(graph.nodes[unit.nodes.empty() ? unit.reduces[0] : unit.nodes[0]].op);
  std::string text = "Compiled";
  std::vector<Edge> stretched;
  size_t n = 0;
  for (const std::vector<uint32_t> *nodes : {&unit.nodes, &unit.reduces})
    for (uint32_t i : *nodes) {
      if (n++ >= max_named_ops) continue;
      const GraphNode &node = graph.nodes[i];
      for (Edge e : node.inputs) {
        if (!stretches(graph, e, node) || std::find(stretched.begin(), stretched.end(), e) != stretched.end()) continue;
        stretched.push_back(e);
        text += "Broadcast";
      }
      text += op_name(node.op);
    }
  return n > max_named_ops ? text + "And" + std::to_string(n - max_named_ops) + "More" : text;
}

std::string explain(Graph graph, Backend &backend) { return Report(std::move(graph), backend).run(); }

}  // namespace mx::lower
