// What an op produced: a spec, and the place of the elements.
#pragma once
#include "core/op.hpp"
#include "runtime/memory.hpp"

namespace mx {

struct Output {
  Spec spec;
  Layout layout;       // once done
  Ref<Buffer> buffer;  // once done
};

// The same without the spec, which its reader knows.
struct Result {
  Layout layout;
  Ref<Buffer> buffer;  // null: not computed, because of a failure
};

}  // namespace mx
