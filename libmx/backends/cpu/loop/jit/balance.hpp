// Evens out the load of the machine's units. Cores that add and multiply in different ones (AMD's since Zen) take sums,
// differences, minima and maxima in the former alone. A fused multiply-add does an addition as well, with the same
// result bit for bit, since 1 * a is exact: so where the adders have more to do, some additions become 1 * a + b. On
// cores whose units do both it makes no difference.
#pragma once
#include "backends/cpu/loop/jit/vector_code.hpp"

namespace mx::loop::jit {

void balance(VectorCode &code);

}  // namespace mx::loop::jit
