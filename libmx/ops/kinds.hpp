// Enumerations behind integer attributes.
#pragma once
#include <cstdint>

namespace mx {

enum class ScanKind : int64_t { sum, prod, max, min, logaddexp };
enum class ScatterMode : int64_t { assign, add, multiply, maximum, minimum };
enum class MaskKind : int64_t { none, array, causal };

}  // namespace mx
