// Matrix products as library kernels: see matmul.cpp.
#pragma once
#include "backends/cpu/kernel.hpp"

namespace mx::cpu {

void matmul(const KernelCall &call);
void addmm(const KernelCall &call);

}  // namespace mx::cpu
