// Memory for machine code: written first, executable afterwards, never both.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mx::loop::jit {

// An executable copy, or null: the system refuses, or all code together would exceed its bound.
const void *executable_copy(const void *code, size_t bytes) noexcept;
void discard(const void *code, size_t bytes) noexcept;
// Whether the system has refused once; it will again.
bool is_refused() noexcept;

}  // namespace mx::loop::jit
