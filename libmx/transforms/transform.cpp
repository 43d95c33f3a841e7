#include "transforms/transform.hpp"

#include "base/status.hpp"
#include "ops/create.hpp"
#include "ops/unary.hpp"
#include "runtime/lifecycle.hpp"
#include "transforms/composed.hpp"

namespace mx {
namespace {

using ops::Values;

void need_same_shape(const Value &x, const Value &other, const char *op, const char *names) {
  if (spec_of(x).shape != spec_of(other).shape)
    fail(MX_ERROR_SHAPE, "%s: %s have shapes %s and %s", op, names, to_string(spec_of(x).shape).c_str(),
         to_string(spec_of(other).shape).c_str());
}

bool takes_cotangent(const Value &output) noexcept { return output.node->op != OpCode::stop_gradient; }

}  // namespace

Transform::Transform() : trace_(make_ref<TransformTrace>(innermost_trace())) {}

Ref<Transform> Transform::begin(Values primals) {
  require_running();
  Ref<Transform> transform(new Transform());
  for (const Value &primal : primals) transform->tracers_.push_back(alias_of(primal));
  push_trace(*transform->trace_);
  for (const Value &tracer : transform->tracers_) tracer.node->trace = transform->trace_;
  return transform;
}

void Transform::need_open(const char *what) const {
  if (!trace_->on_this_thread()) fail(MX_ERROR_WRONG_THREAD, "%s: the transform was begun on another thread", what);
  if (state_ != MX_TRANSFORM_OPEN || !trace_->open()) fail(MX_ERROR_TRACE, "%s: the transform has ended", what);
  require_running();
}

mx_transform_state Transform::finish_vjp(Values outputs, Values cotangents, const ops::Axes &wanted) {
  need_open("vjp");
  SmallVector<std::pair<size_t, size_t>, 4> pairs;
  for (size_t i = 0, next = 0; i < outputs.size(); i++) {
    if (cotangents.size() != outputs.size() && !takes_cotangent(outputs[i])) continue;
    if (next == cotangents.size())
      fail(MX_ERROR_INVALID_ARGUMENT, "vjp: %zu outputs, but %zu cotangents", outputs.size(), cotangents.size());
    need_same_shape(outputs[i], cotangents[next], "vjp", "an output and its cotangent");
    pairs.push_back({i, next++});
  }
  if (pairs.size() != cotangents.size())
    fail(MX_ERROR_INVALID_ARGUMENT, "vjp: %zu outputs, but %zu cotangents", outputs.size(), cotangents.size());
  const Dims all = ops::iota(tracers_.size());
  SmallVector<size_t, 4> places;
  for (int64_t i : wanted ? *wanted : ops::List(all)) {
    if (i < 0 || i >= static_cast<int64_t>(tracers_.size()))
      fail(MX_ERROR_INDEX, "vjp: there is no primal %lld among %zu", static_cast<long long>(i), tracers_.size());
    places.push_back(static_cast<size_t>(i));
  }
  transforms::Records records = trace_->finish();
  ValueVector sources;
  for (size_t i : places) sources.push_back(tracers_[i]);
  wanted_ = std::move(places);
  reverse_.emplace(std::move(records), sources);
  for (const auto &[output, cotangent] : pairs) reverse_->seed(outputs[output], cotangents[cotangent]);
  return go_on();
}

mx_transform_state Transform::finish_jvp(Values outputs, Values tangents) {
  need_open("jvp");
  if (tangents.size() != tracers_.size())
    fail(MX_ERROR_INVALID_ARGUMENT, "jvp: %zu primals, but %zu tangents", tracers_.size(), tangents.size());
  for (size_t i = 0; i < tangents.size(); i++)
    need_same_shape(tracers_[i], tangents[i], "jvp", "a primal and its tangent");
  transforms::Records records = trace_->finish();
  outputs_ = {outputs.begin(), outputs.end()};
  tangents_ = {tangents.begin(), tangents.end()};
  forward_.emplace(std::move(records), tracers_, tangents);
  return go_on();
}

mx_transform_state Transform::go_on() {
  state_ = MX_TRANSFORM_FAILED;  // until all is well
  stopped_ = reverse_ ? reverse_->run() : forward_->run();
  if (stopped_) return state_ = MX_TRANSFORM_RULE;
  if (reverse_) {
    for (size_t i : wanted_) {
      const Value &tracer = tracers_[i];
      Value gradient = reverse_->gradient(tracer);
      results_.push_back(gradient.node ? std::move(gradient) : ops::zeros_like(tracer, spec_of(tracer).dtype));
    }
  } else {
    const DType d = tangents_.empty() ? DType::float32 : ops::joint_dtype(tangents_);
    for (const Value &output : outputs_) {
      Value tangent = forward_->tangent(output);
      const DType own = spec_of(output).dtype;  // nothing can be computed with a tangent of bool
      results_.push_back(tangent.node ? std::move(tangent) : ops::zeros_like(output, own == DType::bool_ ? d : own));
    }
  }
  reverse_.reset();
  forward_.reset();
  tracers_.clear();
  outputs_.clear();
  tangents_.clear();
  return state_ = MX_TRANSFORM_DONE;
}

const Record &Transform::stopped() const {
  if (state_ != MX_TRANSFORM_RULE)
    fail(MX_ERROR_INVALID_ARGUMENT, "transform_rule: the transform does not wait for a rule");
  return *stopped_;
}

ValueVector Transform::asked() const {
  stopped();
  return reverse_ ? reverse_->asked() : forward_->asked();
}

mx_transform_state Transform::supply(Values values) {
  stopped();
  if (!trace_->on_this_thread())
    fail(MX_ERROR_WRONG_THREAD, "transform_supply: the transform was begun on another thread");
  require_running();
  reverse_ ? reverse_->supply(values) : forward_->supply(values);
  return go_on();
}

const ValueVector &Transform::results() const {
  if (state_ != MX_TRANSFORM_DONE)
    fail(MX_ERROR_INVALID_ARGUMENT, "transform_results: the transform has not been finished");
  return results_;
}

ValueVector make_custom(Values arguments, Values outputs, Record::Custom custom) {
  ValueVector inputs(arguments.begin(), arguments.end());
  for (const Value &output : outputs) inputs.push_back(output);
  Trace *trace = trace_of(inputs);
  if (!custom.any() || !trace || trace->kind != TraceKind::transform || !trace->on_this_thread())
    return {outputs.begin(), outputs.end()};
  // The aliases are made outside the tape, on which they appear as one step.
  auto &tape = static_cast<TransformTrace &>(*trace);
  ValueVector made;
  for (const Value &output : outputs) {
    const Spec specs[] = {spec_of(output)};
    Value alias{make_ref<Node>(OpCode::depends, Attrs(), ValueVector{output}, specs, Ref<Stream>(), Ref<Object>()), 0};
    alias.node->trace = Ref<Trace>::share(*trace);
    made.push_back(std::move(alias));
  }
  auto record = make_ref<Record>(std::move(inputs), made);
  record->custom = custom;
  tape.record(std::move(record));
  return made;
}

}  // namespace mx
