// Which executor does a run: how the rows of a plan meet machine code, and what has to hold for it to be right.
#include "backends/cpu/loop/plan.hpp"

namespace mx::loop {
namespace {

SmallVector<jit::Meeting, 8> meetings(const Plan &plan, std::span<const bool> streamed) {
  SmallVector<jit::Meeting, 8> all;
  for (const Row &row : plan.rows) {
    if (row.what == Row::result) continue;
    const bool is_streamed = !streamed.empty() && streamed[all.size()];
    all.push_back(row.access == Access::constant                           ? jit::Meeting::constant
                  : row.access == Access::staged && row.what == Row::index ? jit::Meeting::packed
                  : is_streamed                                            ? jit::Meeting::streamed
                                                                           : jit::Meeting::moving);
  }
  return all;
}

// Machine code takes the bounds of minimum and maximum for numbers.
bool has_nan_bound(const Kernel &kernel, std::span<const uint64_t> scalars) noexcept {
  for (uint16_t bound : kernel.bounds) {
    const bool is_double = kernel.scalars[bound].type == DType::float64;
    const uint64_t magnitude = scalars[bound] & (is_double ? ~uint64_t{0} >> 1 : 0x7fffffff);
    if (magnitude > (is_double ? uint64_t{0x7ff} << 52 : 0x7f800000)) return true;
  }
  return false;
}

}  // namespace

void prepare_choice(Plan &plan) {
  plan.meetings = meetings(plan, {});
  plan.vm_ns = static_cast<double>(estimate_ns(plan.kernel, plan.outer * plan.middle * plan.inner));
}

jit::Function function_for(const Plan &plan, std::span<const uint64_t> scalars, std::span<const bool> streamed) {
  if (has_nan_bound(plan.kernel, scalars)) return nullptr;
  if (streamed.empty()) return plan.kernel.jitted.choose(plan.kernel, plan.meetings, plan.vm_ns);
  const auto rows = meetings(plan, streamed);
  return plan.kernel.jitted.choose(plan.kernel, rows, plan.vm_ns);
}

const char *executor(const Prepared &prepared) {
  const Plan &plan = prepared.plan;
  const bool is_jit = prepared.kernel->jitted.would_choose(*prepared.kernel, plan.meetings, plan.vm_ns);
  return is_jit ? "jit" : "vm";
}

}  // namespace mx::loop
