// For the loop tests: a scalar interpreter of the loop IR, written from the words of ir.hpp and sharing no code with
// the executor, and arrays of any strides that end at an unmapped page, so that a read or write beyond them faults.
#pragma once
#include <sys/mman.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "../c/check.h"
#include "backends/cpu/loop/kernel.hpp"
#include "base/dtype.hpp"

namespace reference {

using namespace mx;
using loop::Code;
using loop::Ins;
using loop::Op;

inline uint64_t random_state = 1;
inline uint64_t random_bits() {  // splitmix64
  uint64_t z = random_state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}
inline int64_t random_below(int64_t n) { return static_cast<int64_t>(random_bits() % static_cast<uint64_t>(n)); }

// Element types of numbers, with float16 and bfloat16 as the float they hold.
template <class F>
auto with_type(DType type, F &&f) {
  switch (type) {
    case DType::bool_:
      return f(bool{});
    case DType::uint8:
      return f(uint8_t{});
    case DType::uint16:
      return f(uint16_t{});
    case DType::uint32:
      return f(uint32_t{});
    case DType::uint64:
      return f(uint64_t{});
    case DType::int8:
      return f(int8_t{});
    case DType::int16:
      return f(int16_t{});
    case DType::int32:
      return f(int32_t{});
    case DType::int64:
      return f(int64_t{});
    case DType::float64:
      return f(double{});
    default:
      return f(float{});
  }
}

// One run of a kernel, all that it takes in one place.
struct Args {
  SmallVector<int64_t, 4> shape;
  uint32_t reduced_begin = 0, reduced_end = 0;
  struct Operand {
    char *data;
    SmallVector<int64_t, 4> strides;
  };
  std::vector<Operand> operands;
  std::vector<uint64_t> scalars;
};
inline void run(loop::KernelRef kernel, const Args &args) {
  loop::Geometry geometry{args.shape, args.reduced_begin, args.reduced_end, {}};
  std::vector<char *> data;
  for (const Args::Operand &operand : args.operands) {
    geometry.strides.push_back(operand.strides);
    data.push_back(operand.data);
  }
  loop::run(*loop::prepare(std::move(kernel), geometry), data, args.scalars);
}

// An element of a type is kept as its bits in memory.
template <class T>
T get(DType type, uint64_t element) {
  if (type == DType::float16) return static_cast<T>(to_float(Float16{static_cast<uint16_t>(element)}));
  if (type == DType::bfloat16) return static_cast<T>(to_float(BFloat16{static_cast<uint16_t>(element)}));
  return with_type(type, [&](auto zero) {
    decltype(zero) x;
    std::memcpy(&x, &element, sizeof x);
    return static_cast<T>(x);
  });
}
template <class T>
uint64_t put(DType type, T value) {
  uint64_t element = 0;
  if (type == DType::float16) return to_float16(static_cast<double>(value)).bits;
  if (type == DType::bfloat16) return to_bfloat16(static_cast<double>(value)).bits;
  with_type(type, [&](auto zero) {
    const decltype(zero) x = static_cast<decltype(zero)>(value);
    std::memcpy(&element, &x, sizeof x);
  });
  return element;
}

inline int64_t float_to_int(double x) { return x >= -0x1p63 && x < 0x1p63 ? static_cast<int64_t>(x) : INT64_MIN; }

inline uint64_t cast(DType from, DType to, uint64_t element) {
  if (to == DType::bool_) {
    return with_type(from, [&](auto zero) -> uint64_t { return get<decltype(zero)>(from, element) != 0; });
  }
  return with_type(from, [&](auto zero) -> uint64_t {
    using From = decltype(zero);
    const From x = get<From>(from, element);
    if constexpr (std::is_floating_point_v<From>) {
      if (is_floating(to)) return put(to, x);
      if (to == DType::uint64 && x >= From(0x1p63)) return x < From(0x1p64) ? static_cast<uint64_t>(x) : 0;
      return put(to, float_to_int(static_cast<double>(x)));
    } else {
      // Halves are rounded from float32.
      if (to == DType::float16 || to == DType::bfloat16) return put(to, static_cast<float>(x));
      return put(to, x);
    }
  });
}

template <class T>
T integer_power(T base, T exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == static_cast<T>(-1) ? (exponent % 2 == 0 ? 1 : static_cast<T>(-1)) : 0;
  T result = 1;
  for (int bit = 8 * sizeof(T) - 1; bit >= 0; bit--) {
    result = static_cast<T>(uint64_t(result) * uint64_t(result));
    if (exponent >> bit & 1) result = static_cast<T>(uint64_t(result) * uint64_t(base));
  }
  return result;
}

template <class T>
T integer_op(Op op, T a, T b) {
  const int width = 8 * sizeof(T);
  const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  const bool shifts_out = b < 0 || y >= static_cast<uint64_t>(width);
  switch (op) {
    case Op::add:
      return static_cast<T>(x + y);
    case Op::subtract:
      return static_cast<T>(x - y);
    case Op::multiply:
      return static_cast<T>(x * y);
    case Op::square:
      return static_cast<T>(x * x);
    case Op::negative:
      return static_cast<T>(0 - x);
    case Op::absolute:
      return a < 0 ? static_cast<T>(0 - x) : a;
    case Op::sign:
      return static_cast<T>((a > 0) - (a < 0));
    case Op::bit_not:
      return static_cast<T>(~x);
    case Op::bit_and:
      return static_cast<T>(x & y);
    case Op::bit_or:
      return static_cast<T>(x | y);
    case Op::bit_xor:
      return static_cast<T>(x ^ y);
    case Op::shift_left:
      return shifts_out ? 0 : static_cast<T>(x << y);
    case Op::shift_right:
      return shifts_out ? (a < 0 ? static_cast<T>(-1) : 0) : static_cast<T>(a >> y);
    case Op::power:
      return integer_power(a, b);
    case Op::minimum:
      return a < b ? a : b;
    case Op::maximum:
      return a > b ? a : b;
    case Op::floor_divide:
    case Op::remainder: {
      if (b == 0) return 0;
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) return op == Op::remainder ? 0 : static_cast<T>(0 - x);
      T q = static_cast<T>(a / b), r = static_cast<T>(a % b);
      if (r != 0 && (r < 0) != (b < 0)) q = static_cast<T>(q - 1), r = static_cast<T>(r + b);
      return op == Op::remainder ? r : q;
    }
    default:
      CHECK(!"an integer op");
      return 0;
  }
}

template <class T>
T next_after(DType type, T a, T b) {
  if (type != DType::float16 && type != DType::bfloat16) return std::nextafter(a, b);
  if (a != a || b != b || a == b) return a != a || b != b ? a + b : b;
  // By search among all values of the format.
  T best = b;
  for (uint32_t raw = 0; raw < 0x10000; raw++) {
    const T x = get<T>(type, raw);
    if ((b > a && x > a && x < best) || (b < a && x < a && x > best)) best = x;
  }
  return best == 0 ? std::copysign(T(0), a) : best;
}

// T is float or double; the math functions are computed in the next wider type and rounded.
template <class T>
T float_op(Op op, DType type, T a, T b, T c) {
  using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  const Wide x = a, y = b;
  switch (op) {
    case Op::add:
      return a + b;
    case Op::subtract:
      return a - b;
    case Op::multiply:
      return a * b;
    case Op::divide:
      return a / b;
    case Op::square:
      return a * a;
    case Op::negative:
      return -a;
    case Op::absolute:
      return std::fabs(a);
    case Op::sign:
      return a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a;
    case Op::floor:
      return std::floor(a);
    case Op::ceil:
      return std::ceil(a);
    case Op::trunc:
      return std::trunc(a);
    case Op::round:
      return std::nearbyint(a);
    case Op::sqrt:
      return std::sqrt(a);
    case Op::rsqrt:
      return static_cast<T>(1 / std::sqrt(x));
    case Op::reciprocal:
      return 1 / a;
    case Op::exp:
      return static_cast<T>(std::exp(x));
    case Op::expm1:
      return static_cast<T>(std::expm1(x));
    case Op::exp2:
      return static_cast<T>(std::exp2(x));
    case Op::log:
      return static_cast<T>(std::log(x));
    case Op::log2:
      return static_cast<T>(std::log2(x));
    case Op::log10:
      return static_cast<T>(std::log10(x));
    case Op::log1p:
      return static_cast<T>(std::log1p(x));
    case Op::sin:
      return static_cast<T>(std::sin(x));
    case Op::cos:
      return static_cast<T>(std::cos(x));
    case Op::tan:
      return static_cast<T>(std::tan(x));
    case Op::arcsin:
      return static_cast<T>(std::asin(x));
    case Op::arccos:
      return static_cast<T>(std::acos(x));
    case Op::arctan:
      return static_cast<T>(std::atan(x));
    case Op::sinh:
      return static_cast<T>(std::sinh(x));
    case Op::cosh:
      return static_cast<T>(std::cosh(x));
    case Op::tanh:
      return static_cast<T>(std::tanh(x));
    case Op::arcsinh:
      return static_cast<T>(std::asinh(x));
    case Op::arccosh:
      return static_cast<T>(std::acosh(x));
    case Op::arctanh:
      return static_cast<T>(std::atanh(x));
    case Op::erf:
      return static_cast<T>(std::erf(x));
    case Op::sigmoid:
      return static_cast<T>(x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)));
    case Op::minimum:
      return a != a ? a : b != b ? b : a < b ? a : b;
    case Op::maximum:
      return a != a ? a : b != b ? b : a > b ? a : b;
    case Op::floor_divide:
      return std::floor(a / b);
    case Op::remainder: {
      const T r = std::fmod(a, b);
      return r == 0 ? std::copysign(r, b) : (r < 0) != (b < 0) ? r + b : r;
    }
    case Op::power:
      return static_cast<T>(std::pow(x, y));
    case Op::arctan2:
      return static_cast<T>(std::atan2(x, y));
    case Op::hypot:
      return static_cast<T>(std::hypot(x, y));
    case Op::copysign:
      return std::copysign(a, b);
    case Op::nextafter:
      return next_after(type, a, b);
    case Op::logaddexp:
      if (a != a || b != b) return a + b;
      if (std::isinf(a) && a == b) return a;
      return static_cast<T>(std::fmax(x, y) + std::log1p(std::exp(-std::fabs(x - y))));
    case Op::fma:
      return std::fma(a, b, c);
    default:
      CHECK(!"a float op");
      return 0;
  }
}

inline bool compares(Op op) { return op >= Op::equal && op <= Op::greater_equal; }
template <class T>
bool compare(Op op, T a, T b) {
  switch (op) {
    case Op::equal:
      return a == b;
    case Op::not_equal:
      return a != b;
    case Op::less:
      return a < b;
    case Op::less_equal:
      return a <= b;
    case Op::greater:
      return a > b;
    default:
      return a >= b;
  }
}

// One instruction other than load, scalar, iota, store and reduce. `type` is that of the operand a.
inline uint64_t apply(const Ins &ins, DType type, uint64_t a, uint64_t b, uint64_t c) {
  if (ins.op == Op::cast) return cast(type, ins.type, a);
  if (ins.op == Op::select) return a & 1 ? b : c;
  if (type == DType::bool_) {
    switch (ins.op) {
      case Op::logical_not:
        return !a;
      case Op::logical_and:
      case Op::minimum:
        return a & b;
      case Op::logical_or:
      case Op::maximum:
        return a | b;
      case Op::logical_xor:
        return a ^ b;
      default:
        return compare(ins.op, a, b);
    }
  }
  return with_type(type, [&](auto zero) -> uint64_t {
    using T = decltype(zero);
    const T x = get<T>(type, a), y = get<T>(type, b), z = get<T>(type, c);
    if (compares(ins.op)) return compare(ins.op, x, y);
    if constexpr (std::is_floating_point_v<T>) {
      if (ins.op == Op::is_nan) return std::isnan(x);
      if (ins.op == Op::is_inf) return std::isinf(x);
      if (ins.op == Op::is_finite) return std::isfinite(x);
      return put(ins.type, float_op<T>(ins.op, type, x, y, z));
    } else if constexpr (std::is_same_v<T, bool>) {
      return 0;
    } else {
      return put(ins.type, integer_op<T>(ins.op, x, y));
    }
  });
}

// An array in guarded memory: its highest byte is the last one before an unmapped page.
class Array {
 public:
  Array(DType type, const std::vector<int64_t> &shape, const std::vector<int64_t> &strides)
      : type(type), strides(strides) {
    int64_t low = 0, high = itemsize(type);
    bool is_empty = false;
    for (size_t d = 0; d < shape.size(); d++) {
      is_empty |= shape[d] == 0;
      (strides[d] < 0 ? low : high) += strides[d] * (shape[d] - 1);
    }
    bytes_ = is_empty ? 0 : static_cast<size_t>(high - low);
    const size_t page = 4096;
    mapped_ = (bytes_ + page - 1) / page * page + page;
    map_ = static_cast<char *>(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    CHECK(map_ != MAP_FAILED);
    CHECK(mprotect(map_ + mapped_ - page, page, PROT_NONE) == 0);
    begin_ = map_ + mapped_ - page - bytes_;
    data = begin_ - (is_empty ? 0 : low);
  }
  ~Array() { munmap(map_, mapped_); }
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;

  char *at(const std::vector<int64_t> &index) const {
    char *p = data;
    for (size_t d = 0; d < strides.size(); d++) p += index[d] * strides[d];
    return p;
  }
  uint64_t element(const std::vector<int64_t> &index, int part = 0) const {
    uint64_t raw = 0;
    std::memcpy(&raw, at(index) + part_bytes() * part, static_cast<size_t>(part_bytes()));
    return raw;
  }
  void set(const std::vector<int64_t> &index, uint64_t raw, int part = 0) {
    std::memcpy(at(index) + part_bytes() * part, &raw, static_cast<size_t>(part_bytes()));
  }
  int64_t part_bytes() const noexcept { return itemsize(part_dtype(type)); }
  int n_parts() const noexcept { return is_complex(type) ? 2 : 1; }
  std::vector<char> contents() const { return {begin_, begin_ + bytes_}; }
  void fill(char byte) { std::memset(begin_, byte, bytes_); }

  DType type;
  std::vector<int64_t> strides;
  char *data;

 private:
  char *map_, *begin_;
  size_t mapped_, bytes_;
};

// Calls f(index) for every index of a shape.
template <class F>
void for_each_index(const std::vector<int64_t> &shape, F &&f) {
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t size : shape)
    if (size == 0) return;
  for (;;) {
    f(index);
    size_t d = shape.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

// A value of a type that likes the edges.
inline uint64_t random_element(DType type) {
  const bool edge = random_below(4) == 0;
  switch (category(type)) {
    case 'b':
      return random_bits() & 1;
    case 'f':
    case 'c': {
      static const double edges[] = {0.,  -0.,   1,      -1,   0.5,   2,    INFINITY, -INFINITY,
                                     NAN, 1e-40, -1e-40, 3e38, 65504, 1e-7, 1e10,     -3e9};
      const DType real = part_dtype(type);
      if (edge) return put(real, edges[random_below(16)]);
      return put(real, (static_cast<double>(random_below(2000001)) - 1e6) * (random_below(2) ? 1e-5 : 1e-1));
    }
    default: {
      const int width = 8 * static_cast<int>(itemsize(type));
      const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
      const uint64_t edges[] = {0, 1, 2, 3, mask, mask >> 1, (mask >> 1) + 1, static_cast<uint64_t>(width)};
      if (edge) return edges[random_below(8)] & mask;
      return (random_below(2) ? random_bits() : static_cast<uint64_t>(random_below(41) - 20)) & mask;
    }
  }
}

inline bool same_bits(DType type, uint64_t a, uint64_t b) {
  if (a == b) return true;
  return is_floating(type) && std::isnan(get<double>(type, a)) && std::isnan(get<double>(type, b));
}

// How many representable values lie between two elements.
inline int64_t ulps(DType type, uint64_t a, uint64_t b) {
  if (same_bits(type, a, b)) return 0;
  if (std::isnan(get<double>(type, a)) != std::isnan(get<double>(type, b))) return INT64_MAX;
  const int width = 8 * static_cast<int>(itemsize(type));
  const auto rank = [&](uint64_t raw) {
    const uint64_t sign = uint64_t{1} << (width - 1);
    return static_cast<int64_t>(raw & (sign - 1)) * (raw & sign ? -1 : 1);
  };
  const __int128 distance = static_cast<__int128>(rank(a)) - rank(b);
  const __int128 size = distance < 0 ? -distance : distance;
  return size > INT64_MAX ? INT64_MAX : static_cast<int64_t>(size);
}

}  // namespace reference
