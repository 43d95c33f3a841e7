// Which instruction set level the per-level tables are taken from: decided once, from the CPU and MX_ISA.
#pragma once

namespace mx::cpu {

enum class IsaLevel { base, v2, v3, v4 };  // base: not x86-64, one table

IsaLevel isa_level() noexcept;

#if defined(__x86_64__)
// This level's among three tables of the same kind.
template <class Table>
const Table &at_level(const Table &v2, const Table &v3, const Table &v4) noexcept {
  const IsaLevel level = isa_level();
  return level == IsaLevel::v4 ? v4 : level == IsaLevel::v3 ? v3 : v2;
}

// Whether this CPU has all of x86-64-v3 or v4. clang before 18 knows no levels: these features come with the rest.
inline bool cpu_has_v3() noexcept {
#if defined(__clang__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
#else
  return __builtin_cpu_supports("x86-64-v3");
#endif
}
inline bool cpu_has_v4() noexcept {
#if defined(__clang__)
  return cpu_has_v3() && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
  return __builtin_cpu_supports("x86-64-v4");
#endif
}
#endif

}  // namespace mx::cpu
