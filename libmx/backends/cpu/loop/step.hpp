// How a micro-op is written: functions that take the block in eight registers, do their part and tail-call the next
// step. Included only by the per-level sources.
#pragma once
#include "backends/cpu/loop/tape.hpp"
#include "backends/cpu/loop/vector.hpp"

namespace {

using namespace mx::loop;

// Functions over several vectors keep them in registers only if nothing of them is a call.
#define MX_INLINE __attribute__((always_inline)) inline
#define MX_BLOCK V v0, V v1, V v2, V v3, V v4, V v5, V v6, V v7
#define MX_STEP const Step *step, int64_t offset, MX_BLOCK
using Fn = void (*)(MX_STEP);
#define MX_NEXT return reinterpret_cast<Fn>(step[1].fn)(step + 1, offset, v0, v1, v2, v3, v4, v5, v6, v7)
#define MX_EACH(M) M(0, v0) M(1, v1) M(2, v2) M(3, v3) M(4, v4) M(5, v5) M(6, v6) M(7, v7)
// A loop over the vectors of a group that must be unrolled, so that each polynomial step is done for all of them.
#define MX_LANES _Pragma("GCC unroll 8") for (int i = 0; i < N; i++)

// Operands. T is the vector type that the operation computes with.
template <class T>
struct MemP {
  const char *at;
  MemP(const Step *step, int64_t offset) : at(step->p + (offset & step->p_mask)) {}
  T get(int k) const { return load<T>(at + k * vector_bytes); }
};
template <class T>
struct MemQ {
  const char *at;
  MemQ(const Step *step, int64_t offset) : at(step->q + (offset & step->q_mask)) {}
  T get(int k) const { return load<T>(at + k * vector_bytes); }
};
template <class T>
inline T immediate(uint64_t raw) {
  if constexpr (sizeof(T{}[0]) == 4)
    return bits<T>(U{} + static_cast<uint32_t>(raw));
  else
    return bits<T>(W{} + raw);
}
template <class T>
struct ImmS {
  T value;
  ImmS(const Step *step, int64_t) : value(immediate<T>(step->s)) {}
  T get(int) const { return value; }
};
template <class T>
struct ImmT {
  T value;
  ImmT(const Step *step, int64_t) : value(immediate<T>(step->t)) {}
  T get(int) const { return value; }
};

template <class O>
void unary(MX_STEP) {
  using T = typename O::T;
#define MX_ONE(k, v) v = bits<V>(O::f(bits<T>(v)));
  MX_EACH(MX_ONE)
#undef MX_ONE
  MX_NEXT;
}

template <class O, template <class> class Operand, bool swapped>
void binary(MX_STEP) {
  using T = typename O::T;
  const Operand<T> operand(step, offset);
#define MX_ONE(k, v) v = bits<V>(swapped ? O::f(operand.get(k), bits<T>(v)) : O::f(bits<T>(v), operand.get(k)));
  MX_EACH(MX_ONE)
#undef MX_ONE
  MX_NEXT;
}

#if defined(__AVX512F__)
#define MX_FENCE asm("" : "+v"(v0), "+v"(v1), "+v"(v2), "+v"(v3), "+v"(v4), "+v"(v5), "+v"(v6), "+v"(v7))
#elif defined(__SSE2__)
#define MX_FENCE asm("" : "+x"(v0), "+x"(v1), "+x"(v2), "+x"(v3), "+x"(v4), "+x"(v5), "+x"(v6), "+x"(v7))
#else
#define MX_FENCE (void)0
#endif

// Functions over N vectors at once: O::f<N>(T *).
template <class O, int N>
void grouped(MX_STEP) {
  using T = typename O::T;
  static_assert(N == 2 || N == 4 || N == 8);
  if constexpr (N == 8) {
    T x[8] = {bits<T>(v0), bits<T>(v1), bits<T>(v2), bits<T>(v3), bits<T>(v4), bits<T>(v5), bits<T>(v6), bits<T>(v7)};
    O::template f<8>(x);
    v0 = bits<V>(x[0]), v1 = bits<V>(x[1]), v2 = bits<V>(x[2]), v3 = bits<V>(x[3]);
    v4 = bits<V>(x[4]), v5 = bits<V>(x[5]), v6 = bits<V>(x[6]), v7 = bits<V>(x[7]);
  } else if constexpr (N == 4) {
    T x[4] = {bits<T>(v0), bits<T>(v1), bits<T>(v2), bits<T>(v3)};
    O::template f<4>(x);
    v0 = bits<V>(x[0]), v1 = bits<V>(x[1]), v2 = bits<V>(x[2]), v3 = bits<V>(x[3]);
    // Otherwise the compiler mixes the two groups and spills.
    MX_FENCE;
    T y[4] = {bits<T>(v4), bits<T>(v5), bits<T>(v6), bits<T>(v7)};
    O::template f<4>(y);
    v4 = bits<V>(y[0]), v5 = bits<V>(y[1]), v6 = bits<V>(y[2]), v7 = bits<V>(y[3]);
  }
  MX_NEXT;
}

// Lane by lane: the block goes through the step's scratch memory, so that no address of a register's value escapes and
// the tail call stays one.
inline void spill(const Step *step, MX_BLOCK) {
#define MX_ONE(k, v) store(step->scratch + k * vector_bytes, v);
  MX_EACH(MX_ONE)
#undef MX_ONE
}
#define MX_UNSPILL                                                         \
  v0 = load<V>(step->scratch), v1 = load<V>(step->scratch + vector_bytes); \
  v2 = load<V>(step->scratch + 2 * vector_bytes);                          \
  v3 = load<V>(step->scratch + 3 * vector_bytes);                          \
  v4 = load<V>(step->scratch + 4 * vector_bytes);                          \
  v5 = load<V>(step->scratch + 5 * vector_bytes);                          \
  v6 = load<V>(step->scratch + 6 * vector_bytes);                          \
  v7 = load<V>(step->scratch + 7 * vector_bytes);

template <class T, T (*function)(T)>
__attribute__((noinline)) void lanes1(void *block) {
  for (size_t i = 0; i < block_bytes / sizeof(T); i++) {
    T x;
    memcpy(&x, static_cast<char *>(block) + i * sizeof x, sizeof x);
    x = function(x);
    memcpy(static_cast<char *>(block) + i * sizeof x, &x, sizeof x);
  }
}
template <class T, T (*function)(T, T), bool swapped>
__attribute__((noinline)) void lanes2(void *block, const void *other) {
  for (size_t i = 0; i < block_bytes / sizeof(T); i++) {
    T x, y;
    memcpy(&x, static_cast<char *>(block) + i * sizeof x, sizeof x);
    memcpy(&y, static_cast<const char *>(other) + i * sizeof y, sizeof y);
    x = swapped ? function(y, x) : function(x, y);
    memcpy(static_cast<char *>(block) + i * sizeof x, &x, sizeof x);
  }
}
template <class T, T (*function)(T)>
void by_lane(MX_STEP) {
  spill(step, v0, v1, v2, v3, v4, v5, v6, v7);
  lanes1<T, function>(step->scratch);
  MX_UNSPILL MX_NEXT;
}
template <class T, T (*function)(T, T), bool swapped>
void by_lane2(MX_STEP) {
  spill(step, v0, v1, v2, v3, v4, v5, v6, v7);
  lanes2<T, function, swapped>(step->scratch, step->p + (offset & step->p_mask));
  MX_UNSPILL MX_NEXT;
}

#define MX_ENTRY(micro, kind, form, ...) \
  {static_cast<uint8_t>(micro), kind, form, reinterpret_cast<StepFn>(&__VA_ARGS__)}

#define MX_JOIN_(a, b) a##b
#define MX_JOIN(a, b) MX_JOIN_(a, b)
#define MX_PART_(name) MX_JOIN(name, MX_LEVEL)
#define MX_STRING_(a) #a
#define MX_STRING(a) MX_STRING_(a)
// Defines the exported list of this source: loop_<name>_<level>.
#define MX_PART(name, entries)                    \
  extern "C" const Part MX_PART_(loop_##name##_); \
  extern "C" const Part MX_PART_(loop_##name##_) = {entries, sizeof entries / sizeof entries[0]}

}  // namespace
