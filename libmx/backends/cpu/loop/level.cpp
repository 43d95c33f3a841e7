// Chooses the instruction set level and turns its lists of micro-ops into a table.
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "backends/cpu/isa_level.hpp"
#include "backends/cpu/loop/kernel.hpp"

#if defined(__x86_64__)
extern "C" const mx::loop::Level loop_v2, loop_v3, loop_v4;
#else
extern "C" const mx::loop::Level loop_base;
#endif

namespace mx::loop {
namespace {

// In static memory: choosing cannot fail, and no destructor ends it while workers still run kernels at exit.
MicroOps make(const Level &level) noexcept {
  MicroOps made{&level, {}};
  for (uint32_t i = 0; i < level.n_parts; i++)
    for (uint32_t k = 0; k < level.parts[i]->n; k++) {
      const Entry &entry = level.parts[i]->entries[k];
      made.steps[entry.micro][entry.kind][entry.form] = entry.fn;
    }
  return made;
}

#if defined(__x86_64__)
const MicroOps &at_v2() noexcept {
  static const MicroOps made = make(loop_v2);
  return made;
}
const MicroOps &at_v3() noexcept {
  static const MicroOps made = make(loop_v3);
  return made;
}
const MicroOps &at_v4() noexcept {
  static const MicroOps made = make(loop_v4);
  return made;
}
const MicroOps &choose() noexcept {
  const char *cap = std::getenv("MX_ISA");
  const auto allowed = [cap](const char *name) { return !cap || !*cap || std::strcmp(name, cap) <= 0; };
  if (allowed("v4") && cpu::cpu_has_v4()) return at_v4();
  if (allowed("v3") && cpu::cpu_has_v3()) return at_v3();
  return at_v2();
}
#else
const MicroOps &choose() noexcept {
  static const MicroOps made = make(loop_base);
  return made;
}
#endif

static_assert(std::is_trivially_destructible_v<MicroOps>);

}  // namespace

const MicroOps &micro_ops() noexcept {
  static const MicroOps &chosen = choose();
  return chosen;
}

std::vector<const MicroOps *> all_micro_ops() {
#if defined(__x86_64__)
  std::vector<const MicroOps *> all{&at_v2()};
  if (cpu::cpu_has_v3()) all.push_back(&at_v3());
  if (cpu::cpu_has_v4()) all.push_back(&at_v4());
  return all;
#else
  return {&micro_ops()};
#endif
}

}  // namespace mx::loop
