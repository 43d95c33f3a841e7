// Picks the matmul table of this CPU's level.
#include "backends/cpu/isa_level.hpp"
#include "backends/cpu/matmul_level.hpp"

extern "C" {
#if defined(__x86_64__)
extern const mx::cpu::MatmulLevel matmul_v2, matmul_v3, matmul_v4;
#else
extern const mx::cpu::MatmulLevel matmul_base;
#endif
}

namespace mx::cpu {

const MatmulLevel &matmul_level() noexcept {
#if defined(__x86_64__)
  switch (isa_level()) {
    case IsaLevel::v4:
      return matmul_v4;
    case IsaLevel::v3:
      return matmul_v3;
    default:
      return matmul_v2;
  }
#else
  return matmul_base;
#endif
}

}  // namespace mx::cpu
