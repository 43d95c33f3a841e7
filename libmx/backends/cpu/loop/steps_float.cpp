// Micro-ops for float32 and float64 arithmetic, comparison and selection, and the fused float32 pairs. Compiled once
// per instruction set level. A pair only saves a dispatch: it rounds after each of its two operations.
#include "backends/cpu/loop/step.hpp"

namespace {

template <class X>
struct Lanes {
  using T = X;
  using Mask = decltype(X{} < X{});
};

template <class X>
struct Add : Lanes<X> {
  static X f(X a, X b) { return a + b; }
};
template <class X>
struct Subtract : Lanes<X> {
  static X f(X a, X b) { return a - b; }
};
template <class X>
struct Multiply : Lanes<X> {
  static X f(X a, X b) { return a * b; }
};
template <class X>
struct Divide : Lanes<X> {
  static X f(X a, X b) { return a / b; }
};
template <class X>
struct FloorDivide : Lanes<X> {
  static X f(X a, X b) { return floor(a / b); }
};

template <class X>
struct Minimum : Lanes<X> {
  static X f(X a, X b) { return b != b ? b : smaller(b, a); }
};
template <class X>
struct Maximum : Lanes<X> {
  static X f(X a, X b) { return b != b ? b : larger(b, a); }
};
// Beside a scalar that is no NaN.
template <class X>
struct MinimumScalar : Lanes<X> {
  static X f(X a, X b) { return smaller(b, a); }
};
template <class X>
struct MaximumScalar : Lanes<X> {
  static X f(X a, X b) { return larger(b, a); }
};
template <class X>
struct Copysign : Lanes<X> {
  static X f(X a, X b) { return copysign(a, b); }
};

// The result of a comparison is a bool: 0 or 1 in the low half of the lane.
template <class X, class M>
inline X truth(M mask) {
  return bits<X>(bits<U>(mask) & 1u);
}
#define MX_COMPARE(name, op)                          \
  template <class X>                                  \
  struct name : Lanes<X> {                            \
    static X f(X a, X b) { return truth<X>(a op b); } \
  };
MX_COMPARE(Equal, ==)
MX_COMPARE(NotEqual, !=)
MX_COMPARE(Less, <)
MX_COMPARE(LessEqual, <=)
MX_COMPARE(Greater, >)
MX_COMPARE(GreaterEqual, >=)

template <class X>
struct Negative : Lanes<X> {
  static X f(X a) { return -a; }
};
template <class X>
struct Absolute : Lanes<X> {
  static X f(X a) { return abs(a); }
};
template <class X>
struct Square : Lanes<X> {
  static X f(X a) { return a * a; }
};
template <class X>
struct Sign : Lanes<X> {
  static X f(X a) {
    const X one = X{} + 1, zero{};
    return a > zero ? one : a < zero ? -one : a == zero ? zero : a;
  }
};
template <class X>
struct Floor : Lanes<X> {
  static X f(X a) { return floor(a); }
};
template <class X>
struct Ceil : Lanes<X> {
  static X f(X a) { return ceil(a); }
};
template <class X>
struct Trunc : Lanes<X> {
  static X f(X a) { return trunc(a); }
};
template <class X>
struct Round : Lanes<X> {
  static X f(X a) { return rint(a); }
};
template <class X>
struct Sqrt : Lanes<X> {
  static X f(X a) { return sqrt(a); }
};
template <class X>
struct Rsqrt : Lanes<X> {
  static X f(X a) { return 1 / sqrt(a); }
};
template <class X>
struct Reciprocal : Lanes<X> {
  static X f(X a) { return 1 / a; }
};
template <class X>
struct IsNan : Lanes<X> {
  static X f(X a) { return truth<X>(a != a); }
};
template <class X>
struct IsInf : Lanes<X> {
  static X f(X a) { return truth<X>(abs(a) == X{} + __builtin_inff()); }
};
template <class X>
struct IsFinite : Lanes<X> {
  static X f(X a) { return truth<X>(abs(a) < X{} + __builtin_inff()); }
};
template <class X>
struct ToBool : Lanes<X> {
  static X f(X a) { return truth<X>(a != X{}); }
};

template <class T, int form>
void multiply_add(MX_STEP) {
  const MemP<T> p(step, offset);
  const MemQ<T> q(step, offset);
#define MX_ONE(k, v) \
  v = bits<V>(form == fma_product ? fused(bits<T>(v), p.get(k), q.get(k)) : fused(p.get(k), q.get(k), bits<T>(v)));
  MX_EACH(MX_ONE)
#undef MX_ONE
  MX_NEXT;
}

#define MX_FILL(x) v0 = v1 = v2 = v3 = v4 = v5 = v6 = v7 = bits<V>(x)
template <class O>
void extreme(MX_STEP) {
  using T = typename O::T;
  const ImmS<T> operand(step, offset);
#define MX_ONE(k, v) v = bits<V>(O::f(bits<T>(v), operand.value));
  MX_EACH(MX_ONE)
#undef MX_ONE
  if (__builtin_expect(operand.value[0] != operand.value[0], 0)) MX_FILL(operand.value);
  MX_NEXT;
}

// acc op (p * s), each rounded.
template <class O, bool swapped>
void scaled(MX_STEP) {
  const MemP<F> p(step, offset);
  const ImmS<F> s(step, offset);
#define MX_ONE(k, v) v = swapped ? O::f(p.get(k) * s.value, v) : O::f(v, p.get(k) * s.value);
  MX_EACH(MX_ONE)
#undef MX_ONE
  MX_NEXT;
}

// First and second steps of pairs.
template <class O, template <class> class Operand, bool swapped>
struct Simply {
  const Operand<F> operand;
  Simply(const Step *step, int64_t offset) : operand(step, offset) {}
  F f(F a, int k) const { return swapped ? O::f(operand.get(k), a) : O::f(a, operand.get(k)); }
  bool is_nan() const { return false; }
};
// A minimum or maximum whose scalar may be NaN, which then is the result.
template <class O, template <class> class Operand>
struct Extreme : Simply<O, Operand, false> {
  using Simply<O, Operand, false>::Simply;
  bool is_nan() const { return __builtin_expect(this->operand.value[0] != this->operand.value[0], 0); }
};
struct Get {
  const MemP<F> operand;
  Get(const Step *step, int64_t offset) : operand(step, offset) {}
  F f(F, int k) const { return operand.get(k); }
  bool is_nan() const { return false; }
};

template <class First, class Second>
void pair(MX_STEP) {
  const First first(step, offset);
  const Second second(step, offset);
#define MX_ONE(k, v) v = first.f(v, k);
  MX_EACH(MX_ONE)
#undef MX_ONE
  if (first.is_nan()) MX_FILL(first.operand.get(0));
#define MX_ONE(k, v) v = second.f(v, k);
  MX_EACH(MX_ONE)
#undef MX_ONE
  if (second.is_nan()) MX_FILL(second.operand.get(0));
  MX_NEXT;
}

#define MX_SECOND(First)                                                     \
  {reinterpret_cast<StepFn>(&pair<First, Simply<Add<F>, MemQ, false>>),      \
   reinterpret_cast<StepFn>(&pair<First, Simply<Add<F>, ImmT, false>>),      \
   reinterpret_cast<StepFn>(&pair<First, Simply<Subtract<F>, MemQ, false>>), \
   reinterpret_cast<StepFn>(&pair<First, Simply<Subtract<F>, ImmT, false>>), \
   reinterpret_cast<StepFn>(&pair<First, Simply<Subtract<F>, MemQ, true>>),  \
   reinterpret_cast<StepFn>(&pair<First, Simply<Subtract<F>, ImmT, true>>),  \
   reinterpret_cast<StepFn>(&pair<First, Simply<Multiply<F>, MemQ, false>>), \
   reinterpret_cast<StepFn>(&pair<First, Simply<Multiply<F>, ImmT, false>>), \
   reinterpret_cast<StepFn>(&pair<First, Extreme<MaximumScalar<F>, ImmT>>),  \
   reinterpret_cast<StepFn>(&pair<First, Extreme<MinimumScalar<F>, ImmT>>)}
using AddM = Simply<Add<F>, MemP, false>;
using AddS = Simply<Add<F>, ImmS, false>;
using SubM = Simply<Subtract<F>, MemP, false>;
using SubS = Simply<Subtract<F>, ImmS, false>;
using RsubM = Simply<Subtract<F>, MemP, true>;
using RsubS = Simply<Subtract<F>, ImmS, true>;
using MulM = Simply<Multiply<F>, MemP, false>;
using MulS = Simply<Multiply<F>, ImmS, false>;
using MaxS = Extreme<MaximumScalar<F>, ImmS>;
using MinS = Extreme<MinimumScalar<F>, ImmS>;

#define MX_UNARY(op, O) MX_ENTRY(Op::op, kind_f32, 0, unary<O<F>>), MX_ENTRY(Op::op, kind_f64, 0, unary<O<D>>)
#define MX_BINARY_(op, O, kind, T)                                \
  MX_ENTRY(Op::op, kind, form_am, binary<O<T>, MemP, false>),     \
      MX_ENTRY(Op::op, kind, form_ma, binary<O<T>, MemP, true>),  \
      MX_ENTRY(Op::op, kind, form_as, binary<O<T>, ImmS, false>), \
      MX_ENTRY(Op::op, kind, form_sa, binary<O<T>, ImmS, true>)
#define MX_BINARY(op, O) MX_BINARY_(op, O, kind_f32, F), MX_BINARY_(op, O, kind_f64, D)
#define MX_EXTREME(op, kind, O) MX_ENTRY(Op::op, kind, form_as, extreme<O>), MX_ENTRY(Op::op, kind, form_sa, extreme<O>)
#define MX_MEMORY_ONLY(op, O)                                         \
  MX_ENTRY(Op::op, kind_f32, form_am, binary<O<F>, MemP, false>),     \
      MX_ENTRY(Op::op, kind_f32, form_ma, binary<O<F>, MemP, true>),  \
      MX_ENTRY(Op::op, kind_f64, form_am, binary<O<D>, MemP, false>), \
      MX_ENTRY(Op::op, kind_f64, form_ma, binary<O<D>, MemP, true>)

const Entry entries[] = {
    MX_BINARY(add, Add),
    MX_BINARY(subtract, Subtract),
    MX_BINARY(multiply, Multiply),
    MX_BINARY(divide, Divide),
    MX_MEMORY_ONLY(minimum, Minimum),
    MX_MEMORY_ONLY(maximum, Maximum),
    MX_EXTREME(minimum, kind_f32, MinimumScalar<F>),
    MX_EXTREME(minimum, kind_f64, MinimumScalar<D>),
    MX_EXTREME(maximum, kind_f32, MaximumScalar<F>),
    MX_EXTREME(maximum, kind_f64, MaximumScalar<D>),
    MX_BINARY(equal, Equal),
    MX_BINARY(not_equal, NotEqual),
    MX_BINARY(less, Less),
    MX_BINARY(less_equal, LessEqual),
    MX_BINARY(greater, Greater),
    MX_BINARY(greater_equal, GreaterEqual),
    MX_MEMORY_ONLY(floor_divide, FloorDivide),
    MX_MEMORY_ONLY(copysign, Copysign),
    MX_UNARY(negative, Negative),
    MX_UNARY(absolute, Absolute),
    MX_UNARY(square, Square),
    MX_UNARY(sign, Sign),
    MX_UNARY(floor, Floor),
    MX_UNARY(ceil, Ceil),
    MX_UNARY(trunc, Trunc),
    MX_UNARY(round, Round),
    MX_UNARY(sqrt, Sqrt),
    MX_UNARY(rsqrt, Rsqrt),
    MX_UNARY(reciprocal, Reciprocal),
    MX_UNARY(is_nan, IsNan),
    MX_UNARY(is_inf, IsInf),
    MX_UNARY(is_finite, IsFinite),
    MX_ENTRY(micro_scaled, kind_f32, scaled_add, scaled<Add<F>, false>),
    MX_ENTRY(micro_scaled, kind_f32, scaled_subtract, scaled<Subtract<F>, false>),
    MX_ENTRY(micro_scaled, kind_f32, scaled_subtract_from, scaled<Subtract<F>, true>),
    MX_ENTRY(micro_scaled, kind_f32, scaled_multiply, scaled<Multiply<F>, false>),
    MX_ENTRY(micro_to_bool, kind_f32, 0, unary<ToBool<F>>),
    MX_ENTRY(micro_to_bool, kind_f64, 0, unary<ToBool<D>>),
    MX_ENTRY(Op::fma, kind_f32, fma_product, multiply_add<F, fma_product>),
    MX_ENTRY(Op::fma, kind_f32, fma_addend, multiply_add<F, fma_addend>),
    MX_ENTRY(Op::fma, kind_f64, fma_product, multiply_add<D, fma_product>),
    MX_ENTRY(Op::fma, kind_f64, fma_addend, multiply_add<D, fma_addend>),
};

}  // namespace

MX_PART(float, entries);

extern "C" const StepFn MX_PART_(loop_pairs_)[n_simple][n_second];
extern "C" const StepFn MX_PART_(loop_pairs_)[n_simple][n_second] = {
    MX_SECOND(AddM), MX_SECOND(AddS), MX_SECOND(SubM), MX_SECOND(SubS), MX_SECOND(RsubM), MX_SECOND(RsubS),
    MX_SECOND(MulM), MX_SECOND(MulS), MX_SECOND(MaxS), MX_SECOND(MinS), MX_SECOND(Get)};
