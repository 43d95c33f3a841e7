// Micro-ops for integers and bools. Compiled once per instruction set level. Arithmetic is done on unsigned lanes,
// where wrapping is defined; division and power go lane by lane, since no level has vector instructions for them.
#include "backends/cpu/loop/step.hpp"

namespace {

// S and X are the signed and unsigned vectors of one lane width.
template <class X>
struct Unsigned {
  using T = X;
};
template <class X>
using Scalar = __typeof__(X{}[0] + 0);

#define MX_OPERATOR(name, expression)           \
  template <class X>                            \
  struct name : Unsigned<X> {                   \
    static X f(X a, X b) { return expression; } \
  };
MX_OPERATOR(Add, a + b)
MX_OPERATOR(Subtract, a - b)
MX_OPERATOR(Multiply, a *b)
MX_OPERATOR(And, a &b)
MX_OPERATOR(Or, a | b)
MX_OPERATOR(Xor, a ^ b)
MX_OPERATOR(Minimum, a < b ? a : b)
MX_OPERATOR(Maximum, a > b ? a : b)
// Comparisons leave a bool in the low half of the lane; a 64-bit mask has it there too.
MX_OPERATOR(Equal, bits<X>(a == b) & 1)
MX_OPERATOR(NotEqual, bits<X>(a != b) & 1)
MX_OPERATOR(Less, bits<X>(a < b) & 1)
MX_OPERATOR(LessEqual, bits<X>(a <= b) & 1)
MX_OPERATOR(Greater, bits<X>(a > b) & 1)
MX_OPERATOR(GreaterEqual, bits<X>(a >= b) & 1)
// A count outside [0, width) shifts everything out. Narrow types are extended in their lanes, so that the lane's width
// serves for them too once the result is wrapped.
template <class X, class N>
struct ShiftLeft : Unsigned<X> {
  static X f(X a, X b) {
    constexpr int width = 8 * sizeof a[0];
    const N count = bits<N>(b);
    const auto inside = count < static_cast<decltype(+N{}[0])>(width);
    return bits<X>((bits<N>(a) << (count & static_cast<decltype(+N{}[0])>(width - 1))) & bits<N>(inside));
  }
};
template <class X, class N>
struct ShiftRight : Unsigned<X> {
  static X f(X a, X b) {
    constexpr int width = 8 * sizeof a[0];
    constexpr bool is_signed = decltype(+X{}[0])(-1) < 0;
    const N count = bits<N>(b);
    const auto inside = count < static_cast<decltype(+N{}[0])>(width);
    if constexpr (is_signed)
      return a >> bits<X>(inside ? count : N{} + (width - 1));
    else
      return (a >> (count & static_cast<decltype(+N{}[0])>(width - 1))) & bits<X>(inside);
  }
};

#define MX_FUNCTION(name, expression)      \
  template <class X>                       \
  struct name : Unsigned<X> {              \
    static X f(X a) { return expression; } \
  };
MX_FUNCTION(Negative, X{} - a)
MX_FUNCTION(Square, a *a)
MX_FUNCTION(BitNot, ~a)
MX_FUNCTION(Identity, a)
MX_FUNCTION(LogicalNot, a ^ 1)
MX_FUNCTION(SignUnsigned, bits<X>(a != X{}) & 1)
MX_FUNCTION(ToBool, bits<X>(a != X{}) & 1)
template <class X, class N>
struct Absolute : Unsigned<X> {
  static X f(X a) { return a < X{} ? bits<X>(N{} - bits<N>(a)) : a; }
};
template <class X>
struct Sign : Unsigned<X> {
  static X f(X a) { return (a > X{}) ? X{} + 1 : bits<X>(a < X{}); }
};

template <class T>
T floor_divide(T a, T b) {
  if (b == 0) return 0;
  if constexpr (T(-1) < 0) {
    if (b == -1) return static_cast<T>(0 - static_cast<__typeof__(a + 0u)>(a));
    const T q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
  }
  return a / b;
}
inline int64_t floor_divide64(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
template <class T>
T remainder(T a, T b) {
  if (b == 0) return 0;
  if constexpr (T(-1) < 0) {
    if (b == -1) return 0;
    const T r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
  return a % b;
}
template <class T, class N>
T power(T base, T exponent) {
  if (T(-1) < 0 && exponent < T(0)) {
    if (base == T(1)) return 1;
    if (base == T(-1)) return exponent & 1 ? T(-1) : T(1);
    return 0;
  }
  N result = 1, factor = static_cast<N>(base);
  for (N e = static_cast<N>(exponent); e; e >>= 1) {
    if (e & 1) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(result);
}

#define MX_BINARY_(op, kind, ...)                                    \
  MX_ENTRY(op, kind, form_am, binary<__VA_ARGS__, MemP, false>),     \
      MX_ENTRY(op, kind, form_ma, binary<__VA_ARGS__, MemP, true>),  \
      MX_ENTRY(op, kind, form_as, binary<__VA_ARGS__, ImmS, false>), \
      MX_ENTRY(op, kind, form_sa, binary<__VA_ARGS__, ImmS, true>)
// Where the sign of the lanes does not matter, and where it does.
#define MX_SIGNLESS(op, O)                                                                                    \
  MX_BINARY_(Op::op, kind_i32, O<U>), MX_BINARY_(Op::op, kind_u32, O<U>), MX_BINARY_(Op::op, kind_i64, O<W>), \
      MX_BINARY_(Op::op, kind_u64, O<W>)
#define MX_SIGNED(op, O)                                                                                      \
  MX_BINARY_(Op::op, kind_i32, O<I>), MX_BINARY_(Op::op, kind_u32, O<U>), MX_BINARY_(Op::op, kind_i64, O<L>), \
      MX_BINARY_(Op::op, kind_u64, O<W>)
#define MX_SHIFT(op, O)                                                                                                \
  MX_BINARY_(Op::op, kind_i32, O<I, U>), MX_BINARY_(Op::op, kind_u32, O<U, U>), MX_BINARY_(Op::op, kind_i64, O<L, W>), \
      MX_BINARY_(Op::op, kind_u64, O<W, W>)
#define MX_BOOL(op, O)                                                \
  MX_ENTRY(Op::op, kind_u32, form_am, binary<O<U>, MemP, false>),     \
      MX_ENTRY(Op::op, kind_u32, form_ma, binary<O<U>, MemP, false>), \
      MX_ENTRY(Op::op, kind_u32, form_as, binary<O<U>, ImmS, false>), \
      MX_ENTRY(Op::op, kind_u32, form_sa, binary<O<U>, ImmS, false>)
#define MX_UNARY(op, O)                                                           \
  MX_ENTRY(op, kind_i32, 0, unary<O<U>>), MX_ENTRY(op, kind_u32, 0, unary<O<U>>), \
      MX_ENTRY(op, kind_i64, 0, unary<O<W>>), MX_ENTRY(op, kind_u64, 0, unary<O<W>>)
#define MX_BY_LANE(op, kind, type, function)                        \
  MX_ENTRY(Op::op, kind, form_am, by_lane2<type, function, false>), \
      MX_ENTRY(Op::op, kind, form_ma, by_lane2<type, function, true>)

const Entry entries[] = {
    MX_SIGNLESS(add, Add),
    MX_SIGNLESS(subtract, Subtract),
    MX_SIGNLESS(multiply, Multiply),
    MX_SIGNLESS(bit_and, And),
    MX_SIGNLESS(bit_or, Or),
    MX_SIGNLESS(bit_xor, Xor),
    MX_SIGNLESS(equal, Equal),
    MX_SIGNLESS(not_equal, NotEqual),
    MX_SIGNED(minimum, Minimum),
    MX_SIGNED(maximum, Maximum),
    MX_SIGNED(less, Less),
    MX_SIGNED(less_equal, LessEqual),
    MX_SIGNED(greater, Greater),
    MX_SIGNED(greater_equal, GreaterEqual),
    MX_SHIFT(shift_left, ShiftLeft),
    MX_SHIFT(shift_right, ShiftRight),
    MX_BOOL(logical_and, And),
    MX_BOOL(logical_or, Or),
    MX_BOOL(logical_xor, Xor),
    MX_ENTRY(Op::logical_not, kind_u32, 0, unary<LogicalNot<U>>),
    MX_UNARY(Op::negative, Negative),
    MX_UNARY(Op::square, Square),
    MX_UNARY(Op::bit_not, BitNot),
    MX_UNARY(micro_to_bool, ToBool),
    MX_ENTRY(Op::absolute, kind_i32, 0, unary<Absolute<I, U>>),
    MX_ENTRY(Op::absolute, kind_u32, 0, unary<Identity<U>>),
    MX_ENTRY(Op::absolute, kind_i64, 0, unary<Absolute<L, W>>),
    MX_ENTRY(Op::absolute, kind_u64, 0, unary<Identity<W>>),
    MX_ENTRY(Op::sign, kind_i32, 0, unary<Sign<I>>),
    MX_ENTRY(Op::sign, kind_u32, 0, unary<SignUnsigned<U>>),
    MX_ENTRY(Op::sign, kind_i64, 0, unary<Sign<L>>),
    MX_ENTRY(Op::sign, kind_u64, 0, unary<SignUnsigned<W>>),
    MX_BY_LANE(floor_divide, kind_i32, int32_t, floor_divide<int32_t>),
    MX_BY_LANE(floor_divide, kind_u32, uint32_t, floor_divide<uint32_t>),
    MX_BY_LANE(floor_divide, kind_i64, int64_t, floor_divide64),
    MX_BY_LANE(floor_divide, kind_u64, uint64_t, floor_divide<uint64_t>),
    MX_BY_LANE(remainder, kind_i32, int32_t, remainder<int32_t>),
    MX_BY_LANE(remainder, kind_u32, uint32_t, remainder<uint32_t>),
    MX_BY_LANE(remainder, kind_i64, int64_t, remainder<int64_t>),
    MX_BY_LANE(remainder, kind_u64, uint64_t, remainder<uint64_t>),
    MX_ENTRY(Op::power, kind_i32, form_am, by_lane2<int32_t, power<int32_t, uint32_t>, false>),
    MX_ENTRY(Op::power, kind_i32, form_ma, by_lane2<int32_t, power<int32_t, uint32_t>, true>),
    MX_ENTRY(Op::power, kind_u32, form_am, by_lane2<uint32_t, power<uint32_t, uint32_t>, false>),
    MX_ENTRY(Op::power, kind_u32, form_ma, by_lane2<uint32_t, power<uint32_t, uint32_t>, true>),
    MX_ENTRY(Op::power, kind_i64, form_am, by_lane2<int64_t, power<int64_t, uint64_t>, false>),
    MX_ENTRY(Op::power, kind_i64, form_ma, by_lane2<int64_t, power<int64_t, uint64_t>, true>),
    MX_ENTRY(Op::power, kind_u64, form_am, by_lane2<uint64_t, power<uint64_t, uint64_t>, false>),
    MX_ENTRY(Op::power, kind_u64, form_ma, by_lane2<uint64_t, power<uint64_t, uint64_t>, true>),
};

}  // namespace

MX_PART(int, entries);
