#include "transforms/reverse.hpp"

namespace mx::transforms {
namespace {

bool takes_indices(OpCode op) noexcept {
  switch (op) {
    case OpCode::gather:
    case OpCode::gather_axis:
    case OpCode::scatter:
    case OpCode::scatter_axis:
    case OpCode::dynamic_slice:
    case OpCode::dynamic_slice_update:
      return true;
    default:
      return false;
  }
}

}  // namespace

Through through(const Record &record, bool has_rule) noexcept {
  const size_t n = record.inputs.size();
  if (!record.custom.any()) return {0, n};
  const size_t n_arguments = n - record.outputs.size();
  return has_rule ? Through{0, n_arguments} : Through{n_arguments, n};
}

Reverse::Reverse(Records records, Values sources) : records_(std::move(records)) {
  for (const Value &source : sources) {
    add_slots(source);
    slot(source)->depends = spec_of(source).dtype != DType::bool_;
    slot(source)->derives = true;
  }
  for (const Ref<Record> &record : records_) mark(*record);
}

// What of the sources the outputs of a step have. Truth values and sizes carry nothing on.
void Reverse::mark(const Record &record) {
  const OpCode op = record.outputs[0].node->op;
  const bool is_custom = record.custom.any();
  if (!is_custom && (op == OpCode::stop_gradient || op == OpCode::number_of_elements)) return;
  const Through path = through(record, record.custom.has_vjp);
  bool depends_on = false, derives = false;
  for (size_t i = path.first; i < path.last; i++) {
    const Slot *s = slot(record.inputs[i]);
    depends_on |= s && s->depends;
    derives |= s && s->derives;
  }
  if (!derives) return;
  depends_on &= is_custom || !is_constant(op);
  depends_on |= !is_custom && takes_indices(op);  // so that its rule can refuse
  for (const Value &output : record.outputs) {
    if (spec_of(output).dtype == DType::bool_) continue;
    add_slots(output);
    slot(output)->derives = true;
    slot(output)->depends |= depends_on;
  }
}

Reverse::Slot *Reverse::slot(const Value &v) noexcept {
  const auto it = first_slot_.find(v.node.get());
  return it == first_slot_.end() ? nullptr : &slots_[it->second + v.index];
}

void Reverse::add_slots(const Value &v) {
  if (!first_slot_.try_emplace(v.node.get(), static_cast<uint32_t>(slots_.size())).second) return;
  slots_.resize(slots_.size() + v.node->n_outputs);
}

bool Reverse::depends(const Value &v) const noexcept {
  const Slot *s = slot(v);
  return s && s->depends;
}

void Reverse::add(const Value &v, Value gradient, const Ref<Stream> &s) {
  Slot *place = slot(v);
  if (!place || !place->depends || !gradient.node) return;
  place->cotangent = place->cotangent.node ? ops::add(place->cotangent, std::move(gradient), s) : std::move(gradient);
}

void Reverse::seed(const Value &output, const Value &cotangent) {
  const Ref<Stream> &s = output.node->stream;
  add(output, ops::astype(cotangent, spec_of(output).dtype, s), s);
}

bool Reverse::reached(const Record &record) const noexcept {
  for (const Value &output : record.outputs) {
    const Slot *s = slot(output);
    if (s && s->cotangent.node) return true;
  }
  return false;
}

const Record *Reverse::run() {
  for (; !records_.empty(); records_.pop_back()) {
    const Record &record = *records_.back();
    if (!reached(record)) continue;
    if (record.custom.has_vjp) return &record;
    apply(record);
  }
  return nullptr;
}

void Reverse::apply(const Record &record) {
  if (record.custom.any()) {  // without a rule for this direction: its outputs are those of its body
    const Through path = through(record, false);
    for (size_t i = path.first; i < path.last; i++) {
      Slot *out = slot(record.outputs[i - path.first]);
      if (out) add(record.inputs[i], std::move(out->cotangent), record.inputs[i].node->stream);
    }
    return;
  }
  ValueVector cotangents;
  for (const Value &output : record.outputs) {
    Slot *s = slot(output);
    cotangents.push_back(s ? std::move(s->cotangent) : Value());
  }
  SmallVector<Interest, 8> interests;
  for (const Value &input : record.inputs) {
    const Slot *s = slot(input);
    interests.push_back({s && s->depends, s && s->derives});
  }
  Step step(record, cotangents, interests);
  const Rule rule = rule_of(step.op);
  if (!rule) fail(MX_ERROR_UNSUPPORTED, "vjp: %s has no derivative", info(step.op).name);
  rule(step);
  for (size_t i = 0; i < record.inputs.size(); i++) add(record.inputs[i], step.given(i), step.stream);
}

ValueVector Reverse::asked() const {
  ValueVector cotangents;
  for (const Value &output : records_.back()->outputs) {
    const Slot *s = slot(output);
    cotangents.push_back(s && s->cotangent.node ? s->cotangent
                                                : ops::zeros_like(output, spec_of(output).dtype, output.node->stream));
  }
  return cotangents;
}

void Reverse::supply(Values gradients) {
  const Record &record = *records_.back();
  const Through path = through(record, true);
  if (gradients.size() != path.last)
    fail(MX_ERROR_INVALID_ARGUMENT, "transform_supply: %zu gradients for %zu arguments of the custom function",
         gradients.size(), path.last);
  for (size_t i = 0; i < path.last; i++) {
    const Spec &spec = spec_of(record.inputs[i]);
    if (spec_of(gradients[i]).shape != spec.shape)
      fail(MX_ERROR_SHAPE, "transform_supply: a gradient of shape %s for an argument of shape %s",
           to_string(spec_of(gradients[i]).shape).c_str(), to_string(spec.shape).c_str());
  }
  for (size_t i = 0; i < path.last; i++) {
    const Value &x = record.inputs[i];
    add(x, ops::astype(gradients[i], spec_of(x).dtype, x.node->stream), x.node->stream);
  }
  records_.pop_back();
}

Value Reverse::gradient(const Value &source) const {
  const Slot *s = slot(source);
  return s ? s->cotangent : Value();
}

}  // namespace mx::transforms
