// Einstein summation. Documented in mx/ops.h.
#pragma once
#include <vector>

#include "ops/build.hpp"

namespace mx::ops {

// The operands of one contraction, as positions in what is left: its result goes to the end.
using Contraction = std::vector<size_t>;

std::vector<Contraction> einsum_path(const char *subscripts, Values xs);
Value einsum(const char *subscripts, Values xs, const StreamRef &s = {});

}  // namespace mx::ops
