// Micro-ops that convert values: casts between lanes and rounding to narrower types. Compiled once per instruction set
// level.
#include "backends/cpu/loop/half.hpp"
#include "backends/cpu/loop/step.hpp"

namespace {

// ---- rounding to a narrower type

template <Storage storage>
struct Normalise {
  using T = V;
  static V f(V v) {
    if constexpr (storage == in_u8) return bits<V>(bits<U>(v) & 0xffu);
    if constexpr (storage == in_u16) return bits<V>(bits<U>(v) & 0xffffu);
    if constexpr (storage == in_i8) return bits<V>(bits<I>(bits<U>(v) << 24) >> 24);
    if constexpr (storage == in_i16) return bits<V>(bits<I>(bits<U>(v) << 16) >> 16);
    if constexpr (storage == in_f16) return from_half(to_half(v));
    if constexpr (storage == in_bf16) return from_brain(to_brain(v));
  }
};

// ---- casts
inline uint64_t to_u64(double x) {
  return x >= 0x1p63 ? static_cast<uint64_t>(to_i64(x - 0x1p63)) ^ 0x8000000000000000ull
                     : static_cast<uint64_t>(to_i64(x));
}

// The low halves of 64-bit lanes as a dense vector of half the size, and back.
template <class M>
inline Vec<M, vector_bytes / 2> dense(V v) {
  return bits<Vec<M, vector_bytes / 2>>(__builtin_convertvector(bits<W>(v), Vec<uint32_t, vector_bytes / 2>));
}
template <class Half>
inline V spread(Half h) {
  return bits<V>(__builtin_convertvector(bits<Vec<uint32_t, vector_bytes / 2>>(h), W));
}

__attribute__((noinline)) void wrap_lanes(void *block) {
  for (int i = 0; i < block_bytes / 4; i++) {
    float x;
    memcpy(&x, static_cast<char *>(block) + 4 * i, 4);
    const uint32_t y = static_cast<uint32_t>(to_i64(x));
    memcpy(static_cast<char *>(block) + 4 * i, &y, 4);
  }
}
void f32_to_32(MX_STEP) {
  I outside{};
#define MX_ONE(k, v) outside |= ~(abs(v) < 0x1p31f);
  MX_EACH(MX_ONE)
#undef MX_ONE
  if (any(outside)) {
    spill(step, v0, v1, v2, v3, v4, v5, v6, v7);
    wrap_lanes(step->scratch);
    MX_UNSPILL
    MX_NEXT;
  }
#define MX_ONE(k, v) v = bits<V>(to_int(v));
  MX_EACH(MX_ONE)
#undef MX_ONE
  MX_NEXT;
}
struct I32ToF32 {
  using T = I;
  static F f(I x) { return __builtin_convertvector(x, F); }
};
struct U32ToF32 {
  using T = U;
  static F f(U x) {
    // Both parts are exact; their sum rounds once.
    return __builtin_convertvector(bits<I>(x >> 16), F) * 65536.f + __builtin_convertvector(bits<I>(x & 0xffffu), F);
  }
};
template <class M>
struct ToF64 {  // float32, int32 or uint32 in the low halves
  using T = V;
  static V f(V x) { return bits<V>(__builtin_convertvector(dense<M>(x), D)); }
};
struct I32To64 {
  using T = L;
  static V f(L x) { return bits<V>(bits<L>(bits<W>(x) << 32) >> 32); }
};
struct U32To64 {
  using T = W;
  static V f(W x) { return bits<V>(x & 0xffffffffull); }
};
struct F64ToF32 {
  using T = D;
  static V f(D x) { return spread(__builtin_convertvector(x, Vec<float, vector_bytes / 2>)); }
};
// If the rounding was not exact and the result is even, its odd neighbour on the side of x is the answer.
struct F64ToF32Odd {
  using T = D;
  static V f(D x) {
    using Half = Vec<float, vector_bytes / 2>;
    const V y = spread(__builtin_convertvector(x, Half));
    const D back = __builtin_convertvector(dense<float>(y), D);
    const L even = (bits<L>(y) & 1) - 1;
    const L up = bits<L>(abs(back) < abs(x)) & even, down = bits<L>(abs(back) > abs(x)) & even;
    return bits<V>(bits<L>(y) - up + down);
  }
};

template <class From, class To, To (*function)(From)>
__attribute__((noinline)) void convert_lanes(void *block) {
  for (int i = 0; i < block_bytes / 8; i++) {
    From x;
    memcpy(&x, static_cast<char *>(block) + 8 * i, sizeof x);
    const To y = function(x);
    memcpy(static_cast<char *>(block) + 8 * i, &y, sizeof y);
  }
}
template <class From, class To, To (*function)(From)>
void convert(MX_STEP) {
  spill(step, v0, v1, v2, v3, v4, v5, v6, v7);
  convert_lanes<From, To, function>(step->scratch);
  MX_UNSPILL MX_NEXT;
}
inline int64_t f32_i64(float x) { return to_i64(x); }
inline uint64_t f32_u64(float x) { return to_u64(x); }
inline float i64_f32(int64_t x) { return static_cast<float>(x); }
inline float u64_f32(uint64_t x) { return static_cast<float>(x); }
inline double i64_f64(int64_t x) { return static_cast<double>(x); }
inline double u64_f64(uint64_t x) { return static_cast<double>(x); }
void same(MX_STEP) { MX_NEXT; }

template <class O>
void turn(MX_STEP) {
#define MX_ONE(k, v) v = bits<V>(O::f(bits<typename O::T>(v)));
  MX_EACH(MX_ONE)
#undef MX_ONE
  MX_NEXT;
}

#define MX_NORMALISE(storage) MX_ENTRY(micro_normalise, 0, storage, unary<Normalise<storage>>)
#define MX_CAST(from, to, ...) MX_ENTRY(Op::cast, from, to, __VA_ARGS__)

const Entry entries[] = {
    MX_NORMALISE(in_u8),
    MX_NORMALISE(in_i8),
    MX_NORMALISE(in_u16),
    MX_NORMALISE(in_i16),
    MX_NORMALISE(in_f16),
    MX_NORMALISE(in_bf16),
    MX_CAST(kind_f32, kind_i32, f32_to_32),
    MX_CAST(kind_f32, kind_u32, f32_to_32),
    MX_CAST(kind_f32, kind_f64, turn<ToF64<float>>),
    MX_CAST(kind_f32, kind_i64, convert<float, int64_t, f32_i64>),
    MX_CAST(kind_f32, kind_u64, convert<float, uint64_t, f32_u64>),
    MX_CAST(kind_i32, kind_f32, turn<I32ToF32>),
    MX_CAST(kind_i32, kind_u32, same),
    MX_CAST(kind_i32, kind_f64, turn<ToF64<int32_t>>),
    MX_CAST(kind_i32, kind_i64, turn<I32To64>),
    MX_CAST(kind_i32, kind_u64, turn<I32To64>),
    MX_CAST(kind_u32, kind_f32, turn<U32ToF32>),
    MX_CAST(kind_u32, kind_i32, same),
    MX_CAST(kind_u32, kind_f64, turn<ToF64<uint32_t>>),
    MX_CAST(kind_u32, kind_i64, turn<U32To64>),
    MX_CAST(kind_u32, kind_u64, turn<U32To64>),
    MX_CAST(kind_f64, kind_f32, turn<F64ToF32>),
    MX_CAST(kind_f64, kind_i32, convert<double, int64_t, to_i64>),
    MX_CAST(kind_f64, kind_u32, convert<double, int64_t, to_i64>),
    MX_CAST(kind_f64, kind_i64, convert<double, int64_t, to_i64>),
    MX_CAST(kind_f64, kind_u64, convert<double, uint64_t, to_u64>),
    MX_CAST(kind_i64, kind_f32, convert<int64_t, float, i64_f32>),
    MX_CAST(kind_i64, kind_i32, same),
    MX_CAST(kind_i64, kind_u32, same),
    MX_CAST(kind_i64, kind_f64, convert<int64_t, double, i64_f64>),
    MX_CAST(kind_i64, kind_u64, same),
    MX_CAST(kind_u64, kind_f32, convert<uint64_t, float, u64_f32>),
    MX_CAST(kind_u64, kind_i32, same),
    MX_CAST(kind_u64, kind_u32, same),
    MX_CAST(kind_u64, kind_f64, convert<uint64_t, double, u64_f64>),
    MX_CAST(kind_u64, kind_i64, same),
    MX_ENTRY(micro_to_f32_odd, kind_f64, 0, turn<F64ToF32Odd>),
};

}  // namespace

MX_PART(convert, entries);
