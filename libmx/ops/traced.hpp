// Which ops must follow the shape of an array instead of keeping it.
#pragma once
#include "core/node.hpp"

namespace mx::ops {

// Whether `v` derives from a placeholder: what is built from it may be replayed on other shapes. The tracers of a
// transform have the shape that they have, unless the transform is inside such a trace.
inline bool follows_shapes(const Value &v) noexcept {
  const Trace *t = v.node->trace.get();
  while (t && t->kind == TraceKind::transform) t = t->parent.get();
  return t != nullptr;
}

}  // namespace mx::ops
