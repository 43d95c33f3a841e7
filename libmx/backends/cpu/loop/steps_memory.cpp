// Micro-ops that move and convert: loads, stores, casts, rounding, select, index, reductions, and the copies between
// strided and dense memory. Compiled once per instruction set level.
#include "backends/cpu/loop/step.hpp"

namespace {

constexpr int lanes32 = vector_bytes / 4;

// ---- float16 and bfloat16 in the bits of 32-bit lanes

#if defined(__AVX512F__)
inline F from_half(U h) { return _mm512_maskz_cvtph_ps(0xffff, bits<__m256i>(__builtin_convertvector(h, Vec<uint16_t, 32>))); }
inline U to_half(F x) {
  return __builtin_convertvector(bits<Vec<uint16_t, 32>>(_mm512_maskz_cvtps_ph(0xffff, x, _MM_FROUND_TO_NEAREST_INT)), U);
}
#elif defined(__F16C__)
inline F from_half(U h) { return _mm256_cvtph_ps(bits<__m128i>(__builtin_convertvector(h, Vec<uint16_t, 16>))); }
inline U to_half(F x) {
  return __builtin_convertvector(bits<Vec<uint16_t, 16>>(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT)), U);
}
#else
inline F from_half(U h) {
  const U sign = (h & 0x8000u) << 16, magnitude = h & 0x7fffu;
  // The exponent is rebased by a multiplication, which also makes denormals normal.
  F x = bits<F>(magnitude << 13) * 0x1p112f;
  x = magnitude >= 0x7c00u ? bits<F>((magnitude << 13) | 0x7f800000u) : x;
  x = magnitude > 0x7c00u ? bits<F>(bits<U>(x) | 0x400000u) : x;
  return bits<F>(bits<U>(x) | sign);
}
inline U to_half(F x) {
  const U raw = bits<U>(x), sign = (raw >> 16) & 0x8000u, magnitude = raw & 0x7fffffffu;
  const U normal = (magnitude + 0xc8000fffu + ((magnitude >> 13) & 1u)) >> 13;
  // Adding 1/2 lets the float32 adder round a denormal result at the right bit.
  const U denormal = bits<U>(bits<F>(magnitude) + 0.5f) - 0x3f000000u;
  U h = bits<I>(magnitude) < 0x38800000 ? denormal : normal;
  h = magnitude >= 0x477ff000u ? U{} + 0x7c00u : h;
  h = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x3ffu) : h;
  return h | sign;
}
#endif
inline F from_brain(U h) { return bits<F>(h << 16); }
inline U to_brain(F x) {
  const U raw = bits<U>(x);
  const U rounded = (raw + 0x7fffu + ((raw >> 16) & 1u)) >> 16;
  return x != x ? (raw >> 16) | 0x40u : rounded;
}

// ---- loads and stores

template <bool wide>
struct Lane {
  using Unsigned = U;
  using Signed = I;
};
template <>
struct Lane<true> {
  using Unsigned = W;
  using Signed = L;
};

// Memory of type M to lanes of type T and on to the float32 that holds a half.
template <class M, class T>
inline V extend(const char *at, int k) {
  using Dense = Vec<M, sizeof(M) * (vector_bytes / sizeof(T{}[0]))>;
  return bits<V>(__builtin_convertvector(load<Dense>(at + k * sizeof(Dense)), T));
}
template <Storage storage, bool wide>
void load_block(MX_STEP) {
  const int64_t at = offset & step->p_mask;
  constexpr int lane = wide ? 8 : 4;
  using T = typename Lane<wide>::Unsigned;
  using S = typename Lane<wide>::Signed;
#define MX_ONE(k, v)                                                                                      \
  if constexpr (storage == in_u8) v = extend<uint8_t, T>(step->p + at / lane, k);                         \
  if constexpr (storage == in_i8) v = extend<int8_t, S>(step->p + at / lane, k);                          \
  if constexpr (storage == in_u16) v = extend<uint16_t, T>(step->p + at / (lane / 2), k);                 \
  if constexpr (storage == in_i16) v = extend<int16_t, S>(step->p + at / (lane / 2), k);                  \
  if constexpr (storage == in_b32) v = extend<uint32_t, T>(step->p + at / (lane / 4), k);                 \
  if constexpr (storage == in_b64) v = extend<uint64_t, T>(step->p + at, k);                              \
  if constexpr (storage == in_f16) v = from_half(bits<U>(extend<uint16_t, T>(step->p + at / (lane / 2), k))); \
  if constexpr (storage == in_bf16) v = from_brain(bits<U>(extend<uint16_t, T>(step->p + at / (lane / 2), k)));
  MX_EACH(MX_ONE)
#undef MX_ONE
  MX_NEXT;
}

template <class M, class T>
inline void shorten(char *at, int k, V v) {
  using Dense = Vec<M, sizeof(M) * (vector_bytes / sizeof(T{}[0]))>;
  store(at + k * sizeof(Dense), __builtin_convertvector(bits<T>(v), Dense));
}
template <Storage storage, bool wide>
void store_block(MX_STEP) {
  char *const p = const_cast<char *>(step->p);
  const int64_t at = offset & step->p_mask;
  constexpr int lane = wide ? 8 : 4;
  using T = typename Lane<wide>::Unsigned;
#define MX_ONE(k, v)                                                                                  \
  if constexpr (storage == in_u8) shorten<uint8_t, T>(p + at / lane, k, v);                           \
  if constexpr (storage == in_u16) shorten<uint16_t, T>(p + at / (lane / 2), k, v);                   \
  if constexpr (storage == in_b32) shorten<uint32_t, T>(p + at / (lane / 4), k, v);                   \
  if constexpr (storage == in_b64) shorten<uint64_t, T>(p + at, k, v);                                \
  if constexpr (storage == in_f16) shorten<uint16_t, T>(p + at / (lane / 2), k, bits<V>(to_half(v))); \
  if constexpr (storage == in_bf16) shorten<uint16_t, T>(p + at / (lane / 2), k, bits<V>(to_brain(v)));
  MX_EACH(MX_ONE)
#undef MX_ONE
  MX_NEXT;
}

void get(MX_STEP) {
  const MemP<V> p(step, offset);
#define MX_ONE(k, v) v = p.get(k);
  MX_EACH(MX_ONE)
#undef MX_ONE
  MX_NEXT;
}
template <class T>
void get_scalar(MX_STEP) {
  v0 = v1 = v2 = v3 = v4 = v5 = v6 = v7 = bits<V>(immediate<T>(step->s));
  MX_NEXT;
}
void put(MX_STEP) {
  char *const p = const_cast<char *>(step->p) + (offset & step->p_mask);
#define MX_ONE(k, v) store(p + k * vector_bytes, v);
  MX_EACH(MX_ONE)
#undef MX_ONE
  MX_NEXT;
}
inline void stream(void *p, V v) {
#if defined(__AVX512F__)
  _mm512_stream_ps(static_cast<float *>(p), v);
#elif defined(__AVX2__)
  _mm256_stream_ps(static_cast<float *>(p), v);
#elif defined(__SSE2__)
  _mm_stream_ps(static_cast<float *>(p), v);
#else
  store(p, v);
#endif
}
void put_stream(MX_STEP) {
  char *const p = const_cast<char *>(step->p) + (offset & step->p_mask);
#define MX_ONE(k, v) stream(p + k * vector_bytes, v);
  MX_EACH(MX_ONE)
#undef MX_ONE
  MX_NEXT;
}

// ---- positions: the scalar plus, where p_mask is set, the lane's place in the run

template <class T>
void index(MX_STEP) {
  using N = __typeof__(T{}[0] + 0);
  constexpr int n = vector_bytes / sizeof(N);
  T lane{};
  for (int i = 0; i < n; i++) lane[i] = static_cast<N>(i);
  const N start = static_cast<N>(step->s) + static_cast<N>((offset & step->p_mask) / static_cast<int64_t>(sizeof(N)));
  const N moves = step->p_mask ? 1 : 0;
#define MX_ONE(k, v) v = bits<V>((lane + static_cast<N>(k * n)) * moves + start);
  MX_EACH(MX_ONE)
#undef MX_ONE
  MX_NEXT;
}

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

// ---- casts. A float that no int64 holds gives INT64_MIN, as the x86 conversion does, and is then wrapped.

inline int64_t to_i64(double x) { return x >= -0x1p63 && x < 0x1p63 ? static_cast<int64_t>(x) : INT64_MIN; }
inline uint64_t to_u64(double x) {
  return x >= 0x1p63 ? static_cast<uint64_t>(to_i64(x - 0x1p63)) ^ 0x8000000000000000ull : static_cast<uint64_t>(to_i64(x));
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

// ---- select

template <class M>
inline M filled(V condition) {  // 0 or 1 in the low half to 0 or -1 in the whole lane
  if constexpr (sizeof(M{}[0]) == 4)
    return -bits<M>(condition);
  else
    return -(bits<M>(condition) & 1);
}
template <class M, SelectForm form>
void select(MX_STEP) {
  const MemP<V> p(step, offset);
  const MemQ<V> q(step, offset);
#define MX_ONE(k, v)                                                                                 \
  {                                                                                                  \
    const M mask = filled<M>(form == select_condition ? v : p.get(k));                               \
    const M yes = bits<M>(form == select_condition ? p.get(k) : form == select_first ? v : q.get(k)); \
    const M no = bits<M>(form == select_second ? v : q.get(k));                                      \
    v = bits<V>((yes & mask) | (no & ~mask));                                                        \
  }
  MX_EACH(MX_ONE)
#undef MX_ONE
  MX_NEXT;
}

// ---- reductions: the accumulators are memory, the block is combined into them and stays as it is

template <class X>
struct Sum {
  using T = X;
  static X f(X a, X b) { return a + b; }
};
template <class X>
struct Product {
  using T = X;
  static X f(X a, X b) { return a * b; }
};
template <class X>
struct Least {
  using T = X;
  static X f(X a, X b) { return (a != a) | (a < b) ? a : b; }
};
template <class X>
struct Greatest {
  using T = X;
  static X f(X a, X b) { return (a != a) | (a > b) ? a : b; }
};
template <class X>
struct And {
  using T = X;
  static X f(X a, X b) { return a & b; }
};
template <class X>
struct Or {
  using T = X;
  static X f(X a, X b) { return a | b; }
};
template <class O>
void reduce(MX_STEP) {
  using T = typename O::T;
  char *const p = const_cast<char *>(step->p) + (offset & step->p_mask);
#define MX_ONE(k, v) store(p + k * vector_bytes, O::f(bits<T>(v), load<T>(p + k * vector_bytes)));
  MX_EACH(MX_ONE)
#undef MX_ONE
  MX_NEXT;
}

// The lanes of the block folded into the first one, halving each time: vectors, then lanes of the tape's width.
template <class O, int lane>
void fold(MX_STEP) {
  using T = typename O::T;
  const T a = O::f(bits<T>(v0), bits<T>(v4)), b = O::f(bits<T>(v1), bits<T>(v5));
  const T c = O::f(bits<T>(v2), bits<T>(v6)), d = O::f(bits<T>(v3), bits<T>(v7));
  T x = O::f(O::f(a, c), O::f(b, d));
  for (int half = lanes32 / 2; half * 4 >= lane; half /= 2) {
    U from{};
    for (int i = 0; i < lanes32; i++) from[i] = static_cast<uint32_t>(i ^ half);
    x = O::f(x, bits<T>(__builtin_shuffle(bits<U>(x), from)));
  }
  v0 = bits<V>(x);
  MX_NEXT;
}

// ---- the level's loop and its end

void end(MX_STEP) {
  (void)step, (void)offset, (void)v0, (void)v1, (void)v2, (void)v3, (void)v4, (void)v5, (void)v6, (void)v7;
}
void run(const Step *tape, int64_t begin, int64_t stop) {
  const Fn first = reinterpret_cast<Fn>(tape->fn);
  const V z{};
  for (int64_t offset = begin; offset < stop; offset += block_bytes) first(tape, offset, z, z, z, z, z, z, z, z);
#if defined(__AVX__)
  _mm256_zeroupper();  // the caller is code for the smallest level
#endif
}
void fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// ---- copies between strided and dense memory

template <class T>
void pack(char *dense, const char *strided, int64_t stride, int64_t n) {
  if (stride == 0) {
    using Lanes = Vec<T>;
    const T x = load<T>(strided);
    const Lanes many = Lanes{} + x;
    constexpr int64_t lanes = vector_bytes / sizeof(T);
    for (; n >= lanes; n -= lanes, dense += vector_bytes) store(dense, many);
    for (; n > 0; n--, dense += sizeof(T)) store(dense, x);
    return;
  }
  if (stride == sizeof(T)) {
    memcpy(dense, strided, static_cast<size_t>(n) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < n; i++) store(dense + i * sizeof(T), load<T>(strided + i * stride));
}
template <class T>
void unpack(char *strided, const char *dense, int64_t stride, int64_t n) {
  if (stride == sizeof(T)) {
    memcpy(strided, dense, static_cast<size_t>(n) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < n; i++) store(strided + i * stride, load<T>(dense + i * sizeof(T)));
}
// The parts of complex numbers: every other element.
void pack_4(char *dense, const char *strided, int64_t stride, int64_t n) {
  if (stride == 8) {
    // One vector less than there are, since the last one's other half may lie outside of the array.
    for (; n > lanes32; n -= lanes32, dense += vector_bytes, strided += 2 * vector_bytes) {
      U pair[2] = {load<U>(strided), load<U>(strided + vector_bytes)}, x;
      for (int i = 0; i < lanes32; i++) x[i] = pair[2 * i / lanes32][2 * i % lanes32];
      store(dense, x);
    }
  }
  pack<uint32_t>(dense, strided, stride, n);
}

#define MX_LOAD(storage)                                           \
  MX_ENTRY(micro_load, kind_u32, storage, load_block<storage, false>), \
      MX_ENTRY(micro_load, kind_u64, storage, load_block<storage, true>)
#define MX_STORE(storage)                                            \
  MX_ENTRY(micro_store, kind_u32, storage, store_block<storage, false>), \
      MX_ENTRY(micro_store, kind_u64, storage, store_block<storage, true>)
#define MX_NORMALISE(storage) MX_ENTRY(micro_normalise, 0, storage, unary<Normalise<storage>>)
#define MX_SELECT(form) \
  MX_ENTRY(Op::select, kind_u32, form, select<U, form>), MX_ENTRY(Op::select, kind_u64, form, select<W, form>)
// Form 0 combines into memory, 1 and 2 fold the block of a narrow and of a wide tape.
#define MX_REDUCE_(op, kind, O)                                                             \
  MX_ENTRY(Op::op, kind, reduce_combine, reduce<O>), MX_ENTRY(Op::op, kind, reduce_fold, fold<O, 4>), \
      MX_ENTRY(Op::op, kind, reduce_fold_wide, fold<O, 8>)
#define MX_REDUCE(op, O)                                                                          \
  MX_REDUCE_(op, kind_f32, O<F>), MX_REDUCE_(op, kind_i32, O<I>), MX_REDUCE_(op, kind_u32, O<U>), \
      MX_REDUCE_(op, kind_f64, O<D>), MX_REDUCE_(op, kind_i64, O<L>), MX_REDUCE_(op, kind_u64, O<W>)
#define MX_WRAPPING(op, O)                                                                        \
  MX_REDUCE_(op, kind_f32, O<F>), MX_REDUCE_(op, kind_i32, O<U>), MX_REDUCE_(op, kind_u32, O<U>), \
      MX_REDUCE_(op, kind_f64, O<D>), MX_REDUCE_(op, kind_i64, O<W>), MX_REDUCE_(op, kind_u64, O<W>)
#define MX_CAST(from, to, ...) MX_ENTRY(Op::cast, from, to, __VA_ARGS__)

const Entry entries[] = {
    MX_ENTRY(micro_get, kind_u32, form_am, get), MX_ENTRY(micro_get, kind_u64, form_am, get),
    MX_ENTRY(micro_get, kind_u32, form_as, get_scalar<U>), MX_ENTRY(micro_get, kind_u64, form_as, get_scalar<W>),
    MX_ENTRY(micro_put, 0, 0, put), MX_ENTRY(micro_put_stream, 0, 0, put_stream),
    MX_LOAD(in_u8), MX_LOAD(in_i8), MX_LOAD(in_u16), MX_LOAD(in_i16), MX_LOAD(in_b32), MX_LOAD(in_f16),
    MX_LOAD(in_bf16),
    MX_ENTRY(micro_load, kind_u64, in_b64, load_block<in_b64, true>),
    MX_STORE(in_u8), MX_STORE(in_u16), MX_STORE(in_b32), MX_STORE(in_f16), MX_STORE(in_bf16),
    MX_ENTRY(micro_store, kind_u64, in_b64, store_block<in_b64, true>),
    MX_ENTRY(micro_index, kind_u32, 0, index<U>), MX_ENTRY(micro_index, kind_u64, 0, index<W>),
    MX_NORMALISE(in_u8), MX_NORMALISE(in_i8), MX_NORMALISE(in_u16), MX_NORMALISE(in_i16), MX_NORMALISE(in_f16),
    MX_NORMALISE(in_bf16),
    MX_CAST(kind_f32, kind_i32, f32_to_32), MX_CAST(kind_f32, kind_u32, f32_to_32),
    MX_CAST(kind_f32, kind_f64, turn<ToF64<float>>), MX_CAST(kind_f32, kind_i64, convert<float, int64_t, f32_i64>),
    MX_CAST(kind_f32, kind_u64, convert<float, uint64_t, f32_u64>),
    MX_CAST(kind_i32, kind_f32, turn<I32ToF32>), MX_CAST(kind_i32, kind_u32, same),
    MX_CAST(kind_i32, kind_f64, turn<ToF64<int32_t>>), MX_CAST(kind_i32, kind_i64, turn<I32To64>),
    MX_CAST(kind_i32, kind_u64, turn<I32To64>),
    MX_CAST(kind_u32, kind_f32, turn<U32ToF32>), MX_CAST(kind_u32, kind_i32, same),
    MX_CAST(kind_u32, kind_f64, turn<ToF64<uint32_t>>), MX_CAST(kind_u32, kind_i64, turn<U32To64>),
    MX_CAST(kind_u32, kind_u64, turn<U32To64>),
    MX_CAST(kind_f64, kind_f32, turn<F64ToF32>), MX_CAST(kind_f64, kind_i32, convert<double, int64_t, to_i64>),
    MX_CAST(kind_f64, kind_u32, convert<double, int64_t, to_i64>),
    MX_CAST(kind_f64, kind_i64, convert<double, int64_t, to_i64>),
    MX_CAST(kind_f64, kind_u64, convert<double, uint64_t, to_u64>),
    MX_CAST(kind_i64, kind_f32, convert<int64_t, float, i64_f32>), MX_CAST(kind_i64, kind_i32, same),
    MX_CAST(kind_i64, kind_u32, same), MX_CAST(kind_i64, kind_f64, convert<int64_t, double, i64_f64>),
    MX_CAST(kind_i64, kind_u64, same),
    MX_CAST(kind_u64, kind_f32, convert<uint64_t, float, u64_f32>), MX_CAST(kind_u64, kind_i32, same),
    MX_CAST(kind_u64, kind_u32, same), MX_CAST(kind_u64, kind_f64, convert<uint64_t, double, u64_f64>),
    MX_CAST(kind_u64, kind_i64, same),
    MX_ENTRY(micro_to_f32_odd, kind_f64, 0, turn<F64ToF32Odd>),
    MX_SELECT(select_condition), MX_SELECT(select_first), MX_SELECT(select_second),
    MX_WRAPPING(reduce_sum, Sum), MX_WRAPPING(reduce_prod, Product), MX_REDUCE(reduce_min, Least),
    MX_REDUCE(reduce_max, Greatest),
    MX_REDUCE_(reduce_all, kind_u32, And<U>), MX_REDUCE_(reduce_any, kind_u32, Or<U>),
    MX_ENTRY(micro_end, 0, 0, end),
};

}  // namespace

MX_PART(memory, entries);

extern "C" const Part MX_PART_(loop_float_), MX_PART_(loop_int_), MX_PART_(loop_math_), MX_PART_(loop_lanes_);
extern "C" const StepFn MX_PART_(loop_pairs_)[n_simple][n_second];

namespace {
const Part *const parts[] = {&MX_PART_(loop_memory_), &MX_PART_(loop_float_), &MX_PART_(loop_int_),
                             &MX_PART_(loop_math_), &MX_PART_(loop_lanes_)};
}  // namespace

// The table of the level: the only symbol that survives the joining of its objects.
extern "C" const Level MX_PART_(loop_);
extern "C" const Level MX_PART_(loop_) = {
    MX_STRING(MX_LEVEL), vector_bytes, run, {pack<uint8_t>, pack<uint16_t>, pack_4, pack<uint64_t>},
    {unpack<uint8_t>, unpack<uint16_t>, unpack<uint32_t>, unpack<uint64_t>}, fence, MX_PART_(loop_pairs_), parts,
    sizeof parts / sizeof parts[0]};
