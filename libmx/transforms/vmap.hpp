// Mappings: a host's function runs once, on placeholders that have the shape of one lane; what it built is then built
// again for all lanes at once. The protocol of mx/vmap.h.
#pragma once
#include <memory>

#include "transforms/mapper.hpp"

namespace mx {

class Vmap final : public Object {
 public:
  static constexpr Tag tag = Tag::vmap;
  // `axes` are those of the inputs; MX_NO_AXIS: the same for all lanes.
  static Ref<Vmap> begin(std::span<const Value> inputs, std::span<const int64_t> axes);
  std::span<const Value> placeholders() const noexcept { return placeholders_; }
  // A value of the open mapping's function for all lanes, which come first.
  vmap::Mapped resolve(const Value &value);
  // What one lane has of a value, for the open mapping's function: a placeholder.
  Value extend(const Value &value, int64_t axis);
  // Ends the trace. What the function returned, with the lanes as axis `axes[i]` of output i.
  ValueVector finish(std::span<const Value> outputs, std::span<const int64_t> axes);
  // Ends the trace if it is still open. Any thread, idempotent.
  void end() noexcept;

 private:
  Vmap() : trace_(make_ref<Trace>(TraceKind::placeholders, innermost_trace())) {}
  ~Vmap() override { end(); }
  void need_open_here() const;
  Value add(const Value &value, int64_t axis, const char *what, size_t i);

  const Ref<Trace> trace_;
  std::unique_ptr<vmap::Mapper> mapper_;  // as finished_: only the thread that began the mapping looks
  bool finished_ = false;
  ValueVector placeholders_;  // never changed once begun, so any thread may look
};

}  // namespace mx
