// Dtypes: the table, MLX's promotion rules, conversions with one rounding, and host scalars.
#include "base/dtype.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/status.hpp"

namespace mx {
namespace {

struct Row {
  const char *name;
  char category;
  int8_t bytes;
};

constexpr Row rows[] = {
#define MX_DTYPE(name, type, category, bytes) {#name, category, bytes},
#include "base/dtype.def"
#undef MX_DTYPE
};

const Row &row(DType d) noexcept { return rows[static_cast<size_t>(d)]; }

// A binary floating-point format narrower than double.
struct Format {
  int mantissa_bits, exponent_bits;
};
constexpr Format half = {10, 5}, bhalf = {7, 8};

// Rounds the bits of a finite double to the format, to nearest even: the kept bits are an integer that is rounded once,
// and a carry out of the mantissa runs into the exponent, up to infinity, as it should.
uint16_t narrow(double x, Format f) noexcept {
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const int width = f.mantissa_bits + f.exponent_bits;
  const uint64_t sign = bits >> 63 << width;
  const uint64_t infinity = ((uint64_t{1} << f.exponent_bits) - 1) << f.mantissa_bits;
  if (std::isnan(x)) return static_cast<uint16_t>(sign | infinity | uint64_t{1} << (f.mantissa_bits - 1));
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023 + bias;
  if (exponent > 2 * bias + 1) return static_cast<uint16_t>(sign | infinity);
  uint64_t mantissa = bits & ((uint64_t{1} << 52) - 1);
  int drop = 52 - f.mantissa_bits;
  if (exponent <= 0) {  // subnormal: the leading bit becomes explicit and moves right
    mantissa |= uint64_t{1} << 52;
    drop += 1 - exponent;
    exponent = 0;
    if (drop > 54) return static_cast<uint16_t>(sign);
  }
  const uint64_t half_way = uint64_t{1} << (drop - 1), rest = mantissa & ((half_way << 1) - 1);
  uint64_t kept = (static_cast<uint64_t>(exponent) << f.mantissa_bits) + (mantissa >> drop);
  if (rest > half_way || (rest == half_way && (kept & 1))) kept++;
  return static_cast<uint16_t>(sign | std::min(kept, infinity));
}

// The integer as a double, rounded to odd, so that rounding again to fewer bits is correct.
double to_odd(uint64_t magnitude) noexcept {
  if (magnitude >> 53) {
    const int drop = 64 - std::countl_zero(magnitude) - 53;
    const uint64_t rest = magnitude & ((uint64_t{1} << drop) - 1);
    magnitude -= rest;
    if (rest) magnitude |= uint64_t{1} << drop;
  }
  return static_cast<double>(magnitude);
}

bool is_integral(const Scalar &value) noexcept { return value.kind <= MX_SCALAR_UINT; }

double real_part(const Scalar &value) noexcept {
  switch (value.kind) {
    case MX_SCALAR_BOOL:
    case MX_SCALAR_INT:
      return value.i < 0 ? -to_odd(-static_cast<uint64_t>(value.i)) : to_odd(static_cast<uint64_t>(value.i));
    case MX_SCALAR_UINT:
      return to_odd(static_cast<uint64_t>(value.i));
    default:
      return value.re;
  }
}

// Throws OVERFLOW unless the value fits T after rounding towards zero.
template <class T>
T to_integer(const Scalar &value, DType d) {
  using Limits = std::numeric_limits<T>;
  bool fits;
  if (is_integral(value)) {
    const bool is_unsigned = value.kind == MX_SCALAR_UINT || value.i >= 0;
    const uint64_t magnitude = static_cast<uint64_t>(value.i);
    fits = is_unsigned ? magnitude <= static_cast<uint64_t>(Limits::max())
                       : Limits::is_signed && value.i >= static_cast<int64_t>(Limits::min());
    if (!fits && is_unsigned)
      fail(MX_ERROR_OVERFLOW, "scalar %llu does not fit %s", static_cast<unsigned long long>(magnitude), name(d));
    if (!fits) fail(MX_ERROR_OVERFLOW, "scalar %lld does not fit %s", static_cast<long long>(value.i), name(d));
    return static_cast<T>(value.i);
  }
  const double x = std::trunc(value.re), beyond = std::ldexp(1.0, Limits::digits);  // both bounds are exact
  fits = x < beyond && x >= (Limits::is_signed ? -beyond : 0.0);
  if (!fits) fail(MX_ERROR_OVERFLOW, "scalar %g does not fit %s", value.re, name(d));
  return static_cast<T>(x);
}

template <class T>
void write(void *out, T x) noexcept {
  std::memcpy(out, &x, sizeof x);
}

template <class T>
T read(const void *in) noexcept {
  T x;
  std::memcpy(&x, in, sizeof x);
  return x;
}

Scalar integer_scalar(int64_t i) noexcept { return {MX_SCALAR_INT, i, 0, 0}; }
Scalar unsigned_scalar(uint64_t i) noexcept { return {MX_SCALAR_UINT, static_cast<int64_t>(i), 0, 0}; }
Scalar real_scalar(double re) noexcept { return {MX_SCALAR_FLOAT, 0, re, 0}; }

}  // namespace

int64_t itemsize(DType d) noexcept { return row(d).bytes; }
const char *name(DType d) noexcept { return d == DType::bool_ ? "bool" : row(d).name; }
char category(DType d) noexcept { return row(d).category; }

DType inexact(DType d) noexcept { return is_inexact(d) ? d : DType::float32; }

DType to_dtype(mx_dtype d) {
  if (static_cast<unsigned>(d) >= static_cast<unsigned>(n_dtypes))
    fail(MX_ERROR_DTYPE, "%d is not a dtype", static_cast<int>(d));
  return static_cast<DType>(d);
}

DType promote(DType a, DType b) noexcept {
  if (a == b || b == DType::bool_) return a;
  if (a == DType::bool_) return b;
  if (a == DType::complex128 || b == DType::complex128) return DType::complex128;
  if (is_complex(a) || is_complex(b)) return DType::complex64;
  if (is_floating(a) != is_floating(b)) return is_floating(a) ? a : b;
  if (is_floating(a)) {
    if (itemsize(a) == itemsize(b)) return DType::float32;  // float16 with bfloat16
    return itemsize(a) > itemsize(b) ? a : b;
  }
  if (category(a) == category(b)) return itemsize(a) > itemsize(b) ? a : b;
  const DType plain = category(a) == 'u' ? a : b, with_sign = category(a) == 'u' ? b : a;
  switch (std::max(itemsize(plain) * 2, itemsize(with_sign))) {
    case 2:
      return DType::int16;
    case 4:
      return DType::int32;
    case 8:
      return DType::int64;
    default:
      return DType::float32;  // uint64 with a signed integer
  }
}

float to_float(BFloat16 x) noexcept { return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16); }

float to_float(Float16 x) noexcept {
  const uint32_t sign = static_cast<uint32_t>(x.bits >> 15) << 31, exponent = x.bits >> 10 & 31;
  const uint32_t mantissa = x.bits & 1023u;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  return sign ? -magnitude : magnitude;
}

Float16 to_float16(double x) noexcept { return {narrow(x, half)}; }
BFloat16 to_bfloat16(double x) noexcept { return {narrow(x, bhalf)}; }

void store_scalar(void *out, DType d, const Scalar &value) {
  switch (d) {
    case DType::bool_: {
      const bool any = is_integral(value) ? value.i != 0 : value.re != 0;
      return write(out, any || (value.kind == MX_SCALAR_COMPLEX && value.im != 0));
    }
    case DType::uint8:
      return write(out, to_integer<uint8_t>(value, d));
    case DType::uint16:
      return write(out, to_integer<uint16_t>(value, d));
    case DType::uint32:
      return write(out, to_integer<uint32_t>(value, d));
    case DType::uint64:
      return write(out, to_integer<uint64_t>(value, d));
    case DType::int8:
      return write(out, to_integer<int8_t>(value, d));
    case DType::int16:
      return write(out, to_integer<int16_t>(value, d));
    case DType::int32:
      return write(out, to_integer<int32_t>(value, d));
    case DType::int64:
      return write(out, to_integer<int64_t>(value, d));
    case DType::float16:
      return write(out, to_float16(real_part(value)));
    case DType::bfloat16:
      return write(out, to_bfloat16(real_part(value)));
    case DType::float32:
      return write(out, static_cast<float>(real_part(value)));
    case DType::float64:
      if (value.kind == MX_SCALAR_UINT) return write(out, static_cast<double>(static_cast<uint64_t>(value.i)));
      return write(out, is_integral(value) ? static_cast<double>(value.i) : value.re);
    case DType::complex64: {
      const float im = value.kind == MX_SCALAR_COMPLEX ? static_cast<float>(value.im) : 0.0f;
      return write(out, Complex64{static_cast<float>(real_part(value)), im});
    }
    case DType::complex128: {
      double re;
      store_scalar(&re, DType::float64, value);
      return write(out, Complex128{re, value.kind == MX_SCALAR_COMPLEX ? value.im : 0});
    }
  }
}

Scalar load_scalar(const void *in, DType d) noexcept {
  switch (d) {
    case DType::bool_:
      return {MX_SCALAR_BOOL, read<uint8_t>(in) != 0, 0, 0};
    case DType::uint8:
      return unsigned_scalar(read<uint8_t>(in));
    case DType::uint16:
      return unsigned_scalar(read<uint16_t>(in));
    case DType::uint32:
      return unsigned_scalar(read<uint32_t>(in));
    case DType::uint64:
      return unsigned_scalar(read<uint64_t>(in));
    case DType::int8:
      return integer_scalar(read<int8_t>(in));
    case DType::int16:
      return integer_scalar(read<int16_t>(in));
    case DType::int32:
      return integer_scalar(read<int32_t>(in));
    case DType::int64:
      return integer_scalar(read<int64_t>(in));
    case DType::float16:
      return real_scalar(to_float(read<Float16>(in)));
    case DType::bfloat16:
      return real_scalar(to_float(read<BFloat16>(in)));
    case DType::float32:
      return real_scalar(read<float>(in));
    case DType::float64:
      return real_scalar(read<double>(in));
    case DType::complex64: {
      const Complex64 x = read<Complex64>(in);
      return {MX_SCALAR_COMPLEX, 0, x.re, x.im};
    }
    case DType::complex128: {
      const Complex128 x = read<Complex128>(in);
      return {MX_SCALAR_COMPLEX, 0, x.re, x.im};
    }
  }
  return {};
}

DType weak_dtype(const Scalar &value, DType d) noexcept {
  switch (value.kind) {
    case MX_SCALAR_BOOL:
      return d;
    case MX_SCALAR_INT:
    case MX_SCALAR_UINT:
      return d == DType::bool_ ? DType::int32 : d;
    case MX_SCALAR_FLOAT:
      return inexact(d);
    case MX_SCALAR_COMPLEX:
      return d == DType::complex128 ? d : DType::complex64;
  }
  return d;
}

DType default_dtype(const Scalar &value) noexcept {
  switch (value.kind) {
    case MX_SCALAR_BOOL:
      return DType::bool_;
    case MX_SCALAR_INT:
      return value.i == static_cast<int32_t>(value.i) ? DType::int32 : DType::int64;
    case MX_SCALAR_UINT:
      if (value.i < 0) return DType::uint64;
      return value.i == static_cast<int32_t>(value.i) ? DType::int32 : DType::int64;
    case MX_SCALAR_FLOAT:
      return DType::float32;
    case MX_SCALAR_COMPLEX:
      return DType::complex64;
  }
  return DType::float32;
}

}  // namespace mx
