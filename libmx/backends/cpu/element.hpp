// Elements as C++ values for kernels: the wide type in which each dtype is computed, loads, stores and the dtype
// switch. float16 and bfloat16 are computed in float and rounded once when stored. Relies on base/dtype.hpp only.
#pragma once
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/dtype.hpp"

namespace mx::cpu {

inline float widen(Float16 x) noexcept {
  const uint32_t magnitude = (x.bits & 0x7fffu) << 13, sign = (x.bits & 0x8000u) << 16;
  // Moving the exponent by a multiplication also makes subnormal halves right.
  const float finite = std::bit_cast<float>(magnitude) * 0x1p112f;
  const uint32_t bits = (x.bits & 0x7c00u) == 0x7c00u ? magnitude | 0x7f800000u : std::bit_cast<uint32_t>(finite);
  return std::bit_cast<float>(bits | sign);
}

inline float widen(BFloat16 x) noexcept { return std::bit_cast<float>(uint32_t{x.bits} << 16); }

// Round to nearest, ties to even.
inline Float16 narrow_half(float x) noexcept {
  const uint32_t bits = std::bit_cast<uint32_t>(x), magnitude = bits & 0x7fffffffu;
  const uint32_t normal = ((magnitude + 0xfffu + (magnitude >> 13 & 1)) >> 13) - (112u << 10);
  // One half has a unit in the last place of 2^-24, that of a subnormal half: the addition rounds.
  const uint32_t tiny = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t large = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const uint32_t half = magnitude >= 0x47800000u ? large : magnitude < 0x38800000u ? tiny : normal;
  return {static_cast<uint16_t>(half | (bits >> 16 & 0x8000u))};
}

inline BFloat16 narrow_bfloat(float x) noexcept {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  return {static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? bits >> 16 | 0x40u : rounded)};
}

// The type in which an element of type T is computed.
template <class T>
struct WideOf {
  using type = T;
};
template <>
struct WideOf<Float16> {
  using type = float;
};
template <>
struct WideOf<BFloat16> {
  using type = float;
};
template <class T>
using Wide = typename WideOf<T>::type;

template <class T>
Wide<T> widen_element(T x) noexcept {
  if constexpr (std::is_same_v<Wide<T>, T>) {
    return x;
  } else {
    return widen(x);
  }
}

template <class T>
T narrow(Wide<T> x) noexcept {
  if constexpr (std::is_same_v<T, Float16>) {
    return narrow_half(x);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return narrow_bfloat(x);
  } else {
    return x;
  }
}

template <class T>
Wide<T> load(const char *p) noexcept {
  return widen_element(*reinterpret_cast<const T *>(p));
}

template <class T>
void store(char *p, Wide<T> x) noexcept {
  *reinterpret_cast<T *>(p) = narrow<T>(x);
}

template <class T>
inline constexpr bool is_complex_number = std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>;

template <class P>
ComplexNumber<P> operator+(ComplexNumber<P> a, ComplexNumber<P> b) noexcept {
  return {a.re + b.re, a.im + b.im};
}
template <class P>
ComplexNumber<P> operator*(ComplexNumber<P> a, ComplexNumber<P> b) noexcept {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class P>
bool operator==(ComplexNumber<P> a, ComplexNumber<P> b) noexcept {
  return a.re == b.re && a.im == b.im;
}

template <class T>
bool is_nan(T x) noexcept {
  if constexpr (is_complex_number<T>) {
    return x.re != x.re || x.im != x.im;
  } else {
    return x != x;
  }
}

// Complex numbers are ordered by (re, im).
template <class T>
bool less(T a, T b) noexcept {
  if constexpr (is_complex_number<T>) {
    return a.re < b.re || (a.re == b.re && a.im < b.im);
  } else {
    return a < b;
  }
}

// Integers wrap; bool: add is or, multiply is and. Minimum and maximum give NaN if either is NaN.
struct Add {
  template <class T>
  T operator()(T a, T b) const noexcept {
    if constexpr (std::is_same_v<T, bool>) {
      return a || b;
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  }
};
struct Multiply {
  template <class T>
  T operator()(T a, T b) const noexcept {
    if constexpr (std::is_same_v<T, bool>) {
      return a && b;
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  }
};
struct Minimum {
  template <class T>
  T operator()(T a, T b) const noexcept {
    return is_nan(a) || less(a, b) ? a : b;
  }
};
struct Maximum {
  template <class T>
  T operator()(T a, T b) const noexcept {
    return is_nan(a) || less(b, a) ? a : b;
  }
};

// What Minimum (lowest = false) or Maximum (lowest = true) starts from.
template <class T>
T extreme(bool lowest) noexcept {
  if constexpr (is_complex_number<T>) {
    const auto x = extreme<decltype(T::re)>(lowest);
    return {x, x};
  } else if constexpr (std::is_floating_point_v<T>) {
    return lowest ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
  } else {
    return lowest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  }
}

template <class T>
struct Type {
  using type = T;
};

// Calls f(Type<T>{}) with the storage type of the dtype.
template <class F>
decltype(auto) visit(DType d, F &&f) {
  switch (d) {
#define MX_DTYPE(name, type, category, bytes) \
  case DType::name:                           \
    return f(Type<type>{});
#include "base/dtype.def"
#undef MX_DTYPE
  }
  __builtin_unreachable();
}

struct TwoWords {
  uint64_t words[2];
};

// Calls f(Type<T>{}) with a plain type of `itemsize` bytes, for kernels that only move elements.
template <class F>
decltype(auto) visit_size(int64_t itemsize, F &&f) {
  switch (itemsize) {
    case 1:
      return f(Type<uint8_t>{});
    case 2:
      return f(Type<uint16_t>{});
    case 4:
      return f(Type<uint32_t>{});
    case 8:
      return f(Type<uint64_t>{});
    default:
      return f(Type<TwoWords>{});
  }
}

}  // namespace mx::cpu
