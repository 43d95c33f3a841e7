// The convolution of sequences. Documented in mx/ops.h.
#pragma once
#include "ops/build.hpp"

namespace mx::ops {

Value convolve(const Value &a, const Value &v, mx_convolve_mode mode, const StreamRef &s = {});

}  // namespace mx::ops
