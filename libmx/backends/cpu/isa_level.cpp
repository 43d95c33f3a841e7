// Chooses the instruction set level. MX_ISA=v2 or v3 caps it, so that every level can be tested on one machine.
#include "backends/cpu/isa_level.hpp"

#include <cstdlib>
#include <cstring>

#include "base/settled.hpp"

namespace mx::cpu {
namespace {

IsaLevel choose() noexcept {
#if defined(__x86_64__)
  const char *cap = std::getenv("MX_ISA");
  const auto allowed = [cap](const char *name) { return !cap || !*cap || std::strcmp(name, cap) <= 0; };
  if (allowed("v4") && cpu_has_v4()) return IsaLevel::v4;
  if (allowed("v3") && cpu_has_v3()) return IsaLevel::v3;
  return IsaLevel::v2;
#else
  return IsaLevel::base;
#endif
}

}  // namespace

IsaLevel isa_level() noexcept { return settled<choose>(); }

}  // namespace mx::cpu
