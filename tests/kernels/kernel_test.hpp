// Helpers of the kernel tests: tensors of any dtype and layout over a vector of numbers, and calls of a kernel. Values
// go through double, which holds all that the tests use exactly.
#pragma once
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "backends/cpu/element.hpp"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/strided.hpp"
#include "base/status.hpp"
#include "ops/kinds.hpp"
#include "tests/c/check.h"

namespace mx::cpu {

using Values = std::vector<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

inline void put(char *p, DType dtype, double value) {
  visit(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (is_complex_number<T>) {
      *reinterpret_cast<T *>(p) = {static_cast<decltype(T::re)>(value), 0};
    } else if constexpr (std::is_integral_v<T>) {
      *reinterpret_cast<T *>(p) = static_cast<T>(static_cast<int64_t>(value));
    } else {
      store<T>(p, static_cast<Wide<T>>(value));
    }
  });
}

inline double get(const char *p, DType dtype) {
  double value = 0;
  visit(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (is_complex_number<T>) {
      value = reinterpret_cast<const T *>(p)->re;
    } else {
      value = static_cast<double>(load<T>(p));
    }
  });
  return value;
}

// How a tensor lies in its memory.
enum class Arrangement { row_major, transposed, reversed, gaps };
constexpr Arrangement arrangements[] = {Arrangement::row_major, Arrangement::transposed, Arrangement::reversed,
                                        Arrangement::gaps};

// A tensor that owns its memory, with guard bytes around it.
class Array {
 public:
  Array(DType dtype, Dims shape, Arrangement arrangement = Arrangement::row_major) : tensor{dtype, shape, {}, nullptr} {
    const int64_t size = itemsize(dtype), gap = arrangement == Arrangement::gaps ? 3 : 1;
    Dims strides(shape.size(), 0);
    int64_t stride = size * gap;
    for (size_t i = 0; i < shape.size(); i++) {
      const size_t d = arrangement == Arrangement::transposed ? i : shape.size() - 1 - i;
      strides[d] = stride;
      stride *= std::max<int64_t>(shape[d], 1) * (arrangement == Arrangement::gaps ? 2 : 1);
    }
    memory_.assign(static_cast<size_t>(stride + 2 * guard), static_cast<char>(0x5a));
    tensor.data = memory_.data() + guard;
    if (arrangement == Arrangement::reversed) {
      for (size_t d = 0; d < shape.size(); d++) {
        tensor.data += strides[d] * std::max<int64_t>(shape[d] - 1, 0);
        strides[d] = -strides[d];
      }
    }
    tensor.strides = strides;
  }
  Array(DType dtype, Dims shape, const Values &values, Arrangement arrangement = Arrangement::row_major)
      : Array(dtype, shape, arrangement) {
    set(values);
  }
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;
  Array(Array &&) = default;

  void set(const Values &values) {
    each([&](char *p, size_t i) { put(p, tensor.dtype, values[i]); });
  }
  Values values() const {
    Values out(static_cast<size_t>(size_of(tensor)));
    each([&](char *p, size_t i) { out[i] = get(p, tensor.dtype); });
    return out;
  }
  // In row-major order.
  void each(const std::function<void(char *, size_t)> &f) const {
    Walker<1> walker(tensor.shape);
    walker.operand(0, tensor.strides);
    walker.seek(0);
    const int64_t n = size_of(tensor);
    for (int64_t i = 0; i < n; i++, walker.next()) f(tensor.data + walker.offset[0], static_cast<size_t>(i));
  }
  bool guards_intact() const {
    for (size_t i = 0; i < guard; i++) {
      if (memory_[i] != 0x5a || memory_[memory_.size() - 1 - i] != 0x5a) return false;
    }
    return true;
  }

  Tensor tensor;

 private:
  static constexpr size_t guard = 64;
  std::vector<char> memory_;
};

// Elements of complex dtypes, and of real ones, as complex numbers.
inline void put_complex(char *p, DType d, std::complex<double> z) {
  if (d == DType::complex64) {
    const Complex64 x{static_cast<float>(z.real()), static_cast<float>(z.imag())};
    std::memcpy(p, &x, sizeof x);
  } else if (d == DType::complex128) {
    std::memcpy(p, &z, sizeof z);
  } else {
    put(p, d, z.real());
  }
}
inline std::complex<double> get_complex(const char *p, DType d) {
  std::complex<double> z;
  if (d == DType::complex128) return std::memcpy(&z, p, sizeof z), z;
  if (d != DType::complex64) return get(p, d);
  Complex64 x;
  std::memcpy(&x, p, sizeof x);
  return {x.re, x.im};
}

// Runs a kernel on arrays.
inline void call(void (*kernel)(const KernelCall &), const Attrs &attrs, std::initializer_list<const Array *> inputs,
                 const Array &output) {
  std::vector<Tensor> in;
  for (const Array *a : inputs) in.push_back(a->tensor);
  kernel({OpCode::count_, attrs, in, {&output.tensor, 1}});
  CHECK(output.guards_intact());
}

// Pseudo-random integers in [low, high), the same in every run.
class Numbers {
 public:
  explicit Numbers(uint64_t seed = 1) : state_(seed * 0x9e3779b97f4a7c15u) {}
  int64_t integer(int64_t low, int64_t high) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return low + static_cast<int64_t>((state_ >> 33) % static_cast<uint64_t>(high - low));
  }
  // Multiples of 1/8, exact in every floating dtype for small ranges.
  Values eighths(int64_t n, int64_t low, int64_t high) {
    Values v(static_cast<size_t>(n));
    for (double &x : v) x = static_cast<double>(integer(low * 8, high * 8)) / 8;
    return v;
  }
  Values integers(int64_t n, int64_t low, int64_t high) {
    Values v(static_cast<size_t>(n));
    for (double &x : v) x = static_cast<double>(integer(low, high));
    return v;
  }

 private:
  uint64_t state_;
};

inline bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
inline bool same(const Values &a, const Values &b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) { return same(x, y); });
}
inline bool close(double a, double b, double relative, double absolute) {
  return same(a, b) || std::abs(a - b) <= absolute + relative * std::abs(b);
}
// The relative rounding error that a dtype allows.
inline double tolerance(DType d) {
  return d == DType::float16 ? 2e-3 : d == DType::bfloat16 ? 1.6e-2 : d == DType::float32 ? 1e-5 : 1e-12;
}

constexpr DType floating[] = {DType::float16, DType::bfloat16, DType::float32, DType::float64};
constexpr DType all_dtypes[] = {DType::bool_,   DType::uint8,   DType::uint16,   DType::uint32,    DType::uint64,
                                DType::int8,    DType::int16,   DType::int32,    DType::int64,     DType::float16,
                                DType::float32, DType::float64, DType::bfloat16, DType::complex64, DType::complex128};
// One per item size.
constexpr DType movable[] = {DType::bool_, DType::int16, DType::float32, DType::complex64, DType::complex128};

}  // namespace mx::cpu
