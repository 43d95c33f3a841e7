// Transforms that differentiate: begin makes tracers, the host runs its function on them, finish turns cotangents or
// tangents into results. The protocol of mx/transform.h.
#pragma once
#include <optional>

#include "mx/transform.h"
#include "transforms/forward.hpp"

namespace mx {

class Transform final : public Object {
 public:
  static constexpr Tag tag = Tag::transform;
  static Ref<Transform> begin(std::span<const Value> primals);
  std::span<const Value> tracers() const noexcept { return tracers_; }

  // `wanted`: which primals; absent: all.
  mx_transform_state finish_vjp(std::span<const Value> outputs, std::span<const Value> cotangents,
                                const ops::Axes &wanted);
  mx_transform_state finish_jvp(std::span<const Value> outputs, std::span<const Value> tangents);
  // In the state RULE: the step that stopped, and what it is asked with. Throws otherwise.
  const Record &stopped() const;
  ValueVector asked() const;
  mx_transform_state supply(std::span<const Value> values);
  const ValueVector &results() const;  // throws unless DONE
  // Ends the transform if it is still open. Any thread, idempotent.
  void end() noexcept { trace_->abandon(); }

 private:
  Transform();
  ~Transform() override { end(); }
  void need_open(const char *what) const;
  mx_transform_state go_on();
  const Ref<TransformTrace> trace_;
  ValueVector tracers_, outputs_, results_, tangents_;
  SmallVector<size_t, 4> wanted_;
  std::optional<transforms::Reverse> reverse_;
  std::optional<transforms::Forward> forward_;
  const Record *stopped_ = nullptr;
  mx_transform_state state_ = MX_TRANSFORM_OPEN;
};

// The outputs of a custom function as values of their own, whose derivatives the host supplies; `outputs` themselves
// where no transform is open that could ask.
ValueVector make_custom(std::span<const Value> arguments, std::span<const Value> outputs, Record::Custom custom);

}  // namespace mx
