// Element types and MLX's promotion rules.
#pragma once
#include <cstddef>
#include <cstdint>

#include "mx/dtype.h"

namespace mx {

struct Float16 {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};
template <class T>
struct ComplexNumber {
  T re, im;
};
using Complex64 = ComplexNumber<float>;
using Complex128 = ComplexNumber<double>;

enum class DType : uint8_t {
#define MX_DTYPE(name, type, category, bytes) name,
#include "base/dtype.def"
#undef MX_DTYPE
};
#define MX_DTYPE(name, type, category, bytes) +1
constexpr int n_dtypes = 0
#include "base/dtype.def"
    ;
#undef MX_DTYPE

int64_t itemsize(DType d) noexcept;
const char *name(DType d) noexcept;  // "float32", "bool"
char category(DType d) noexcept;     // b u i f c

inline bool is_floating(DType d) noexcept { return category(d) == 'f'; }
inline bool is_complex(DType d) noexcept { return category(d) == 'c'; }
inline bool is_inexact(DType d) noexcept { return is_floating(d) || is_complex(d); }
inline bool is_integer(DType d) noexcept { return category(d) == 'u' || category(d) == 'i'; }
inline bool is_signed_integer(DType d) noexcept { return category(d) == 'i'; }

// The dtype of the real and the imaginary part, of real dtypes `d` itself.
inline DType part_dtype(DType d) noexcept {
  return d == DType::complex128 ? DType::float64 : d == DType::complex64 ? DType::float32 : d;
}
// The complex dtype with parts of `d`, which is float32 or float64.
inline DType complex_of(DType d) noexcept { return d == DType::float64 ? DType::complex128 : DType::complex64; }

// The dtype that holds both operands. float16 with bfloat16 gives float32, uint64 with a signed integer float32,
// complex64 with float64 complex64 (MLX).
DType promote(DType a, DType b) noexcept;
// float32 for bool and integers, else `d` itself: what exp, divide and mean return.
DType inexact(DType d) noexcept;

// Checked conversion from the C enum. Throws DTYPE.
DType to_dtype(mx_dtype d);

float to_float(Float16 x) noexcept;
float to_float(BFloat16 x) noexcept;
Float16 to_float16(double x) noexcept;    // round to nearest even, once
BFloat16 to_bfloat16(double x) noexcept;  // round to nearest even, once

// A host value before it gets a dtype; Python and C scalars arrive as this.
using Scalar = mx_scalar;
// Writes `value` as an element of dtype `d` to `out` (itemsize(d) bytes). Throws OVERFLOW if an integer does not fit.
void store_scalar(void *out, DType d, const Scalar &value);
Scalar load_scalar(const void *in, DType d) noexcept;
// MLX's weak rule: the dtype of `value` beside an array of dtype `d`.
DType weak_dtype(const Scalar &value, DType d) noexcept;
// The dtype of `value` on its own: bool, int32 (int64 when it does not fit), float32, complex64.
DType default_dtype(const Scalar &value) noexcept;

}  // namespace mx
