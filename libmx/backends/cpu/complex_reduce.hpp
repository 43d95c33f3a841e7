// Reductions of complex numbers that do not split into real ones: product, lexicographic minimum and maximum.
#pragma once
#include "backends/cpu/kernel.hpp"

namespace mx::cpu {

// Attributes as the reductions of ops.def: axes, keepdims.
void complex_reduce(const KernelCall &call);

}  // namespace mx::cpu
