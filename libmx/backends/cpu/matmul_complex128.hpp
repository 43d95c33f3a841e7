// Products of complex128 matrices: rare, so they have a plain loop and no kernels per level.
#pragma once
#include "backends/cpu/matmul_driver.hpp"

namespace mx::cpu {

// out = alpha a b + beta c on this thread. Every element is one chain of additions in the order of k.
void multiply_complex128(const Product &p);

}  // namespace mx::cpu
