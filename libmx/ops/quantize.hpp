// Builders of packed matrices and of products with them. Documented in mx/quantize.h; null operands are left out.
#pragma once
#include "mx/quantize.h"
#include "ops/build.hpp"
#include "ops/kinds.hpp"
#include "ops/shape.hpp"

namespace mx::ops {

struct Quantization {
  QuantMode mode;
  int64_t group, bits;
};
// With the mode's defaults for 0. Throws INVALID_ARGUMENT for what the mode does not have.
Quantization quantization(mx_quant_mode mode, int64_t group_size, int64_t bits, const char *op);

struct PackedMatrix {
  Value codes, scales;
  const Value *biases = nullptr, *global_scale = nullptr;
  bool transpose = true;  // of interest to products only
};

ValueList quantize(const Value &w, const Quantization &q, const Value *global_scale, const StreamRef &s = {});
Value dequantize(const PackedMatrix &w, const Quantization &q, DType dtype, const StreamRef &s = {});
Value quantized_matmul(const Value &x, const PackedMatrix &w, const Quantization &q, const StreamRef &s = {});

struct Picked {
  const Value *lhs = nullptr, *rhs = nullptr;
};
Value gather_qmm(const Value &x, const PackedMatrix &w, const Quantization &q, const Picked &picked,
                 const StreamRef &s = {});

struct QuantizedPair {
  Value x, w;
  const Value *scales = nullptr, *global_x = nullptr, *global_w = nullptr;
};
Value qqmm(const QuantizedPair &pair, const Quantization &q, const StreamRef &s = {});
Value gather_qqmm(const QuantizedPair &pair, const Quantization &q, const Picked &picked, const StreamRef &s = {});

}  // namespace mx::ops
