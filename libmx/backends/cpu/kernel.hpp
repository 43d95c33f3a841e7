// The library kernels of the CPU.
#pragma once
#include "backends/kernel.hpp"

namespace mx::cpu {

const KernelInfo &kernel_for(OpCode op) noexcept;

}  // namespace mx::cpu
