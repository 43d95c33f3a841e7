// Rough run times of library steps on one thread, for deciding whether a program is small enough to run inline.
#pragma once
#include "lower/program.hpp"

namespace mx::lower {

int64_t estimate_ns(const Step &step) noexcept;

}  // namespace mx::lower
