#include "transforms/forward.hpp"

namespace mx::transforms {
namespace {

// A trace of its own while a rule runs on cotangents that stand for any.
class Local {
 public:
  Local() : trace_(make_ref<TransformTrace>(Ref<Trace>())) { push_trace(*trace_); }
  ~Local() { trace_->abandon(); }
  Local(const Local &) = delete;
  // Zeros, because rules may look at a cotangent's shape, which what they build then refers to.
  Value cotangent(const Value &output) {
    Value v = ops::copy(ops::zeros_like(output, spec_of(output).dtype, output.node->stream), output.node->stream);
    v.node->trace = trace_;
    return v;
  }
  Records finish() { return trace_->finish(); }

 private:
  const Ref<TransformTrace> trace_;
};

// Ops that are linear in input 0 and have no other that has a derivative: the tangent goes through the op itself.
bool is_linear(OpCode op) noexcept {
  switch (op) {
    case OpCode::negative:
    case OpCode::conjugate:
    case OpCode::real:
    case OpCode::imag:
    case OpCode::full:
    case OpCode::copy:
    case OpCode::sum:
    case OpCode::roll:
    case OpCode::gather:
    case OpCode::gather_axis:
    case OpCode::dynamic_slice:
      return true;
    default:
      return info(op).kind == OpKind::view && op != OpCode::view_dtype;
  }
}

}  // namespace

Forward::Forward(Records records, Values sources, Values tangents) : records_(std::move(records)) {
  for (size_t i = 0; i < sources.size(); i++)
    if (spec_of(sources[i]).dtype != DType::bool_)
      put(sources[i], ops::astype(tangents[i], spec_of(sources[i]).dtype, sources[i].node->stream));
}

const Value *Forward::find(const Value &v) const noexcept {
  const auto it = tangents_.find(v.node.get());
  return it == tangents_.end() || !it->second[v.index].node ? nullptr : &it->second[v.index];
}

void Forward::put(const Value &v, Value tangent) {
  if (!tangent.node) return;
  auto &all = tangents_[v.node.get()];
  all.resize(v.node->n_outputs);
  all[v.index] = std::move(tangent);
}

bool Forward::reached(const Record &record, const Through &path) const noexcept {
  for (size_t i = path.first; i < path.last; i++)
    if (find(record.inputs[i])) return true;
  return false;
}

const Record *Forward::run() {
  for (; next_ < records_.size(); next_++) {
    const Record &record = *records_[next_];
    if (!reached(record, through(record, record.custom.has_jvp))) continue;
    if (record.custom.has_jvp) return &record;
    apply(record);
  }
  return nullptr;
}

void Forward::apply(const Record &record) {
  if (record.custom.any()) {
    const Through path = through(record, false);
    for (size_t i = path.first; i < path.last; i++)
      if (const Value *t = find(record.inputs[i])) put(record.outputs[i - path.first], *t);
    return;
  }
  const Node &node = *record.outputs[0].node;
  if (is_constant(node.op)) return;
  if (is_linear(node.op) && find(record.inputs[0])) {
    ValueVector inputs = record.inputs;
    inputs[0] = *find(record.inputs[0]);
    if (node.op == OpCode::depends) inputs.resize(1);
    return put(record.outputs[0], make(node.op, node.attrs, std::move(inputs), node.stream, node.payload));
  }
  const Rule rule = rule_of(node.op);
  if (!rule) fail(MX_ERROR_UNSUPPORTED, "jvp: %s has no derivative", info(node.op).name);
  Local local;
  ValueVector cotangents;
  SmallVector<Interest, 8> interests;
  for (const Value &output : record.outputs) cotangents.push_back(local.cotangent(output));
  for (const Value &input : record.inputs) interests.push_back({find(input) != nullptr, find(input) != nullptr});
  Step step(record, cotangents, interests);
  rule(step);
  Reverse transposed(local.finish(), cotangents);
  for (size_t i = 0; i < record.inputs.size(); i++)
    if (step.given(i).node) transposed.seed(step.given(i), *find(record.inputs[i]));
  transposed.run();
  for (size_t k = 0; k < cotangents.size(); k++) put(record.outputs[k], transposed.gradient(cotangents[k]));
}

ValueVector Forward::asked() const {
  const Record &record = *records_[next_];
  ValueVector tangents;
  for (size_t i = 0; i < through(record, true).last; i++) {
    const Value *t = find(record.inputs[i]);
    tangents.push_back(t ? *t : Value());
  }
  return tangents;
}

void Forward::supply(Values tangents) {
  const Record &record = *records_[next_];
  if (tangents.size() != record.outputs.size())
    fail(MX_ERROR_INVALID_ARGUMENT, "transform_supply: %zu tangents for %zu outputs of the custom function",
         tangents.size(), record.outputs.size());
  for (size_t i = 0; i < tangents.size(); i++)
    if (spec_of(tangents[i]).shape != spec_of(record.outputs[i]).shape)
      fail(MX_ERROR_SHAPE, "transform_supply: a tangent of shape %s for an output of shape %s",
           to_string(spec_of(tangents[i]).shape).c_str(), to_string(spec_of(record.outputs[i]).shape).c_str());
  for (size_t i = 0; i < tangents.size(); i++) {
    const Value &y = record.outputs[i];
    put(y, ops::astype(tangents[i], spec_of(y).dtype, y.node->stream));
  }
  next_++;
}

Value Forward::tangent(const Value &output) const {
  const Value *t = find(output);
  return t ? *t : Value();
}

}  // namespace mx::transforms
