// Micro-ops that move values: loads, stores, select, index, reductions, and the copies between strided and dense
// memory; and the table of the level. Compiled once per instruction set level.
#include "backends/cpu/loop/half.hpp"
#include "backends/cpu/loop/step.hpp"
#include "backends/cpu/shuffle.hpp"

namespace {

constexpr int lanes32 = vector_bytes / 4;

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
#define MX_ONE(k, v)                                                                                          \
  if constexpr (storage == in_u8) v = extend<uint8_t, T>(step->p + at / lane, k);                             \
  if constexpr (storage == in_i8) v = extend<int8_t, S>(step->p + at / lane, k);                              \
  if constexpr (storage == in_u16) v = extend<uint16_t, T>(step->p + at / (lane / 2), k);                     \
  if constexpr (storage == in_i16) v = extend<int16_t, S>(step->p + at / (lane / 2), k);                      \
  if constexpr (storage == in_b32) v = extend<uint32_t, T>(step->p + at / (lane / 4), k);                     \
  if constexpr (storage == in_b64) v = extend<uint64_t, T>(step->p + at, k);                                  \
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
#define MX_ONE(k, v)                                                                                  \
  {                                                                                                   \
    const M mask = filled<M>(form == select_condition ? v : p.get(k));                                \
    const M yes = bits<M>(form == select_condition ? p.get(k) : form == select_first ? v : q.get(k)); \
    const M no = bits<M>(form == select_second ? v : q.get(k));                                       \
    v = bits<V>((yes & mask) | (no & ~mask));                                                         \
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
// b if it is NaN; smaller and larger give a if that is.
template <class X>
struct Least {
  using T = X;
  static X f(X a, X b) {
    if constexpr (is_float<X>)
      return b != b ? b : smaller(b, a);
    else
      return a < b ? a : b;
  }
};
template <class X>
struct Greatest {
  using T = X;
  static X f(X a, X b) {
    if constexpr (is_float<X>)
      return b != b ? b : larger(b, a);
    else
      return a > b ? a : b;
  }
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

// A whole range at once, the accumulators in registers. Combines in the order of the step above. Memory that the second
// cache does not hold is asked for `ahead` bytes before it is read; elsewhere that would only take the place of loads.
constexpr int ahead = 8192;
template <class O, bool far>
MX_INLINE void range(const Step *step) {
  using T = typename O::T;
  const char *const stop = step->p + step->q_mask;
  char *const node = const_cast<char *>(step->q);
  V v0, v1, v2, v3, v4, v5, v6, v7;
#define MX_ONE(k, v) v = load<V>(node + k * vector_bytes);
  MX_EACH(MX_ONE)
#undef MX_ONE
  for (const char *p = step->p; p != stop; p += block_bytes) {
    if constexpr (far)
      for (int line = 0; line < block_bytes; line += 64) __builtin_prefetch(p + ahead + line);
#define MX_ONE(k, v) v = bits<V>(O::f(load<T>(p + k * vector_bytes), bits<T>(v)));
    MX_EACH(MX_ONE)
#undef MX_ONE
  }
#define MX_ONE(k, v) store(node + k * vector_bytes, v);
  MX_EACH(MX_ONE)
#undef MX_ONE
}
template <class O>
void range_step(MX_STEP) {
  (void)offset, (void)v0, (void)v1, (void)v2, (void)v3, (void)v4, (void)v5, (void)v6, (void)v7;
  step->s ? range<O, true>(step) : range<O, false>(step);
}

// For each lane the one `half` away. From memory: the compiler would build it lane by lane.
struct Lanes {
  alignas(64) uint32_t at[lanes32];
};
constexpr Lanes across(int half) {
  Lanes lanes{};
  for (int i = 0; i < lanes32; i++) lanes.at[i] = static_cast<uint32_t>(i ^ half);
  return lanes;
}
template <class O, int half, int lane>
MX_INLINE typename O::T fold_lanes(typename O::T x) {
  if constexpr (half * 4 >= lane) {
    static constexpr Lanes from = across(half);
    const U there = load<U>(reinterpret_cast<const char *>(from.at));
    return fold_lanes<O, half / 2, lane>(O::f(x, bits<typename O::T>(MX_SHUFFLE(bits<U>(x), there))));
  } else {
    return x;
  }
}

// The lanes of the block folded into the first one, halving each time: vectors, then lanes of the tape's width.
template <class O, int lane>
void fold(MX_STEP) {
  using T = typename O::T;
  const T a = O::f(bits<T>(v0), bits<T>(v4)), b = O::f(bits<T>(v1), bits<T>(v5));
  const T c = O::f(bits<T>(v2), bits<T>(v6)), d = O::f(bits<T>(v3), bits<T>(v7));
  v0 = bits<V>(fold_lanes<O, lanes32 / 2, lane>(O::f(O::f(a, c), O::f(b, d))));
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

// Rows of 32-bit elements a vector of rows and columns at a time: each of log2 rounds interleaves row i with row
// i + half.
inline void transpose_square(char *dense, int64_t pitch, const char *strided, int64_t stride) {
  U x[lanes32], y[lanes32], low{}, high{};
  for (int i = 0; i < lanes32; i++) {
    low[i] = static_cast<uint32_t>(i / 2 + i % 2 * lanes32);
    high[i] = low[i] + lanes32 / 2;
  }
#pragma GCC unroll 16
  for (int i = 0; i < lanes32; i++) x[i] = load<U>(strided + i * stride);
#pragma GCC unroll 4
  for (int round = 1; round < lanes32; round *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < lanes32 / 2; i++) {
      y[2 * i] = MX_SHUFFLE(x[i], x[i + lanes32 / 2], low);
      y[2 * i + 1] = MX_SHUFFLE(x[i], x[i + lanes32 / 2], high);
    }
#pragma GCC unroll 16
    for (int i = 0; i < lanes32; i++) x[i] = y[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < lanes32; i++) store(dense + i * pitch, x[i]);
}
template <class T>
void transpose(char *dense, int64_t pitch, const char *strided, int64_t stride, int64_t rows, int64_t n) {
  constexpr int64_t size = sizeof(T);
  int64_t done = 0;  // columns of whole squares
  if (size == 4 && rows % lanes32 == 0)
    for (; done + lanes32 <= n; done += lanes32)
      for (int64_t r = 0; r < rows; r += lanes32)
        transpose_square(dense + r * pitch + done * size, pitch, strided + done * stride + r * size, stride);
  for (int64_t i = done; i < n; i++)
    for (int64_t r = 0; r < rows; r++) store(dense + r * pitch + i * size, load<T>(strided + i * stride + r * size));
}

#define MX_LOAD(storage)                                               \
  MX_ENTRY(micro_load, kind_u32, storage, load_block<storage, false>), \
      MX_ENTRY(micro_load, kind_u64, storage, load_block<storage, true>)
#define MX_STORE(storage)                                                \
  MX_ENTRY(micro_store, kind_u32, storage, store_block<storage, false>), \
      MX_ENTRY(micro_store, kind_u64, storage, store_block<storage, true>)
#define MX_SELECT(form) \
  MX_ENTRY(Op::select, kind_u32, form, select<U, form>), MX_ENTRY(Op::select, kind_u64, form, select<W, form>)
#define MX_REDUCE_(op, kind, O)                                                                       \
  MX_ENTRY(Op::op, kind, reduce_combine, reduce<O>), MX_ENTRY(Op::op, kind, reduce_fold, fold<O, 4>), \
      MX_ENTRY(Op::op, kind, reduce_fold_wide, fold<O, 8>), MX_ENTRY(Op::op, kind, reduce_range, range_step<O>)
#define MX_REDUCE(op, O)                                                                          \
  MX_REDUCE_(op, kind_f32, O<F>), MX_REDUCE_(op, kind_i32, O<I>), MX_REDUCE_(op, kind_u32, O<U>), \
      MX_REDUCE_(op, kind_f64, O<D>), MX_REDUCE_(op, kind_i64, O<L>), MX_REDUCE_(op, kind_u64, O<W>)
#define MX_WRAPPING(op, O)                                                                        \
  MX_REDUCE_(op, kind_f32, O<F>), MX_REDUCE_(op, kind_i32, O<U>), MX_REDUCE_(op, kind_u32, O<U>), \
      MX_REDUCE_(op, kind_f64, O<D>), MX_REDUCE_(op, kind_i64, O<W>), MX_REDUCE_(op, kind_u64, O<W>)

const Entry entries[] = {
    MX_ENTRY(micro_get, kind_u32, form_am, get),
    MX_ENTRY(micro_get, kind_u64, form_am, get),
    MX_ENTRY(micro_get, kind_u32, form_as, get_scalar<U>),
    MX_ENTRY(micro_get, kind_u64, form_as, get_scalar<W>),
    MX_ENTRY(micro_put, 0, 0, put),
    MX_ENTRY(micro_put_stream, 0, 0, put_stream),
    MX_LOAD(in_u8),
    MX_LOAD(in_i8),
    MX_LOAD(in_u16),
    MX_LOAD(in_i16),
    MX_LOAD(in_b32),
    MX_LOAD(in_f16),
    MX_LOAD(in_bf16),
    MX_ENTRY(micro_load, kind_u64, in_b64, load_block<in_b64, true>),
    MX_STORE(in_u8),
    MX_STORE(in_u16),
    MX_STORE(in_b32),
    MX_STORE(in_f16),
    MX_STORE(in_bf16),
    MX_ENTRY(micro_store, kind_u64, in_b64, store_block<in_b64, true>),
    MX_ENTRY(micro_index, kind_u32, 0, index<U>),
    MX_ENTRY(micro_index, kind_u64, 0, index<W>),
    MX_SELECT(select_condition),
    MX_SELECT(select_first),
    MX_SELECT(select_second),
    MX_WRAPPING(reduce_sum, Sum),
    MX_WRAPPING(reduce_prod, Product),
    MX_REDUCE(reduce_min, Least),
    MX_REDUCE(reduce_max, Greatest),
    MX_REDUCE_(reduce_all, kind_u32, And<U>),
    MX_REDUCE_(reduce_any, kind_u32, Or<U>),
    MX_ENTRY(micro_end, 0, 0, end),
};

}  // namespace

MX_PART(memory, entries);

extern "C" const Part MX_PART_(loop_float_), MX_PART_(loop_int_), MX_PART_(loop_math_), MX_PART_(loop_lanes_),
    MX_PART_(loop_convert_);
extern "C" const StepFn MX_PART_(loop_pairs_)[n_simple][n_second];
extern "C" const LanesFn MX_PART_(loop_rare_)[n_rares];

namespace {
const Part *const parts[] = {&MX_PART_(loop_memory_), &MX_PART_(loop_float_), &MX_PART_(loop_int_),
                             &MX_PART_(loop_math_),   &MX_PART_(loop_lanes_), &MX_PART_(loop_convert_)};
}  // namespace

// The table of the level: the only symbol that survives the joining of its objects.
extern "C" const Level MX_PART_(loop_);
extern "C" const Level MX_PART_(loop_) = {
    MX_STRING(MX_LEVEL),
    vector_bytes,
    run,
    {pack<uint8_t>, pack<uint16_t>, pack_4, pack<uint64_t>},
    {unpack<uint8_t>, unpack<uint16_t>, unpack<uint32_t>, unpack<uint64_t>},
    {transpose<uint8_t>, transpose<uint16_t>, transpose<uint32_t>, transpose<uint64_t>},
    fence,
    MX_PART_(loop_pairs_),
    MX_PART_(loop_rare_),
    parts,
    sizeof parts / sizeof parts[0]};
