// Running the passes of a step tile by tile. A tile is one thread's; tiles run on several.
#pragma once
#include "lower/program.hpp"

namespace mx::lower {

// `operands` holds the addresses of the operands of the first tile, pass by pass; null for those in scratch memory.
// Throws what kernels throw, bad_alloc, CANCELLED.
void run_rows(Backend &backend, const Step &step, std::span<char *const> operands);

}  // namespace mx::lower
