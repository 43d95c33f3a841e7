// Chooses the level's table of sorting kernels. Compiled once, for the baseline.
#include "backends/cpu/isa_level.hpp"
#include "backends/cpu/sorting/table.hpp"

namespace mx::cpu::sorting {
#if defined(__x86_64__)

extern "C" const Table sorting_v3, sorting_v4;

// Below v3 no instruction permutes the lanes of a vector by a table.
const Table *table() noexcept {
  return isa_level() == IsaLevel::v4 ? &sorting_v4 : isa_level() == IsaLevel::v3 ? &sorting_v3 : nullptr;
}

#else

const Table *table() noexcept { return nullptr; }

#endif
}  // namespace mx::cpu::sorting
