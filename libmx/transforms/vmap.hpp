// Mappings: a host's function runs once, on placeholders that have the shape of one lane; what it built is then built
// again for all lanes at once. The protocol of mx/vmap.h.
#pragma once
#include "core/node.hpp"
#include "transforms/mapped.hpp"

namespace mx {

class Vmap final : public Object {
 public:
  static constexpr Tag tag = Tag::vmap;
  // `axes` are those of the inputs; MX_NO_AXIS: the same for all lanes.
  static Ref<Vmap> begin(std::span<const Value> inputs, std::span<const int64_t> axes);
  std::span<const Value> placeholders() const noexcept { return placeholders_; }
  // Ends the trace. What the function returned, with the lanes as axis `axes[i]` of output i.
  ValueVector finish(std::span<const Value> outputs, std::span<const int64_t> axes);
  // Ends the trace if it is still open. Any thread, idempotent.
  void end() noexcept;

 private:
  Vmap() : trace_(make_ref<Trace>()) {}
  ~Vmap() override { end(); }
  const Ref<Trace> trace_;
  SmallVector<vmap::Mapped, 4> inputs_;  // as placeholders_: never changed once begun, so any thread may look
  ValueVector placeholders_;
  bool finished_ = false;  // only the thread that began it looks
};

}  // namespace mx
