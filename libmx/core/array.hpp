// What handles of arrays stand for: values. A slot of the handle table holds the value itself, so an array needs no
// object of its own; only handles that share one array (mx_array_dup) refer to a common one.
#pragma once
#include "core/handle.hpp"
#include "core/node.hpp"

namespace mx {

uint64_t open_array(Value value);                 // throws bad_alloc
Value array_at(uint64_t handle);                  // throws MX_ERROR_HANDLE, as do the others
void assign_array(uint64_t handle, Value value);  // atomically; seen through all handles that share the array
uint64_t share_array(uint64_t handle);            // a second handle of the same array; throws bad_alloc
void close_array(uint64_t handle);                // 0 is fine

}  // namespace mx
