// The table of library kernels, filled from ops.def: an op of kind `library` without a function does not link.
#include "backends/cpu/kernels.hpp"

#include <array>

#include "backends/cpu/complex_reduce.hpp"
#include "backends/cpu/linalg.hpp"
#include "backends/cpu/matmul.hpp"
#include "io/load.hpp"

namespace mx::cpu {
namespace {

using io::load;

constexpr auto table = [] {
  std::array<KernelInfo, static_cast<size_t>(OpCode::count_)> t{};
#define MX_KERNEL_library(name) t[static_cast<size_t>(OpCode::name)].run = &name;
#define MX_KERNEL_constant(name)
#define MX_KERNEL_elementwise(name)
#define MX_KERNEL_reduce(name)
#define MX_KERNEL_view(name)
#define MX_KERNEL_call(name)
#define MX_OP(name, kind, schema) MX_KERNEL_##kind(name)
#include "ops/ops.def"
#undef MX_OP
  for (OpCode op : {OpCode::slice_update, OpCode::dynamic_slice_update, OpCode::scatter, OpCode::scatter_axis,
                    OpCode::masked_scatter}) {
    t[static_cast<size_t>(op)].in_place = true;
  }
  // Of complex numbers only: the rest are loops.
  for (OpCode op : {OpCode::prod, OpCode::min, OpCode::max}) t[static_cast<size_t>(op)].run = complex_reduce;
  return t;
}();

}  // namespace

const KernelInfo &kernel_for(OpCode op) noexcept { return table[static_cast<size_t>(op)]; }

}  // namespace mx::cpu
