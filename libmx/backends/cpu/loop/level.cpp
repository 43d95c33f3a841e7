// Chooses the instruction set level and turns its lists of micro-ops into a table.
#include <type_traits>

#include "backends/cpu/isa_level.hpp"
#include "backends/cpu/loop/kernel.hpp"
#include "runtime/once.hpp"

#if defined(__x86_64__)
extern "C" const mx::loop::Level loop_v2, loop_v3, loop_v4;
#else
extern "C" const mx::loop::Level loop_base;
#endif

namespace mx::loop {
namespace {

// In static memory: choosing cannot fail, and no destructor ends it while workers still run kernels at exit.
template <const Level &level>
const MicroOps &table_of() noexcept {
  static constinit MicroOps table{};
  static constinit Once filled;
  filled([] {
    table.level = &level;
    for (uint32_t i = 0; i < level.n_parts; i++)
      for (uint32_t k = 0; k < level.parts[i]->n; k++) {
        const Entry &entry = level.parts[i]->entries[k];
        table.steps[entry.micro][entry.kind][entry.form] = entry.fn;
      }
  });
  return table;
}

static_assert(std::is_trivially_destructible_v<MicroOps>);

}  // namespace

const MicroOps &micro_ops() noexcept {
#if defined(__x86_64__)
  switch (cpu::isa_level()) {
    case cpu::IsaLevel::v4:
      return table_of<loop_v4>();
    case cpu::IsaLevel::v3:
      return table_of<loop_v3>();
    default:
      return table_of<loop_v2>();
  }
#else
  return table_of<loop_base>();
#endif
}

std::vector<const MicroOps *> all_micro_ops() {
#if defined(__x86_64__)
  std::vector<const MicroOps *> all{&table_of<loop_v2>()};
  if (cpu::cpu_has_v3()) all.push_back(&table_of<loop_v3>());
  if (cpu::cpu_has_v4()) all.push_back(&table_of<loop_v4>());
  return all;
#else
  return {&micro_ops()};
#endif
}

}  // namespace mx::loop
