// A pin: memory that is being read from outside. It owns the buffer, not the array, so the array may be assigned to.
#pragma once
#include "core/output.hpp"

namespace mx {

class Pin final : public Object {
 public:
  static constexpr Tag tag = Tag::pin;
  explicit Pin(Output output) noexcept : output_(std::move(output)) { output_.buffer->pin(); }
  const Output &output() const noexcept { return output_; }
  const char *data() const noexcept { return reinterpret_cast<char *>(output_.buffer->data()) + output_.layout.offset; }

 private:
  ~Pin() override { output_.buffer->unpin(); }
  Output output_;
};

}  // namespace mx
