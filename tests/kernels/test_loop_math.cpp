// The accuracy of the loop executor's math functions: at most 2 ulp from the true value. float32 is swept over its
// whole range, float16 and bfloat16 are tested with every value, float64 with random ones. The truth is the C library's
// function in the next wider type.
#include <algorithm>

#include "loop_reference.hpp"

using namespace reference;
using loop::MicroOps;

namespace {

const Op functions[] = {Op::sqrt, Op::rsqrt,   Op::reciprocal, Op::exp,     Op::expm1, Op::exp2,
                        Op::log,  Op::log2,    Op::log10,      Op::log1p,   Op::sin,   Op::cos,
                        Op::tan,  Op::arcsin,  Op::arccos,     Op::arctan,  Op::sinh,  Op::cosh,
                        Op::tanh, Op::arcsinh, Op::arccosh,    Op::arctanh, Op::erf,   Op::sigmoid};
const Op binary_functions[] = {Op::power, Op::arctan2, Op::hypot, Op::logaddexp};
bool is_rare(Op op) { return op == Op::tan || (op >= Op::arcsin && op <= Op::arctanh && op != Op::tanh); }

template <class T>
std::vector<T> evaluate(const loop::MicroOps &micro_ops, Op op, DType type, const std::vector<T> &x,
                        const std::vector<T> *y = nullptr) {
  Code code;
  Args args;
  std::vector<T> out(x.size());
  args.shape = {static_cast<int64_t>(x.size())};
  const auto operand = [&](const T *data) {
    code.operands.push_back(type);
    args.operands.push_back({const_cast<char *>(reinterpret_cast<const char *>(data)), {int64_t{sizeof(T)}}});
  };
  operand(out.data());
  operand(x.data());
  code.ins = {{Op::load, type, 0, 1}};
  if (y) {
    operand(y->data());
    code.ins.push_back({Op::load, type, 0, 2});
  }
  const uint16_t n = static_cast<uint16_t>(code.ins.size());
  code.ins.push_back({op, type, 0, 0, 0, 1});
  code.ins.push_back({Op::store, type, 0, 0, n});
  const loop::KernelRef kernel = loop::compile_for(micro_ops, code);
  loop::jit::set_policy(loop::jit::Policy::never);
  reference::run(kernel, args);
  const std::vector<T> by_vm = out;
  loop::jit::set_policy(loop::jit::Policy::always);
  reference::run(kernel, args);
  for (size_t i = 0; i < out.size(); i++) {
    uint64_t a = 0, b = 0;
    std::memcpy(&a, &by_vm[i], sizeof(T));
    std::memcpy(&b, &out[i], sizeof(T));
    if (same_bits(type, a, b)) continue;
    fprintf(stderr, "op %d at %s, %s, argument %zu: VM %llx, JIT %llx\n", static_cast<int>(op), micro_ops.level->name,
            mx::name(type), i, static_cast<unsigned long long>(a), static_cast<unsigned long long>(b));
    CHECK(!"the executors agree");
  }
  return out;
}

// The error in units of the last place of the truth; infinite if one is special and the other is not the same.
template <class T, class Wide>
double error(T got, Wide truth) {
  if (std::isnan(truth) || std::isnan(got)) return std::isnan(truth) && std::isnan(got) ? 0 : INFINITY;
  const T rounded = static_cast<T>(truth);
  if (got == rounded) return 0;
  if (std::isinf(rounded) || std::isinf(got)) {
    // The largest finite value and infinity are neighbours.
    const T limit = std::numeric_limits<T>::max();
    return std::fabs(got) >= limit && std::fabs(rounded) >= limit && (got > 0) == (rounded > 0) ? 1 : INFINITY;
  }
  int exponent;
  std::frexp(rounded, &exponent);
  const int last = std::max(exponent - std::numeric_limits<T>::digits,
                            std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::fabs(got - truth) / std::ldexp(Wide(1), last));
}

template <class T>
void expect(const char *what, const loop::MicroOps &micro_ops, Op op, double x, double y, T got, double ulp,
            double limit) {
  if (ulp <= limit) return;
  fprintf(stderr, "%s, op %d at %s: f(%a, %a) = %a is off by %g ulp\n", what, static_cast<int>(op),
          micro_ops.level->name, x, y, static_cast<double>(got), ulp);
  CHECK(!"accurate");
}

template <class T, class Wide>
void check_unary(const loop::MicroOps &micro_ops, Op op, DType type, const std::vector<T> &x, bool report) {
  const std::vector<T> got = evaluate(micro_ops, op, type, x);
  double worst = 0;
  for (size_t i = 0; i < x.size(); i++) {
    const Wide truth = static_cast<Wide>(op == Op::reciprocal ? 1 / static_cast<Wide>(x[i])
                                         : op == Op::sqrt     ? std::sqrt(static_cast<Wide>(x[i]))
                                                              : float_op<Wide>(op, type, x[i], 0, 0));
    const double ulp = error<T, Wide>(got[i], truth);
    worst = std::max(worst, ulp);
    expect("unary", micro_ops, op, static_cast<double>(x[i]), 0, got[i], ulp, 2);
    if (op == Op::sin || op == Op::cos) CHECK(!(std::fabs(got[i]) > 1));
    // Zeros keep their sign where the function does.
    if (got[i] == 0 && truth == 0) CHECK(std::signbit(got[i]) == std::signbit(truth));
  }
  if (report)
    fprintf(stderr, "%s %s op %d: %.3f ulp\n", micro_ops.level->name, mx::name(type), static_cast<int>(op), worst);
}

void sweep_float32(const loop::MicroOps &micro_ops, bool report) {
  std::vector<float> x;
  // Odd, so that all mantissas are met; every exponent has some thousand values.
  for (uint64_t raw = 0; raw < uint64_t{1} << 32; raw += 10007) x.push_back(get<float>(DType::float32, raw));
  // Denser where functions change their formula or cancel.
  for (const float center : {0.f, 0.35f, 0.625f, 0.70710678f, 1.f, 1.41421356f, 3.14159265f, 1.57079633f, 4.f, 18.f,
                             88.72f, -87.3f, -103.9f, 1e5f})
    for (int i = -3000; i <= 3000; i++)
      x.push_back(center + static_cast<float>(i) * (std::fabs(center) * 1e-5f + 1e-6f));
  for (int i = -3000; i <= 3000; i++) x.push_back(3.2e-6f + static_cast<float>(i) * 1e-10f);  // cosines just below 1
  for (const float special : {INFINITY, -INFINITY, NAN, 0.f, -0.f, 1e-45f, -1e-45f, 3.4028235e38f, -3.4028235e38f,
                              1.17549435e-38f, -1.f, 1.f})
    for (int i = 0; i < 3; i++) x.push_back(special);
  std::vector<float> few;
  for (size_t i = 0; i < x.size(); i += 7) few.push_back(x[i]);
  few.insert(few.end(), x.end() - 36, x.end());
  for (Op op : functions) check_unary<float, double>(micro_ops, op, DType::float32, is_rare(op) ? few : x, report);
}

void sweep_float64(const loop::MicroOps &micro_ops) {
  std::vector<double> x;
  for (int i = 0; i < 4000; i++) x.push_back(get<double>(DType::float64, random_bits()));
  for (int i = 0; i < 40000; i++)
    x.push_back((static_cast<double>(random_bits() >> 11) * 0x1p-53 - 0.5) * (i % 2 ? 3 : 60));
  for (const double special : {HUGE_VAL, -HUGE_VAL, std::nan(""), 0., -0., 5e-324, -5e-324, 1e308, -1e308, -1., 1.})
    x.push_back(special);
  for (Op op : functions) check_unary<double, long double>(micro_ops, op, DType::float64, x, false);
}

// Every float16 and bfloat16: computed in float32 and rounded, so the neighbour at most.
void all_halves(const loop::MicroOps &micro_ops) {
  for (DType type : {DType::float16, DType::bfloat16}) {
    std::vector<uint16_t> x(65536);
    for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<uint16_t>(i);
    for (Op op : functions) {
      const std::vector<uint16_t> got = evaluate(micro_ops, op, type, x);
      for (size_t i = 0; i < x.size(); i++) {
        const uint64_t truth = apply({op, type}, type, x[i], 0, 0);
        if (ulps(type, got[i], truth) > 1)
          expect("half", micro_ops, op, get<double>(type, x[i]), 0, get<double>(type, got[i]), INFINITY, 1);
      }
    }
  }
}

// The inverse of erf by Newton's iteration in long double, from the value that is to be judged.
long double true_erfinv(long double x, long double y) {
  if (std::fabs(x) >= 1 || x == 0) return std::fabs(x) == 1 ? x * INFINITY : x == 0 ? x : NAN;
  for (int i = 0; i < 2; i++) {
    const long double residual = x > 0.5L ? (1 - x) - erfcl(y) : x < -0.5L ? erfcl(-y) - (1 + x) : erfl(y) - x;
    y -= residual / (2 / sqrtl(acosl(-1.L)) * expl(-y * y));
  }
  return y;
}
void check_erfinv(const loop::MicroOps &micro_ops) {
  std::vector<float> x;
  std::vector<double> z;
  for (int i = -3000; i <= 3000; i++) x.push_back(static_cast<float>(i) / 3000), z.push_back(i / 3000.);
  for (int i = 1; i < 50; i++) x.push_back(1 - std::ldexp(1.f, -i % 24 - 1)), z.push_back(std::ldexp(1., -i) - 1);
  for (const double special : {2., -2., std::nan(""), -0., 1e-30})
    x.push_back(static_cast<float>(special)), z.push_back(special);
  const std::vector<float> got = evaluate(micro_ops, Op::erfinv, DType::float32, x);
  const std::vector<double> got64 = evaluate(micro_ops, Op::erfinv, DType::float64, z);
  for (size_t i = 0; i < x.size(); i++) {
    expect("erfinv", micro_ops, Op::erfinv, x[i], 0, got[i],
           error<float, long double>(got[i], true_erfinv(x[i], got[i])), 2);
    expect("erfinv", micro_ops, Op::erfinv, z[i], 0, got64[i],
           error<double, long double>(got64[i], true_erfinv(z[i], got64[i])), 2);
  }
}

void check_binary(const loop::MicroOps &micro_ops) {
  std::vector<float> x, y;
  const float specials[] = {0.f,  -0.f,     1.f,       -1.f, 2.f,    -2.f,  0.5f,       3.f,        -3.f,
                            2.5f, INFINITY, -INFINITY, NAN,  1e-40f, 3e38f, 16777216.f, 33554432.f, -33554433.f};
  for (float a : specials)
    for (float b : specials) x.push_back(a), y.push_back(b);
  for (int i = 0; i < 100000; i++) {
    x.push_back(get<float>(DType::float32, random_bits() & 0xffffffff));
    y.push_back(static_cast<float>(static_cast<double>(random_bits() >> 11) * 0x1p-53 * (i % 2 ? 6 : 0.01)));
    if (std::isnan(x.back())) x.back() = NAN;  // a quiet one: pow(signaling NaN, 0) is NaN, not 1
    if (i % 4 == 0) x.back() = std::fabs(x.back());
    if (i % 8 == 1) y.back() = std::rint(y.back() * 4);
  }
  const std::vector<double> x64(x.begin(), x.end()), y64(y.begin(), y.end());
  for (Op op : binary_functions) {
    const std::vector<float> got = evaluate(micro_ops, op, DType::float32, x, &y);
    const std::vector<double> got64 = evaluate(micro_ops, op, DType::float64, x64, &y64);
    for (size_t i = 0; i < x.size(); i++) {
      const double truth = float_op<double>(op, DType::float64, x[i], y[i], 0);
      expect("binary", micro_ops, op, x[i], y[i], got[i], error<float, double>(got[i], truth), 2);
      const long double truth64 = float_op<long double>(op, DType::float64, x[i], y[i], 0);
      expect("binary", micro_ops, op, x[i], y[i], got64[i], error<double, long double>(got64[i], truth64), 2);
    }
  }
}

}  // namespace

int main(int argc, char **) {
  for (const loop::MicroOps *micro_ops : loop::all_micro_ops()) {
    random_state = 7;
    sweep_float32(*micro_ops, argc > 1);  // with an argument, the errors are printed
    sweep_float64(*micro_ops);
    all_halves(*micro_ops);
    check_erfinv(*micro_ops);
    check_binary(*micro_ops);
  }
  return 0;
}
