// One product with a packed matrix, over the pool.
#pragma once
#include "backends/cpu/quantize/format.hpp"

namespace mx::cpu {

// out (m, n) = x (m, k) times a packed matrix, (n, k) if `transposed`, else (k, n). x and out are dense and row-major,
// of float32, float16 or bfloat16. Sums are in float32, except for what the matrix kernels do with bfloat16.
//
// Few rows read each packed row once and multiply codes: every element is the sum over groups of scale times the sum of
// codes times x, plus bias times the sum of x. More rows unpack parts of the matrix, rounded to bfloat16 for products
// in bfloat16, for the kernels of matmul. Which of the two follows from the shape.
struct PackedProduct {
  const PackedFormat &format;
  DType dtype;
  int64_t m, n, k;
  bool transposed;
  const char *x;
  packed::Rows w;
  char *out;
};

void multiply(const PackedProduct &p);

}  // namespace mx::cpu
