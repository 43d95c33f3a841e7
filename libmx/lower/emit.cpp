// A unit's nodes in order, then its stores: every value is read before anything is written, so an output may take the
// memory of an input that is read at the same place.
#include "lower/emit.hpp"

#include <cstring>

#include "base/status.hpp"

namespace mx::lower {

uint16_t Emitter::append(loop::Ins ins) {
  if (out_.code.ins.size() >= loop::max_instructions) fail(MX_ERROR_INTERNAL, "a loop kernel grew too long");
  out_.code.ins.push_back(ins);
  return static_cast<uint16_t>(out_.code.ins.size() - 1);
}

uint16_t Emitter::scalar_bits(DType type, uint64_t bits) {
  for (size_t i = 0; i < out_.code.ins.size(); i++) {
    const loop::Ins &ins = out_.code.ins[i];
    if (ins.op == loop::Op::scalar && ins.type == type && out_.scalars[ins.arg] == bits)
      return static_cast<uint16_t>(i);
  }
  out_.scalars.push_back(bits);
  return append({loop::Op::scalar, type, 0, out_.code.n_scalars++, 0, 0, 0});
}

uint16_t Emitter::scalar(DType type, double value) {
  uint64_t bits = 0;
  store_scalar(&bits, type, {MX_SCALAR_FLOAT, 0, value, 0});
  return scalar_bits(type, bits);
}

LoopValue Emitter::load(Edge edge, DType type) {
  size_t operand = 0;
  while (operand < out_.operands.size() && !(out_.operands[operand] == edge)) operand++;
  if (operand == out_.operands.size()) {
    out_.operands.push_back(edge);
    out_.offsets.push_back(0);
    out_.readers.push_back(reader_);
    out_.code.operands.push_back(type);
  }
  const bool complex = is_complex(type);
  const DType part = part_dtype(type);
  const auto find = [&](uint8_t which) {
    for (size_t i = 0; i < out_.code.ins.size(); i++) {
      const loop::Ins &ins = out_.code.ins[i];
      if (ins.op == loop::Op::load && ins.arg == operand && ins.part == which) return static_cast<uint16_t>(i);
    }
    return append({loop::Op::load, part, which, static_cast<uint16_t>(operand), 0, 0, 0});
  };
  return {find(0), complex ? find(1) : uint16_t{0}, complex};
}

namespace {

class UnitEmitter {
 public:
  UnitEmitter(const Graph &graph, const Unit &unit) : graph_(graph), unit_(unit), e_(out_) {}

  Emitted run() {
    for (uint32_t i : unit_.nodes) values_.push_back(node(i));
    std::vector<LoopValue> reduced;
    for (uint32_t i : unit_.reduces) reduced.push_back(value(graph_.nodes[i].inputs[0]));
    out_.n_loads = static_cast<uint32_t>(out_.operands.size());
    for (uint32_t i : unit_.stores) store(i, value({i, 0}));
    for (size_t k = 0; k < unit_.reduces.size(); k++) reduce(unit_.reduces[k], reduced[k]);
    return std::move(out_);
  }

 private:
  LoopValue value(Edge edge) {
    const GraphNode &node = graph_.nodes[edge.node];
    const auto it = std::lower_bound(unit_.nodes.begin(), unit_.nodes.end(), edge.node);
    if (it != unit_.nodes.end() && *it == edge.node) return values_[static_cast<size_t>(it - unit_.nodes.begin())];
    if (is_constant(node)) return constant(node);
    return e_.load(edge, graph_.spec(edge).dtype);
  }

  LoopValue constant(const GraphNode &node) {
    AttrReader reader(node.attrs);
    const uint64_t bits = static_cast<uint64_t>(reader.integer()), more = static_cast<uint64_t>(reader.integer());
    const DType type = node.specs[0].dtype;
    if (!is_complex(type)) return {e_.scalar_bits(type, bits), 0, false};
    if (type == DType::complex128)
      return {e_.scalar_bits(DType::float64, bits), e_.scalar_bits(DType::float64, more), true};
    return {e_.scalar_bits(DType::float32, bits & UINT32_MAX), e_.scalar_bits(DType::float32, bits >> 32), true};
  }

  LoopValue node(uint32_t i) {
    const GraphNode &node = graph_.nodes[i];
    const DType type = node.specs[0].dtype;
    if (node.op == OpCode::constant) return constant(node);
    e_.set_reader(i);
    if (is_view(node)) return value(node.inputs[0]);  // of a row's value: another shape, the same number
    SmallVector<LoopValue, 3> in;
    for (Edge e : node.inputs) in.push_back(value(e));
    switch (node.op) {
      case OpCode::full:
      case OpCode::copy:
      case OpCode::stop_gradient:
        return in[0];
      case OpCode::to_fp8:
        return {emit_to_fp8(e_, e_.cast(DType::float32, in[0].re)), 0, false};
      case OpCode::from_fp8:
        return {emit_from_fp8(e_, type, in[0].re), 0, false};
      default:
        break;
    }
    bool complex = is_complex(type);
    for (const LoopValue &v : in) complex |= v.complex;
    if (complex) return emit_complex(e_, node.op, type, in);
    SmallVector<uint16_t, 3> real;
    for (const LoopValue &v : in) real.push_back(v.re);
    return {emit_real(e_, node.op, type, real), 0, false};
  }

  uint16_t operand(uint32_t node, DType type, int64_t offset) {
    out_.operands.push_back({node, 0});
    out_.offsets.push_back(offset);
    out_.code.operands.push_back(type);
    return static_cast<uint16_t>(out_.operands.size() - 1);
  }

  void store(uint32_t i, LoopValue v) {
    const DType type = graph_.nodes[i].specs[0].dtype;
    const uint16_t to = operand(i, type, 0);
    e_.append({loop::Op::store, type, 0, to, v.re, 0, 0});
    if (v.complex) e_.append({loop::Op::store, type, 1, to, v.im, 0, 0});
  }

  // The parts of a complex number are reduced as two real arrays that lie interleaved.
  void reduce(uint32_t i, LoopValue v) {
    const GraphNode &node = graph_.nodes[i];
    const DType type = node.specs[0].dtype;
    const DType part = part_dtype(type);
    e_.append({reduction(node.op, type), part, 0, operand(i, part, 0), logical(node.op, v), 0, 0});
    if (is_complex(type)) e_.append({reduction(node.op, type), part, 0, operand(i, part, itemsize(part)), v.im, 0, 0});
  }

  // all and any look at whether elements are zero.
  uint16_t logical(OpCode op, LoopValue v) {
    if (op != OpCode::all && op != OpCode::any) return v.re;
    const uint16_t re = e_.cast(DType::bool_, v.re);
    return v.complex ? e_.binary(loop::Op::logical_or, DType::bool_, re, e_.cast(DType::bool_, v.im)) : re;
  }

  static loop::Op reduction(OpCode op, DType type) {
    const bool is_bool = type == DType::bool_;
    switch (op) {
      case OpCode::sum:
        return is_bool ? loop::Op::reduce_any : loop::Op::reduce_sum;
      case OpCode::prod:
        return is_bool ? loop::Op::reduce_all : loop::Op::reduce_prod;
      case OpCode::min:
        return is_bool ? loop::Op::reduce_all : loop::Op::reduce_min;
      case OpCode::max:
        return is_bool ? loop::Op::reduce_any : loop::Op::reduce_max;
      case OpCode::all:
        return loop::Op::reduce_all;
      case OpCode::any:
        return loop::Op::reduce_any;
      default:
        fail(MX_ERROR_INTERNAL, "%s is not a reduction", info(op).name);
    }
  }

  const Graph &graph_;
  const Unit &unit_;
  Emitted out_;
  Emitter e_;
  std::vector<LoopValue> values_;  // of unit_.nodes
};

}  // namespace

Emitted emit(const Graph &graph, const Unit &unit) { return UnitEmitter(graph, unit).run(); }

}  // namespace mx::lower
