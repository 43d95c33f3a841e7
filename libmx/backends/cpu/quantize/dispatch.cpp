// Chooses the level's table of kernels on packed codes. Compiled once, for the baseline.
#include "backends/cpu/isa_level.hpp"
#include "backends/cpu/quantize/level.hpp"

namespace mx::cpu::packed {
#if defined(__x86_64__)

extern "C" const Table quantize_v2, quantize_v3, quantize_v4;

const Table &table() noexcept { return at_level(quantize_v2, quantize_v3, quantize_v4); }

#else

extern "C" const Table quantize_base;

const Table &table() noexcept { return quantize_base; }

#endif
}  // namespace mx::cpu::packed
