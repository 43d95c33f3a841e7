#include "transforms/vmap.hpp"

#include <unordered_map>
#include <vector>

#include "base/status.hpp"
#include "runtime/lifecycle.hpp"
#include "transforms/vmap_rules.hpp"

namespace mx {
namespace vmap {
namespace {

// Walks from outputs down to placeholders, without recursion, and builds every node that derives from one again.
class Mapper {
 public:
  explicit Mapper(const Lanes &lanes) : lanes_(lanes) {}

  void replace(const Value &placeholder, const Mapped &by) {
    index_.emplace(placeholder.node.get(), static_cast<uint32_t>(found_.size()));
    found_.push_back({placeholder.node, {}, {by}});
  }

  Mapped run(const Value &output) {
    if (!index_.contains(output.node.get())) enter(output.node);
    while (!stack_.empty()) {
      auto &[i, next] = stack_.back();
      if (next < found_[i].inputs.size()) {
        const Ref<Node> input = found_[i].inputs[next++].node;
        if (!index_.contains(input.get())) enter(input);
        continue;
      }
      leave(found_[i]);
      stack_.pop_back();
    }
    return now(output);
  }

 private:
  struct Found {
    Ref<Node> node;
    ValueVector inputs;  // until it is left
    MappedList outputs;  // empty: derives from no placeholder, so it stays what it is
  };

  void enter(const Ref<Node> &node) {
    const auto i = static_cast<uint32_t>(found_.size());
    index_.emplace(node.get(), i);
    found_.push_back({node, node->snapshot().inputs, {}});
    stack_.emplace_back(i, size_t{0});
  }

  void leave(Found &found) {
    MappedList in;
    bool derives = false;
    for (const Value &input : found.inputs) {
      derives |= !found_[index_.at(input.node.get())].outputs.empty();
      in.push_back(now(input));
    }
    found.inputs.clear();
    if (!derives) return;
    const Node &node = *found.node;
    found.outputs = apply({node.op, node.attrs, node.stream, node.payload, in, lanes_});
  }

  Mapped now(const Value &value) const {
    const MappedList &outputs = found_[index_.at(value.node.get())].outputs;
    return outputs.empty() ? Mapped{value, -1} : outputs[value.index];
  }

  const Lanes &lanes_;
  std::unordered_map<const Node *, uint32_t> index_;
  std::vector<Found> found_;
  std::vector<std::pair<uint32_t, size_t>> stack_;
};

}  // namespace
}  // namespace vmap

Ref<Vmap> Vmap::begin(std::span<const Value> inputs, std::span<const int64_t> axes) {
  require_running();
  if (inputs.size() != axes.size())
    fail(MX_ERROR_INVALID_ARGUMENT, "vmap: %zu axes for %zu inputs", axes.size(), inputs.size());
  Ref<Vmap> map(new Vmap());
  const Value *first = nullptr;
  int64_t lanes = 0;
  for (size_t i = 0; i < inputs.size(); i++) {
    Spec spec = spec_of(inputs[i]);
    if (axes[i] == MX_NO_AXIS) {
      map->inputs_.push_back({inputs[i], -1});
      map->placeholders_.push_back(inputs[i]);
      continue;
    }
    const std::string shape = to_string(spec.shape);
    if (spec.shape.empty()) fail(MX_ERROR_AXIS, "vmap: input %zu has no axis to map over, its shape is ()", i);
    const auto axis = static_cast<size_t>(normalize_axis(axes[i], spec.shape.size(), "vmap"));
    if (!first) first = &inputs[i], lanes = spec.shape[axis];
    if (spec.shape[axis] != lanes)
      fail(MX_ERROR_SHAPE, "vmap: axis %zu of input %zu, of shape %s, has size %lld, but another mapped axis has %lld",
           axis, i, shape.c_str(), static_cast<long long>(spec.shape[axis]), static_cast<long long>(lanes));
    spec.shape.erase(axis);
    Value placeholder{make_ref<Node>(OpCode::placeholder, Attrs(), ValueVector(), std::span<const Spec>(&spec, 1),
                                     Ref<Stream>(), Ref<Object>()),
                      0};
    placeholder.node->trace = map->trace_;
    map->inputs_.push_back({inputs[i], static_cast<int64_t>(axis)});
    map->placeholders_.push_back(std::move(placeholder));
  }
  if (!first) fail(MX_ERROR_INVALID_ARGUMENT, "vmap: none of the %zu inputs is mapped", inputs.size());
  push_trace(*map->trace_);
  return map;
}

ValueVector Vmap::finish(std::span<const Value> outputs, std::span<const int64_t> axes) {
  if (outputs.size() != axes.size())
    fail(MX_ERROR_INVALID_ARGUMENT, "vmap: %zu axes for %zu outputs", axes.size(), outputs.size());
  if (!trace_->on_this_thread()) fail(MX_ERROR_WRONG_THREAD, "vmap: this mapping was begun on another thread");
  if (finished_) fail(MX_ERROR_INVALID_ARGUMENT, "vmap: this mapping is finished");
  if (!trace_->open()) fail(MX_ERROR_TRACE, "vmap: this mapping has ended");
  require_running();
  finished_ = true;
  end();
  size_t like = 0;
  while (!inputs_[like].differs()) like++;
  const vmap::Lanes lanes(inputs_[like]);
  vmap::Mapper mapper(lanes);
  for (size_t i = 0; i < inputs_.size(); i++)
    if (inputs_[i].differs()) mapper.replace(placeholders_[i], inputs_[i]);
  ValueVector results;
  for (size_t i = 0; i < outputs.size(); i++) {
    const int axis = normalize_axis(axes[i], spec_of(outputs[i]).shape.size() + 1, "vmap: an output");
    results.push_back(vmap::lanes_at(mapper.run(outputs[i]), axis, lanes, {}));
  }
  return results;
}

void Vmap::end() noexcept { pop_trace(*trace_); }

}  // namespace mx
