#include "transforms/mapper.hpp"

#include "transforms/vmap_rules.hpp"

namespace mx::vmap {

void Mapper::replace(const Value &placeholder, Mapped by) {
  found_.push_back({placeholder.node, {}, {std::move(by)}});
  index_.emplace(placeholder.node.get(), static_cast<uint32_t>(found_.size() - 1));
}

Mapped Mapper::map(const Value &value) {
  for (const auto &[i, next] : stack_) index_.erase(found_[i].node.get());  // of a walk that failed
  stack_.clear();
  if (!index_.contains(value.node.get())) enter(value.node);
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
  return now(value);
}

void Mapper::enter(const Ref<Node> &node) {
  const auto i = static_cast<uint32_t>(found_.size());
  found_.push_back({node, node->snapshot().inputs, {}});
  stack_.emplace_back(i, size_t{0});
  index_.emplace(node.get(), i);
}

void Mapper::leave(Found &found) {
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

Mapped Mapper::now(const Value &value) const {
  const MappedList &outputs = found_[index_.at(value.node.get())].outputs;
  return outputs.empty() ? Mapped{value, -1} : outputs[value.index];
}

}  // namespace mx::vmap
