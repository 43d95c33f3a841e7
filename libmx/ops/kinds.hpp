// Enumerations behind integer attributes.
#pragma once
#include <cstdint>

namespace mx {

enum class ScanKind : int64_t { sum, prod, max, min, logaddexp };
enum class ScatterMode : int64_t { assign, add, multiply, maximum, minimum };
enum class MaskKind : int64_t { none, array, causal };
enum class QuantMode : int64_t { affine, mxfp4, mxfp8, nvfp4 };  // as mx_quant_mode

}  // namespace mx
