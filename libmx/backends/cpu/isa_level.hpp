// Which instruction set level the per-level tables are taken from: decided once, from the CPU and MX_ISA.
#pragma once

namespace mx::cpu {

enum class IsaLevel { base, v2, v3, v4 };  // base: not x86-64, one table

IsaLevel isa_level() noexcept;

}  // namespace mx::cpu
