// Chooses the level's table of row kernels. Compiled once, for the baseline.
#include "backends/cpu/isa_level.hpp"
#include "backends/cpu/rows/rows.hpp"

namespace mx::cpu::rows {
#if defined(__x86_64__)

extern "C" const Table rows_v2, rows_v3, rows_v4;

const Table &table() noexcept { return at_level(rows_v2, rows_v3, rows_v4); }

#else

extern "C" const Table rows_base;

const Table &table() noexcept { return rows_base; }

#endif
}  // namespace mx::cpu::rows
