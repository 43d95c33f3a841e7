// The loop executor's reductions against sums in long double and exact integers, at every instruction set level that
// this CPU has: rows, columns and whole arrays, every length of tail, all types; and that the result depends on the
// shape alone, not on strides or threads.
#include <algorithm>

#include "loop_reference.hpp"
#include "runtime/pool.hpp"

using namespace reference;
using loop::MicroOps;
using Shape = std::vector<int64_t>;

namespace {

struct Problem {
  Op op;
  DType type;
  Shape shape;
  uint32_t begin, end;   // the reduced dimensions
  Shape strides;         // of the input, in elements
  bool squares = false;  // reduce x * x, and store it too
};

Shape dense(const Shape &shape) {
  Shape strides(shape.size());
  int64_t n = 1;
  for (size_t d = shape.size(); d-- > 0; n *= std::max<int64_t>(shape[d], 1)) strides[d] = n;
  return strides;
}
Shape scaled(Shape strides, int64_t size) {
  for (int64_t &s : strides) s *= size;
  return strides;
}

// The output's elements in row-major order of the kept dimensions.
std::vector<uint64_t> reduce_by(loop::jit::Policy policy, const loop::MicroOps &micro_ops, const Problem &p,
                                const Array &x) {
  loop::jit::set_policy(policy);
  Shape kept = p.shape;
  for (uint32_t d = p.begin; d < p.end; d++) kept[d] = 1;
  Shape strides = scaled(dense(kept), itemsize(p.type));
  for (uint32_t d = p.begin; d < p.end; d++) strides[d] = 0;
  Array out(p.type, kept, strides), copy(p.type, p.shape, scaled(dense(p.shape), itemsize(p.type)));
  out.fill('\x5a');
  Code code;
  code.operands = {p.type, p.type, p.type};
  code.ins = {{Op::load, p.type}};
  if (p.squares) {
    code.ins.push_back({Op::square, p.type});
    code.ins.push_back({Op::store, p.type, 0, 2, 1});
  }
  code.ins.push_back({p.op, p.type, 0, 1, static_cast<uint16_t>(p.squares ? 1 : 0)});
  Args args;
  for (int64_t n : p.shape) args.shape.push_back(n);
  args.reduced_begin = p.begin;
  args.reduced_end = p.end;
  for (const Array *a : {&x, static_cast<const Array *>(&out), static_cast<const Array *>(&copy)})
    args.operands.push_back({a->data, {a->strides.begin(), a->strides.end()}});
  reference::run(loop::compile_for(micro_ops, code), args);
  if (p.squares)
    for_each_index(p.shape, [&](const Shape &i) {
      CHECK(same_bits(p.type, copy.element(i), apply({Op::square, p.type}, p.type, x.element(i), 0, 0)));
    });
  std::vector<uint64_t> result;
  for_each_index(kept, [&](const Shape &index) { result.push_back(out.element(index)); });
  return result;
}

std::vector<uint64_t> reduce(const loop::MicroOps &micro_ops, const Problem &p, const Array &x) {
  const std::vector<uint64_t> by_vm = reduce_by(loop::jit::Policy::never, micro_ops, p, x);
  const std::vector<uint64_t> by_jit = reduce_by(loop::jit::Policy::always, micro_ops, p, x);
  for (size_t i = 0; i < by_vm.size(); i++) CHECK(same_bits(p.type, by_vm[i], by_jit[i]));
  return by_jit;
}

uint64_t neutral(Op op, DType type) {
  if (type == DType::bool_) return op == Op::reduce_all || op == Op::reduce_min;
  return with_type(type, [&](auto zero) -> uint64_t {
    using T = decltype(zero);
    using Limits = std::numeric_limits<T>;
    if (op == Op::reduce_sum) return put(type, T(0));
    if (op == Op::reduce_prod) return put(type, T(1));
    if (op == Op::reduce_min) return put(type, Limits::has_infinity ? Limits::infinity() : Limits::max());
    return put(type, Limits::has_infinity ? -Limits::infinity() : Limits::lowest());
  });
}

// What must come out, and for float sums and products how far off it may be.
void check_result(const loop::MicroOps &micro_ops, const Problem &p, const Array &x, const std::vector<uint64_t> &got) {
  Shape kept = p.shape, reduced = p.shape;
  for (uint32_t d = 0; d < p.shape.size(); d++) (d >= p.begin && d < p.end ? kept : reduced)[d] = 1;
  size_t at = 0;
  for_each_index(kept, [&](const Shape &index) {
    uint64_t exact = neutral(p.op, p.type);
    long double sum = p.op == Op::reduce_prod ? 1 : 0, size = 0, n = 0;
    for_each_index(reduced, [&](Shape i) {
      for (size_t d = 0; d < i.size(); d++) i[d] += index[d];
      uint64_t e = x.element(i);
      if (p.squares) e = apply({Op::square, p.type}, p.type, e, 0, 0);
      const long double value = get<long double>(p.type, e);
      n++;
      size += std::fabs(value);
      if (p.op == Op::reduce_prod)
        sum *= value;
      else
        sum += value;
      static const std::pair<Op, Op> combine[] = {{Op::reduce_min, Op::minimum},     {Op::reduce_max, Op::maximum},
                                                  {Op::reduce_all, Op::logical_and}, {Op::reduce_any, Op::logical_or},
                                                  {Op::reduce_sum, Op::add},         {Op::reduce_prod, Op::multiply}};
      for (const auto &[reduction, op] : combine)
        if (reduction == p.op) exact = apply({op, p.type}, p.type, exact, e, 0);
    });
    const uint64_t is = got[at++];
    const bool rounds = is_floating(p.type) && (p.op == Op::reduce_sum || p.op == Op::reduce_prod);
    if (!rounds) {
      CHECK(same_bits(p.type, is, exact));
      return;
    }
    // Higham: pairwise summation of n terms is off by log2(n) u sum |x|; here up to 64 terms in a row, then pairs, so
    // at worst by 66 + log2(n). This data stays within the bound that holds for 16 in a row. A product's relative error
    // grows with n.
    const long double unit = p.type == DType::float64 ? 0x1p-53L : 0x1p-24L;
    const long double depth = 18 + std::log2(n + 1);
    const long double bound = p.op == Op::reduce_sum ? depth * unit * size : (n + 2) * unit * std::fabs(sum);
    const long double half_ulp = p.type == DType::float16 ? 0x1p-11L : p.type == DType::bfloat16 ? 0x1p-8L : 0;
    if (!(std::fabs(get<long double>(p.type, is) - sum) <=
          bound + half_ulp * std::fabs(sum) + 1e-7L * (half_ulp > 0))) {
      fprintf(stderr, "%s, op %d of %s: %Lg instead of %Lg\n", micro_ops.level->name, static_cast<int>(p.op),
              mx::name(p.type), get<long double>(p.type, is), sum);
      CHECK(!"the reduction is right");
    }
  });
}

void fill(Array &x, const Shape &shape, Op op, bool edges) {
  for_each_index(shape, [&](const Shape &i) {
    if (edges && (op == Op::reduce_min || op == Op::reduce_max || !is_floating(x.type)))
      return x.set(i, random_element(x.type));
    if (!is_floating(x.type)) return x.set(i, random_element(x.type));
    const double u = static_cast<double>(random_bits() >> 11) * 0x1p-53;
    x.set(i, put(x.type, op == Op::reduce_prod ? 0.9 + 0.2 * u : u - 0.3));
  });
}

void check(const loop::MicroOps &micro_ops, Problem p, bool edges = true) {
  Array x(p.type, p.shape, scaled(p.strides, itemsize(p.type)));
  fill(x, p.shape, p.op, edges);
  const std::vector<uint64_t> got = reduce(micro_ops, p, x);
  check_result(micro_ops, p, x, got);
}

const Shape shapes[] = {{1},         {5},        {63},         {64},          {65},      {1000},   {3, 7}, {1, 100},
                        {2, 300},    {40, 3},    {100, 65},    {300, 2},      {0},       {0, 4},   {4, 0}, {3, 4, 5},
                        {2, 50, 40}, {50, 2, 3}, {2, 3, 4, 5}, {1, 17, 1, 9}, {7, 1100}, {600, 33}};

void test_shapes(const loop::MicroOps &micro_ops) {
  for (const Shape &shape : shapes)
    for (uint32_t begin = 0; begin < shape.size(); begin++)
      for (uint32_t end = begin + 1; end <= shape.size(); end++) {
        check(micro_ops, {Op::reduce_sum, DType::float32, shape, begin, end, dense(shape)});
        check(micro_ops, {Op::reduce_max, DType::float32, shape, begin, end, dense(shape), true});
        check(micro_ops, {Op::reduce_sum, DType::int64, shape, begin, end, dense(shape)});
      }
}
void test_types(const loop::MicroOps &micro_ops) {
  const Op ops[] = {Op::reduce_sum, Op::reduce_prod, Op::reduce_min, Op::reduce_max, Op::reduce_all, Op::reduce_any};
  for (int t = 0; t < n_dtypes; t++) {
    const DType type = static_cast<DType>(t);
    if (is_complex(type)) continue;
    for (Op op : ops) {
      const bool logical = op == Op::reduce_all || op == Op::reduce_any,
                 minmax = op == Op::reduce_min || op == Op::reduce_max;
      if (logical ? type != DType::bool_ : type == DType::bool_ && !minmax) continue;
      for (const Shape &shape : {Shape{500}, Shape{0}}) check(micro_ops, {op, type, shape, 0, 1, dense(shape)});
      check(micro_ops, {op, type, {3, 90}, 1, 2, {90, 1}});
      check(micro_ops, {op, type, {70, 40}, 0, 1, {40, 1}});
      check(micro_ops, {op, type, {40, 70}, 0, 1, {-1, -40}});
    }
  }
}
void test_lengths(const loop::MicroOps &micro_ops) {
  for (int64_t n = 0; n <= 300; n++) {
    check(micro_ops, {Op::reduce_sum, DType::float32, {2, n}, 1, 2, {n, 1}});
    check(micro_ops, {Op::reduce_min, DType::int8, {n, 3}, 0, 1, {3, 1}});
    check(micro_ops, {Op::reduce_sum, DType::float64, {20, n}, 0, 1, {n, 1}});
  }
}

// The same values through other strides, and by another number of threads: the same bits.
void test_order(const loop::MicroOps &micro_ops) {
  const struct {
    Shape shape;
    uint32_t begin, end;
  } spaces[] = {{{300, 500}, 0, 2},  {{300, 500}, 0, 1},  {{300, 500}, 1, 2},  {{1200000}, 0, 1},
                {{40000, 33}, 0, 1}, {{3, 400000}, 1, 2}, {{600, 1000}, 0, 1}, {{30000, 6}, 1, 2}};
  for (const auto &space : spaces) {
    Problem p{Op::reduce_sum, DType::float32, space.shape, space.begin, space.end, dense(space.shape)};
    Array x(p.type, p.shape, scaled(p.strides, 4));
    fill(x, p.shape, p.op, false);
    set_num_threads(1);
    const std::vector<uint64_t> got = reduce(micro_ops, p, x);
    check_result(micro_ops, p, x, got);
    set_num_threads(4);
    CHECK(reduce(micro_ops, p, x) == got);
    Shape other = p.strides;
    if (other.size() == 2)
      other = {1, p.shape[0] + 1};
    else
      other = {-3};
    Array y(p.type, p.shape, scaled(other, 4));
    for_each_index(p.shape, [&](const Shape &i) { y.set(i, x.element(i)); });
    CHECK(reduce(micro_ops, p, y) == got);
  }
}

// Several reductions in one kernel, and a value that depends on a broadcast row: sum of exp(x - max) and max of x.
void test_several(const loop::MicroOps &micro_ops) {
  const int64_t rows = 37, columns = 205;
  std::vector<float> x(static_cast<size_t>(rows * columns)), peak(rows, 0.f), sum(rows), high(rows);
  for (float &v : x) v = static_cast<float>(random_below(100)) / 16;
  for (int64_t r = 0; r < rows; r++) peak[static_cast<size_t>(r)] = static_cast<float>(r % 5);
  const DType f = DType::float32;
  Code code;
  code.operands = {f, f, f, f};
  code.ins = {{Op::load, f},
              {Op::load, f, 0, 1},
              {Op::subtract, f, 0, 0, 0, 1},
              {Op::square, f, 0, 0, 2},
              {Op::reduce_sum, f, 0, 2, 3},
              {Op::reduce_max, f, 0, 3, 2}};
  Args args;
  args.shape = {rows, columns};
  args.reduced_begin = 1, args.reduced_end = 2;
  args.operands.push_back({reinterpret_cast<char *>(x.data()), {columns * 4, 4}});
  for (float *p : {peak.data(), sum.data(), high.data()})
    args.operands.push_back({reinterpret_cast<char *>(p), {4, 0}});
  reference::run(loop::compile_for(micro_ops, code), args);
  for (int64_t r = 0; r < rows; r++) {
    double s = 0;
    float h = -INFINITY;
    for (int64_t k = 0; k < columns; k++) {
      const float d = x[static_cast<size_t>(r * columns + k)] - peak[static_cast<size_t>(r)];
      s += static_cast<double>(d) * d;
      h = std::max(h, d);
    }
    CHECK(high[static_cast<size_t>(r)] == h && std::fabs(sum[static_cast<size_t>(r)] - s) <= 1e-6 * s);
  }
}

}  // namespace

int main() {
  for (const loop::MicroOps *micro_ops : loop::all_micro_ops()) {
    random_state = 3;
    test_shapes(*micro_ops);
    test_types(*micro_ops);
    test_lengths(*micro_ops);
    test_order(*micro_ops);
    test_several(*micro_ops);
  }
  return 0;
}
