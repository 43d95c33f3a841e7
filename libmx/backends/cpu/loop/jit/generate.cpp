// See generate.hpp.
#include "backends/cpu/loop/jit/generate.hpp"

#include "backends/cpu/loop/jit/assembler.hpp"

namespace mx::loop::jit {
namespace {

constexpr size_t max_bytes = 48 * 1024;  // more would not stay in the first level cache of instructions

}  // namespace

std::vector<uint8_t> generate(const Kernel &kernel, const std::vector<Meeting> &rows) try {
  if (kernel.micro_ops->level->vector_bytes < 32) return {};
  const VectorCode code = lower(kernel, rows);
  const Layout layout(code);
  std::vector<uint8_t> memory(max_bytes);
  Assembler assembler(code, layout, memory.data(), memory.size());
  memory.resize(assembler.assemble());
  return memory;
} catch (const Unsupported &) {
  return {};
} catch (const Xbyak::Error &) {  // too long
  return {};
}

}  // namespace mx::loop::jit
