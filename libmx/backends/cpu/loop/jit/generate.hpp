// Machine code for a kernel whose rows are met in a given way.
#pragma once
#include <vector>

#include "backends/cpu/loop/jit/versions.hpp"

namespace mx::loop::jit {

// Position-independent; empty if only the VM can do the kernel: an instruction without machine code, too much code, a
// CPU below AVX2, a build without Xbyak.
std::vector<uint8_t> generate(const Kernel &kernel, const std::vector<Meeting> &rows);

}  // namespace mx::loop::jit
