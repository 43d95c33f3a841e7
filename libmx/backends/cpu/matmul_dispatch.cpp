// Picks the matmul table of this CPU's level.
#include <cstdlib>
#include <cstring>

#include "backends/cpu/isa_level.hpp"
#include "backends/cpu/matmul_level.hpp"
#include "base/settled.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

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
  return at_level(matmul_v2, matmul_v3, matmul_v4);
#else
  return matmul_base;
#endif
}

namespace {

#if defined(__x86_64__) && defined(__linux__)
// The bits of cpuid 7 for the tiles and for bfloat16 in them; then the kernel's leave, which is of the whole process
// and makes room for the tiles in the signal frames.
bool ask_for_amx() noexcept {
  unsigned a, b, c, d;
  constexpr unsigned tiles = 1u << 24, bfloat16 = 1u << 22;
  constexpr long request = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  const char *cap = std::getenv("MX_ISA");
  if ((cap && *cap) || isa_level() != IsaLevel::v4 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  return (d & tiles) && (d & bfloat16) && syscall(SYS_arch_prctl, request, tile_data) == 0;
}
#else
bool ask_for_amx() noexcept { return false; }
#endif

// Measured: on Zen 4 the instruction multiplies twice as much as float32's in the same time, on Sapphire Rapids half.
bool ask_for_dot() noexcept {
#if defined(__x86_64__)
  if (isa_level() != IsaLevel::v4 || !__builtin_cpu_supports("avx512bf16")) return false;
  const char *cap = std::getenv("MX_ISA");
  return cap && *cap ? std::strcmp(cap, "v4+dot") == 0 : static_cast<bool>(__builtin_cpu_is("amd"));
#else
  return false;
#endif
}

}  // namespace

bool has_dot() noexcept { return settled<ask_for_dot>(); }

bool has_amx() noexcept { return settled<ask_for_amx>(); }

}  // namespace mx::cpu
