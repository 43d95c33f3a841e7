#include "transforms/vmap.hpp"

#include "base/status.hpp"
#include "runtime/lifecycle.hpp"

namespace mx {

Value Vmap::add(const Value &value, int64_t axis, const char *what, size_t i) {
  if (axis == MX_NO_AXIS) return value;
  Spec spec = spec_of(value);
  const std::string shape = to_string(spec.shape);
  if (spec.shape.empty()) fail(MX_ERROR_AXIS, "vmap: %s %zu has no axis to map over, its shape is ()", what, i);
  const auto at = static_cast<size_t>(normalize_axis(axis, spec.shape.size(), "vmap"));
  if (!mapper_) mapper_ = std::make_unique<vmap::Mapper>(vmap::Mapped{value, static_cast<int64_t>(at)});
  const int64_t lanes = mapper_->lanes().count();
  if (spec.shape[at] != lanes)
    fail(MX_ERROR_SHAPE, "vmap: axis %zu of %s %zu, of shape %s, has size %lld, but another mapped axis has %lld", at,
         what, i, shape.c_str(), static_cast<long long>(spec.shape[at]), static_cast<long long>(lanes));
  spec.shape.erase(at);
  Value placeholder{make_ref<Node>(OpCode::placeholder, Attrs(), ValueVector(), std::span<const Spec>(&spec, 1),
                                   Ref<Stream>(), Ref<Object>()),
                    0};
  placeholder.node->trace = trace_;
  mapper_->replace(placeholder, {value, static_cast<int64_t>(at)});
  return placeholder;
}

Ref<Vmap> Vmap::begin(std::span<const Value> inputs, std::span<const int64_t> axes) {
  require_running();
  if (inputs.size() != axes.size())
    fail(MX_ERROR_INVALID_ARGUMENT, "vmap: %zu axes for %zu inputs", axes.size(), inputs.size());
  Ref<Vmap> map(new Vmap());
  for (size_t i = 0; i < inputs.size(); i++) map->placeholders_.push_back(map->add(inputs[i], axes[i], "input", i));
  if (!map->mapper_) fail(MX_ERROR_INVALID_ARGUMENT, "vmap: none of the %zu inputs is mapped", inputs.size());
  push_trace(*map->trace_);
  return map;
}

void Vmap::need_open_here() const {
  if (!trace_->on_this_thread()) fail(MX_ERROR_WRONG_THREAD, "vmap: this mapping was begun on another thread");
  if (finished_) fail(MX_ERROR_INVALID_ARGUMENT, "vmap: this mapping is finished");
  if (!trace_->open()) fail(MX_ERROR_TRACE, "vmap: this mapping has ended");
  require_running();
}

vmap::Mapped Vmap::resolve(const Value &value) {
  need_open_here();
  vmap::Mapped mapped = mapper_->map(value);
  if (mapped.differs()) mapped = {vmap::lanes_first(mapped, {}), 0};
  return mapped;
}

Value Vmap::extend(const Value &value, int64_t axis) {
  need_open_here();
  return add(value, axis, "value", 0);
}

ValueVector Vmap::finish(std::span<const Value> outputs, std::span<const int64_t> axes) {
  if (outputs.size() != axes.size())
    fail(MX_ERROR_INVALID_ARGUMENT, "vmap: %zu axes for %zu outputs", axes.size(), outputs.size());
  need_open_here();
  finished_ = true;
  end();
  ValueVector results;
  for (size_t i = 0; i < outputs.size(); i++) {
    const int axis = normalize_axis(axes[i], spec_of(outputs[i]).shape.size() + 1, "vmap: an output");
    results.push_back(vmap::lanes_at(mapper_->map(outputs[i]), axis, mapper_->lanes(), {}));
  }
  mapper_.reset();
  return results;
}

void Vmap::end() noexcept { pop_trace(*trace_); }

}  // namespace mx
