// The memory of Eigen's matrices.
#pragma once
#include <cstddef>

namespace mx::cpu {

// Aligned to 64 bytes. For use by one thread between the two, and ready for what Eigen 3.4 does when memory runs out: a
// matrix that is resized frees its old memory before it asks for new, and a solver that is made anew in place is
// destroyed before; when the exception passes, both are destroyed once more. What a thread has freed and not been given
// again, it does not free again.
void *linalg_malloc(size_t bytes) noexcept;
void linalg_free(void *memory) noexcept;

}  // namespace mx::cpu
