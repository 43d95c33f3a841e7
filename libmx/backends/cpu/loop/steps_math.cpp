// Micro-ops for the float32 functions of math.hpp. Compiled once per instruction set level.
#include <math.h>

#include "backends/cpu/loop/group.hpp"

namespace {

// How many of a block's vectors go through a function together. Measured: all of them, spills included, from AVX2 on.
#if defined(__AVX2__)
constexpr int group = 8;
#else
constexpr int group = 4;
#endif

#define MX_FUNCTION(name, function) \
  struct name {                     \
    using T = F;                    \
    template <int N>                \
    MX_INLINE static void f(F *x) { \
      Group<F, N> a;                \
      MX_LANES a.v[i] = x[i];       \
      a = math::function(a);        \
      MX_LANES x[i] = a.v[i];       \
    }                               \
  }
MX_FUNCTION(Exp, exp);
MX_FUNCTION(ExpWithin, exp_within);
MX_FUNCTION(Exp2, exp2);
MX_FUNCTION(Expm1, expm1);
MX_FUNCTION(Sigmoid, sigmoid);
MX_FUNCTION(SigmoidWithin, sigmoid_within);
MX_FUNCTION(Tanh, tanh);
MX_FUNCTION(Erf, erf);
MX_FUNCTION(Log, log);
MX_FUNCTION(Log2, log2);
MX_FUNCTION(Log10, log10);
MX_FUNCTION(Log1p, log1p);
MX_FUNCTION(Sin, sin);
MX_FUNCTION(Cos, cos);

// Whether a lane is beyond the limit; NaN may go either way.
MX_INLINE bool beyond(F limit, MX_BLOCK) {
  F most{};
#define MX_ONE(k, v) most = larger(abs(v), most);
  MX_EACH(MX_ONE)
#undef MX_ONE
  return any(most > limit);
}
template <class O>
__attribute__((noinline)) void vector_by_vector(char *block) {
  for (int k = 0; k < n_vectors; k++) {
    F x[1] = {load<F>(block + k * vector_bytes)};
    O::template f<1>(x);
    store(block + k * vector_bytes, x[0]);
  }
}
// For levels that scale by powers of two in parts: a shorter way with the same results for blocks of usual numbers.
template <class O, class Within, int N>
void by_range(MX_STEP) {
#if defined(__AVX512F__)
  return grouped<O, N>(step, offset, v0, v1, v2, v3, v4, v5, v6, v7);
#else
  if (__builtin_expect(beyond(F{} + math::exp_limit, v0, v1, v2, v3, v4, v5, v6, v7), 0)) {
    spill(step, v0, v1, v2, v3, v4, v5, v6, v7);
    vector_by_vector<O>(step->scratch);
    MX_UNSPILL MX_NEXT;
  }
  return grouped<Within, N>(step, offset, v0, v1, v2, v3, v4, v5, v6, v7);
#endif
}

// The lanes that the fast ways leave to the C library: y = f(a) or f(a, b), a vector of each.
inline bool is_far(float x) { return !(__builtin_fabsf(x) <= math::trig_limit); }
inline bool is_unusual(float a, float b) {
  return !(__builtin_fabsf(a) < __builtin_inff() && a != 0 && __builtin_fabsf(b) < __builtin_inff());
}
template <class O>
__attribute__((noinline)) void all_lanes(void *y, const void *a, const void *) {
  F x[1] = {load<F>(a)};
  O::template f<1>(x);
  store(y, x[0]);
}
template <float (*function)(float)>
__attribute__((noinline)) void far_lanes(void *y, const void *a, const void *) {
  for (int i = 0; i < vector_bytes / 4; i++) {
    const float x = static_cast<const float *>(a)[i];
    if (is_far(x)) static_cast<float *>(y)[i] = function(x);
  }
}
__attribute__((noinline)) void unusual_lanes(void *y, const void *a, const void *b) {
  for (int i = 0; i < vector_bytes / 4; i++) {
    const float x = static_cast<const float *>(a)[i], e = static_cast<const float *>(b)[i];
    if (is_unusual(x, e)) static_cast<float *>(y)[i] = powf(x, e);
  }
}
__attribute__((noinline)) void outside_lanes(void *y, const void *a, const void *) {
  for (int i = 0; i < vector_bytes / 4; i++)
    static_cast<uint32_t *>(y)[i] = static_cast<uint32_t>(to_i64(static_cast<const float *>(a)[i]));
}
inline float sine(float x) { return sinf(x); }
inline float cosine(float x) { return cosf(x); }

template <class O, float (*function)(float)>
__attribute__((noinline)) void with_far_lanes(char *block) {
  for (int k = 0; k < n_vectors; k++) {
    const F a = load<F>(block + k * vector_bytes);
    F x[1] = {abs(a) <= F{} + math::trig_limit ? a : F{}};
    O::template f<1>(x);
    far_lanes<function>(x, &a, nullptr);
    store(block + k * vector_bytes, x[0]);
  }
}
template <class O, float (*function)(float)>
void trigonometric(MX_STEP) {
  if (__builtin_expect(beyond(F{} + math::trig_limit, v0, v1, v2, v3, v4, v5, v6, v7), 0)) {
    spill(step, v0, v1, v2, v3, v4, v5, v6, v7);
    with_far_lanes<O, function>(step->scratch);
    MX_UNSPILL MX_NEXT;
  }
  return grouped<O, group>(step, offset, v0, v1, v2, v3, v4, v5, v6, v7);
}

template <bool swapped>
__attribute__((noinline)) void pow_block(char *block, const char *other) {
  for (int k = 0; k < n_vectors; k++) {
    F a = load<F>((swapped ? other : block) + k * vector_bytes);
    F b = load<F>((swapped ? block : other) + k * vector_bytes);
    F y = math::power(Group<F, 1>{{a}}, Group<F, 1>{{b}}).v[0];
    const F inf = F{} + math::infinity;
    if (any(~((abs(a) < inf) & (a != F{}) & (abs(b) < inf)))) unusual_lanes(&y, &a, &b);
    store(block + k * vector_bytes, y);
  }
}
template <bool swapped>
void power(MX_STEP) {
  spill(step, v0, v1, v2, v3, v4, v5, v6, v7);
  pow_block<swapped>(step->scratch, step->p + (offset & step->p_mask));
  MX_UNSPILL MX_NEXT;
}

#define MX_GROUPED(op, O) MX_ENTRY(Op::op, kind_f32, 0, grouped<O, group>)
#define MX_RANGED(op, O) MX_ENTRY(Op::op, kind_f32, 0, by_range<O, O##Within, group>)

const Entry entries[] = {
    MX_RANGED(exp, Exp),
    MX_GROUPED(exp2, Exp2),
    MX_GROUPED(expm1, Expm1),
    MX_RANGED(sigmoid, Sigmoid),
    MX_GROUPED(tanh, Tanh),
    MX_GROUPED(erf, Erf),
    MX_GROUPED(log, Log),
    MX_GROUPED(log2, Log2),
    MX_GROUPED(log10, Log10),
    MX_GROUPED(log1p, Log1p),
    MX_ENTRY(Op::sin, kind_f32, 0, trigonometric<Sin, sine>),
    MX_ENTRY(Op::cos, kind_f32, 0, trigonometric<Cos, cosine>),
    MX_ENTRY(Op::power, kind_f32, form_am, power<false>),
    MX_ENTRY(Op::power, kind_f32, form_ma, power<true>),
};

}  // namespace

MX_PART(math, entries);

extern "C" const LanesFn MX_PART_(loop_rare_)[n_rares];
extern "C" const LanesFn MX_PART_(loop_rare_)[n_rares] = {far_lanes<sine>,    far_lanes<cosine>, all_lanes<Exp>,
                                                          all_lanes<Sigmoid>, unusual_lanes,     outside_lanes};
