// Builds without Xbyak: the VM does everything.
#include "backends/cpu/loop/jit/generate.hpp"

namespace mx::loop::jit {

std::vector<uint8_t> generate(const Kernel &, const std::vector<Meeting> &) { return {}; }

}  // namespace mx::loop::jit
