// Completions for a host's event loop: a queue of tokens and a descriptor that is readable while one is in it. What
// completes an event may be any thread, in any state of the process: it neither allocates nor waits.
#pragma once
#include "base/object.hpp"
#include "runtime/event.hpp"

namespace mx {

class Notifier : public Object {
 public:
  static constexpr Tag tag = Tag::notifier;
  // Throws IO, bad_alloc.
  Notifier();
  // These throw STALE in a forked child.
  int descriptor() const;
  // The token comes when the event is no longer pending; false if that is so already. Throws bad_alloc.
  bool add(Event &event, uint64_t token);
  size_t take(uint64_t *tokens, size_t cap);

 private:
  ~Notifier() override;
  void check_process(const char *function) const;
  class Box;
  Ref<Box> box_;
  const uint32_t process_;
};

}  // namespace mx
