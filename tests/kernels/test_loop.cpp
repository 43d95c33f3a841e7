// The loop executors against the scalar interpreter of loop_reference.hpp and against each other, at every instruction
// set level that this CPU has: each instruction with each type, random programs, every way of lying in memory, every
// length of tail.
#include <algorithm>
#include <string>

#include "base/status.hpp"
#include "loop_reference.hpp"

using namespace reference;

namespace {

const DType all_types[] = {DType::bool_,    DType::uint8,   DType::uint16, DType::uint32, DType::uint64,
                           DType::int8,     DType::int16,   DType::int32,  DType::int64,  DType::float16,
                           DType::bfloat16, DType::float32, DType::float64};

using Shape = std::vector<int64_t>;
Shape dense(const Shape &shape, int64_t size) {
  Shape strides(shape.size());
  for (size_t d = shape.size(); d-- > 0; size *= std::max<int64_t>(shape[d], 1)) strides[d] = size;
  return strides;
}

// A program with its inputs filled and what its outputs must be.
struct Case {
  Code code;
  Shape shape;
  std::vector<std::unique_ptr<Array>> operands;
  std::vector<uint64_t> scalars;
  int64_t tolerance = 0;

  Args args() const {
    Args a;
    for (int64_t n : shape) a.shape.push_back(n);
    for (const auto &o : operands) a.operands.push_back({o->data, {o->strides.begin(), o->strides.end()}});
    for (uint64_t s : scalars) a.scalars.push_back(s);
    return a;
  }
  void run_and_check(const loop::MicroOps &micro_ops, const char *what) const {
    // Expected bytes of every output, its gaps included.
    std::vector<std::vector<char>> got;
    std::vector<bool> written(operands.size());
    for (const Ins &ins : code.ins)
      if (ins.op == Op::store) written[ins.arg] = true;
    for (size_t i = 0; i < operands.size(); i++)
      if (written[i]) operands[i]->fill('\x5a');
    const loop::KernelRef kernel = loop::compile_for(micro_ops, code);
    loop::jit::set_policy(loop::jit::Policy::never);
    reference::run(kernel, args());
    const std::vector<uint64_t> by_vm = elements(written);
    for (size_t i = 0; i < operands.size(); i++)
      if (written[i]) operands[i]->fill('\x5a');
    loop::jit::set_policy(loop::jit::Policy::always);
    reference::run(kernel, args());
    const std::vector<uint64_t> by_jit = elements(written);
    compare_executors(by_vm, by_jit, written, what, micro_ops);
    for (const auto &o : operands) got.push_back(o->contents());
    for (size_t i = 0; i < operands.size(); i++)
      if (written[i]) compare_output(i, what, micro_ops);
    // Nothing but the elements may have changed: put the expected ones over what was there and compare.
    for (size_t i = 0; i < operands.size(); i++) {
      if (!written[i]) continue;
      std::vector<std::pair<char *, uint64_t>> undo;
      for_each_index(shape, [&](const Shape &index) {
        const size_t size = static_cast<size_t>(itemsize(operands[i]->type));
        std::memset(operands[i]->at(index), 0x5a, size);
      });
      for (char byte : operands[i]->contents()) CHECK(byte == '\x5a');
    }
  }
  std::vector<uint64_t> elements(const std::vector<bool> &written) const {
    std::vector<uint64_t> all;
    for (size_t i = 0; i < operands.size(); i++)
      for (int part = 0; written[i] && part < operands[i]->n_parts(); part++)
        for_each_index(shape, [&](const Shape &index) { all.push_back(operands[i]->element(index, part)); });
    return all;
  }
  // Bit for bit, but that a NaN equals any other: which of two NaN operands lives on is up to the executor.
  void compare_executors(const std::vector<uint64_t> &by_vm, const std::vector<uint64_t> &by_jit,
                         const std::vector<bool> &written, const char *what, const loop::MicroOps &micro_ops) const {
    size_t at = 0;
    for (size_t i = 0; i < operands.size(); i++) {
      const DType type = part_dtype(operands[i]->type);
      for (int part = 0; written[i] && part < operands[i]->n_parts(); part++)
        for_each_index(shape, [&](const Shape &) {
          if (!same_bits(type, by_vm[at], by_jit[at])) {
            fprintf(stderr, "%s at %s, %s, operand %zu, element %zu: VM %llx, JIT %llx\n", what, micro_ops.level->name,
                    mx::name(type), i, at, static_cast<unsigned long long>(by_vm[at]),
                    static_cast<unsigned long long>(by_jit[at]));
            print_code();
            CHECK(!"the executors agree");
          }
          at++;
        });
    }
  }
  void print_code() const {
    for (const Ins &x : code.ins)
      fprintf(stderr, "  op %d %s arg %d: %d %d %d\n", static_cast<int>(x.op), mx::name(x.type), x.arg, x.a, x.b, x.c);
  }
  void compare_output(size_t i, const char *what, const loop::MicroOps &micro_ops) const {
    std::vector<uint64_t> values(code.ins.size());
    for_each_index(shape, [&](const Shape &index) {
      for (size_t v = 0; v < code.ins.size(); v++) {
        const Ins &ins = code.ins[v];
        if (ins.op == Op::load)
          values[v] = operands[ins.arg]->element(index, ins.part);
        else if (ins.op == Op::scalar)
          values[v] = scalars[ins.arg];
        else if (ins.op == Op::iota)
          values[v] = put(ins.type, index[ins.arg]);
        else if (ins.op == Op::store) {
          if (ins.arg != i) continue;
          const DType type = code.ins[ins.a].type;
          const uint64_t is = operands[i]->element(index, ins.part), wanted = values[ins.a];
          if (ulps(type, is, wanted) > tolerance) {
            fprintf(stderr, "%s at %s, %s: got %llx, wanted %llx\n", what, micro_ops.level->name, mx::name(type),
                    static_cast<unsigned long long>(is), static_cast<unsigned long long>(wanted));
            for (const Ins &x : code.ins)
              fprintf(stderr, "  op %d %s arg %d: %d %d %d\n", static_cast<int>(x.op), mx::name(x.type), x.arg, x.a,
                      x.b, x.c);
            for (size_t k = 0; k < v; k++)
              fprintf(stderr, "  %zu = %llx\n", k, static_cast<unsigned long long>(values[k]));
            CHECK(!"the element is right");
          }
        } else {
          values[v] = apply(ins, code.ins[ins.a].type, values[ins.a], values[ins.b], values[ins.c]);
        }
      }
    });
  }
  uint16_t add(Ins ins) {
    code.ins.push_back(ins);
    return static_cast<uint16_t>(code.ins.size() - 1);
  }
  void add_operand(DType type, const Shape &strides, bool is_input) {
    code.operands.push_back(type);
    operands.push_back(std::make_unique<Array>(type, shape, strides));
    if (is_input)
      for_each_index(shape, [&](const Shape &index) {
        for (int part = 0; part < (is_complex(type) ? 2 : 1); part++)
          operands.back()->set(index, random_element(type), part);
      });
  }
};

bool has_complex(DType type) { return type == DType::float32 || type == DType::float64; }

bool takes(Op op, DType type) {
  Code code;
  code.operands = {type};
  const DType result = compares(op) || (op >= Op::is_nan && op <= Op::is_finite) ? DType::bool_ : type;
  code.ins = {{Op::load, type}, {op, result}};
  try {
    loop::check(code);
    return true;
  } catch (const Error &) {
    return false;
  }
}
bool is_math(Op op) {
  return op == Op::rsqrt || (op >= Op::exp && op <= Op::sigmoid) || op == Op::arctan2 || op == Op::hypot ||
         op == Op::logaddexp;
}

// Loads or scalars for the operands, the instruction, a store.
void test_instruction(const loop::MicroOps &micro_ops, Op op, DType type, int scalars, int64_t n) {
  Case c;
  c.shape = {n};
  Ins ins{op, compares(op) || (op >= Op::is_nan && op <= Op::is_finite) ? DType::bool_ : type};
  for (int k = 0; k < loop::arity(op); k++) {
    uint16_t v;
    if (scalars >> k & 1) {
      v = c.add({Op::scalar, type, 0, c.code.n_scalars++});
      c.scalars.push_back(random_element(type));
    } else {
      c.add_operand(type, dense(c.shape, itemsize(type)), true);
      v = c.add({Op::load, type, 0, static_cast<uint16_t>(c.operands.size() - 1)});
    }
    (k == 0 ? ins.a : k == 1 ? ins.b : ins.c) = v;
  }
  const uint16_t v = c.add(ins);
  c.add_operand(ins.type, dense(c.shape, itemsize(ins.type)), false);
  c.add({Op::store, ins.type, 0, static_cast<uint16_t>(c.operands.size() - 1), v});
  if (is_math(op) || (op == Op::power && is_floating(type))) c.tolerance = itemsize(type) == 2 ? 1 : 2;
  c.run_and_check(micro_ops, "instruction");
}

void test_instructions(const loop::MicroOps &micro_ops) {
  for (int op = static_cast<int>(Op::negative); op < static_cast<int>(Op::n_ops); op++)
    for (DType type : all_types) {
      const Op o = static_cast<Op>(op);
      if (o == Op::select || o == Op::erfinv || !takes(o, type)) continue;
      const int64_t n = o == Op::nextafter && itemsize(type) == 2 ? 100 : 700;
      for (int scalars = 0; scalars < 1 << std::min(loop::arity(o), 2); scalars++)
        test_instruction(micro_ops, o, type, scalars, n);
    }
}

void test_casts(const loop::MicroOps &micro_ops) {
  for (DType from : all_types)
    for (DType to : all_types) {
      Case c;
      c.shape = {1000};
      c.add_operand(from, dense(c.shape, itemsize(from)), true);
      c.add_operand(to, dense(c.shape, itemsize(to)), false);
      const uint16_t v = c.add({Op::load, from});
      const uint16_t w = c.add({Op::cast, to, 0, 0, v});
      c.add({Op::store, to, 0, 1, w});
      c.run_and_check(micro_ops, "cast");
    }
}

void test_select(const loop::MicroOps &micro_ops) {
  for (DType type : all_types)
    for (int order = 0; order < 6; order++) {
      // The operands are computed in every order, so that each of them is the newest once.
      Case c;
      c.shape = {300};
      c.add_operand(DType::bool_, dense(c.shape, 1), true);
      c.add_operand(type, dense(c.shape, itemsize(type)), true);
      c.add_operand(type, dense(c.shape, itemsize(type)), true);
      c.add_operand(type, dense(c.shape, itemsize(type)), false);
      int places[3] = {0, 1, 2};
      for (int k = 0; k < order; k++) std::next_permutation(places, places + 3);
      uint16_t values[3];
      for (int k : places) {
        const DType t = k == 0 ? DType::bool_ : type;
        const uint16_t v = c.add({Op::load, t, 0, static_cast<uint16_t>(k)});
        values[k] = c.add({Op::maximum, t, 0, 0, v, v});
      }
      const uint16_t s = c.add({Op::select, type, 0, 0, values[0], values[1], values[2]});
      c.add({Op::store, type, 0, 3, s});
      c.run_and_check(micro_ops, "select");
    }
}

// Strides of every kind for a shape: dense, reversed, permuted, with gaps, broadcast.
Shape random_strides(const Shape &shape, int64_t size, bool is_output) {
  Shape order(shape.size());
  for (size_t d = 0; d < order.size(); d++) order[d] = static_cast<int64_t>(d);
  if (random_below(3) == 0)
    for (size_t d = order.size(); d > 1; d--)
      std::swap(order[d - 1], order[static_cast<size_t>(random_below(static_cast<int64_t>(d)))]);
  Shape strides(shape.size());
  const bool is_dense = random_below(2) == 0;
  for (size_t k = order.size(); k-- > 0;) {
    const size_t d = static_cast<size_t>(order[k]);
    const bool flipped = !is_dense && random_below(3) == 0;
    strides[d] = flipped ? -size : size;
    size *= shape[d] + (!is_dense && random_below(3) == 0 ? random_below(3) : 0);
    if (!is_output && random_below(5) == 0) strides[d] = 0;
  }
  return strides;
}

// A random program of exact instructions over random types.
Case random_case(const Shape &shape) {
  Case c;
  c.shape = shape;
  const auto pick = [&](DType type) -> int {
    std::vector<int> found;
    for (size_t v = 0; v < c.code.ins.size(); v++)
      if (c.code.ins[v].type == type && c.code.ins[v].op != Op::store) found.push_back(static_cast<int>(v));
    return found.empty() ? -1 : found[static_cast<size_t>(random_below(static_cast<int64_t>(found.size())))];
  };
  const auto source = [&](DType type) {
    const int64_t kind = random_below(8);
    if (kind == 0) {
      c.scalars.push_back(random_element(type));
      return c.add({Op::scalar, type, 0, c.code.n_scalars++});
    }
    if (kind == 1 && !shape.empty() && type != DType::bool_)
      return c.add({Op::iota, type, 0, static_cast<uint16_t>(random_below(static_cast<int64_t>(shape.size())))});
    if (kind == 2 && has_complex(type)) {
      const DType both = complex_of(type);
      c.add_operand(both, random_strides(shape, itemsize(both), false), true);
      return c.add(
          {Op::load, type, static_cast<uint8_t>(random_below(2)), static_cast<uint16_t>(c.operands.size() - 1)});
    }
    c.add_operand(type, random_strides(shape, itemsize(type), false), true);
    return c.add({Op::load, type, 0, static_cast<uint16_t>(c.operands.size() - 1)});
  };
  const bool only_float = random_below(2) == 0;
  const auto some_type = [&] { return only_float ? DType::float32 : all_types[random_below(13)]; };
  const int64_t length = 1 + random_below(30);
  for (int64_t i = 0; i < length; i++) {
    const DType type = some_type();
    const Op op = static_cast<Op>(random_below(static_cast<int64_t>(Op::n_ops)));
    if (op == Op::select) {
      const int cond = pick(DType::bool_), a = pick(type), b = pick(type);
      if (cond >= 0 && a >= 0)
        c.add({op, type, 0, 0, static_cast<uint16_t>(cond), static_cast<uint16_t>(a), static_cast<uint16_t>(b)});
      continue;
    }
    if (op == Op::cast) {
      const int a = pick(some_type());
      if (a >= 0) c.add({op, type, 0, 0, static_cast<uint16_t>(a)});
      continue;
    }
    if (op < Op::negative || is_math(op) || op == Op::power || op == Op::erfinv || op == Op::nextafter ||
        !takes(op, type)) {
      source(type);
      continue;
    }
    uint16_t v[3];
    for (uint16_t &x : v) {
      const int old = random_below(4) ? pick(type) : -1;
      x = old >= 0 ? static_cast<uint16_t>(old) : source(type);
    }
    c.add(
        {op, compares(op) || (op >= Op::is_nan && op <= Op::is_finite) ? DType::bool_ : type, 0, 0, v[0], v[1], v[2]});
  }
  source(some_type());
  const int64_t n_stores = 1 + random_below(3);
  for (int64_t i = 0; i < n_stores; i++) {
    const uint16_t v =
        static_cast<uint16_t>(c.code.ins.size() - 1 -
                              static_cast<size_t>(i == 0 ? 0 : random_below(static_cast<int64_t>(c.code.ins.size()))));
    if (c.code.ins[v].op == Op::store) continue;
    const DType type = c.code.ins[v].type;
    if (has_complex(type) && random_below(4) == 0) {
      const DType both = complex_of(type);
      c.add_operand(both, random_strides(shape, itemsize(both), true), false);
      for (uint8_t part : {0, 1}) c.add({Op::store, type, part, static_cast<uint16_t>(c.operands.size() - 1), v});
    } else {
      c.add_operand(type, random_strides(shape, itemsize(type), true), false);
      c.add({Op::store, type, 0, static_cast<uint16_t>(c.operands.size() - 1), v});
    }
  }
  return c;
}

void test_programs(const loop::MicroOps &micro_ops) {
  for (int i = 0; i < 1500; i++) {
    Shape shape(static_cast<size_t>(random_below(6)));
    for (int64_t &n : shape)
      n = random_below(20) == 0 ? 0 : 1 + random_below(shape.size() > 3 ? 5 : shape.size() > 1 ? 20 : 600);
    if (shape.size() == 2 && random_below(4) == 0) shape[1] = 100 + random_below(900);
    random_case(shape).run_and_check(micro_ops, "program");
  }
}

void test_tails(const loop::MicroOps &micro_ops) {
  for (int64_t n = 0; n <= 300; n++) {
    Case c;
    c.shape = {n};
    c.add_operand(DType::float32, {4}, true);
    c.add_operand(DType::float16, {-4}, true);
    c.add_operand(DType::float32, {4}, false);
    c.add_operand(DType::uint8, {1}, false);
    const uint16_t x = c.add({Op::load, DType::float32}), h = c.add({Op::load, DType::float16, 0, 1});
    const uint16_t y = c.add({Op::cast, DType::float32, 0, 0, h}), z = c.add({Op::add, DType::float32, 0, 0, x, y});
    c.add({Op::store, DType::float32, 0, 2, z});
    c.add({Op::store, DType::uint8, 0, 3, c.add({Op::cast, DType::uint8, 0, 0, z})});
    c.run_and_check(micro_ops, "tail");
  }
}

// A product of a number and a value in memory that is used later than in the next instruction, which multiplies, adds
// or subtracts what was computed last: the two do not make one step.
void test_products_beside_others(const loop::MicroOps &micro_ops) {
  for (Op next : {Op::add, Op::subtract, Op::multiply})
    for (Op last : {Op::add, Op::subtract, Op::multiply}) {
      Case c;
      c.shape = {300};
      for (int k = 0; k < 5; k++) c.add_operand(DType::float32, {4}, k < 2);
      c.code.n_scalars = 1;
      c.scalars = {put(DType::float32, 3.f)};
      const DType f = DType::float32;
      const uint16_t x = c.add({Op::load, f, 0, 0}), y = c.add({Op::load, f, 0, 1}), s = c.add({Op::scalar, f});
      const uint16_t m = c.add({Op::add, f, 0, 0, x, y}), k = c.add({Op::multiply, f, 0, 0, m, y});
      const uint16_t product = c.add({Op::multiply, f, 0, 0, m, s}), beside = c.add({next, f, 0, 0, k, y});
      const uint16_t both = c.add({last, f, 0, 0, product, beside});
      c.add({Op::store, f, 0, 2, m});
      c.add({Op::store, f, 0, 3, k});
      c.add({Op::store, f, 0, 4, both});
      c.run_and_check(micro_ops, "products beside others");
    }
}

// An output may lie exactly on an input, also when the input is read again after the store.
void test_in_place(const loop::MicroOps &micro_ops) {
  for (int64_t n : {1, 7, 64, 1000, 5000}) {
    std::vector<float> x(static_cast<size_t>(n)), y(x.size());
    for (float &v : x) v = static_cast<float>(random_below(1000));
    const std::vector<float> before = x;
    Code code;
    code.operands = {DType::float32, DType::float32, DType::float32};
    code.n_scalars = 1;
    code.ins = {{Op::load, DType::float32},
                {Op::scalar, DType::float32},
                {Op::add, DType::float32, 0, 0, 0, 1},
                {Op::store, DType::float32, 0, 1, 2},
                {Op::multiply, DType::float32, 0, 0, 0, 1},
                {Op::store, DType::float32, 0, 2, 4}};
    Args args;
    args.shape = {n};
    for (float *p : {x.data(), x.data(), y.data()}) args.operands.push_back({reinterpret_cast<char *>(p), {4}});
    args.scalars = {put(DType::float32, 3.f)};
    reference::run(loop::compile_for(micro_ops, code), args);
    for (size_t i = 0; i < x.size(); i++) CHECK(x[i] == before[i] + 3 && y[i] == before[i] * 3);
  }
}

// Large enough for the worker pool and for stores past the caches.
void test_large(const loop::MicroOps &micro_ops) {
  Code code;
  code.operands = {DType::float32, DType::float32, DType::float32};
  code.ins = {{Op::load, DType::float32},
              {Op::load, DType::float32, 0, 1},
              {Op::subtract, DType::float32, 0, 0, 0, 1},
              {Op::store, DType::float32, 0, 2, 2}};
  const int64_t rows = 1531, columns = 2048;
  std::vector<float> x(static_cast<size_t>(rows * columns)), y(x.size());
  float *const out = static_cast<float *>(std::aligned_alloc(64, x.size() * 4));
  CHECK(out);
  for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>(i % 8191), y[i] = static_cast<float>(i % 127);
  for (const bool transposed : {false, true}) {
    Args args;
    args.shape = {rows, columns};
    args.operands.push_back({reinterpret_cast<char *>(x.data()), {columns * 4, 4}});
    args.operands.push_back(
        {reinterpret_cast<char *>(y.data()), {transposed ? 4 : columns * 4, transposed ? rows * 4 : 4}});
    args.operands.push_back({reinterpret_cast<char *>(out), {columns * 4, 4}});
    reference::run(loop::compile_for(micro_ops, code), args);
    for (int64_t r = 0; r < rows; r++)
      for (int64_t k = 0; k < columns; k++) {
        const size_t at = static_cast<size_t>(r * columns + k), other = static_cast<size_t>(k * rows + r);
        CHECK(out[at] == x[at] - y[transposed ? other : at]);
      }
  }
  std::free(out);
}

void test_malformed() {
  const DType f = DType::float32;
  const Code bad[] = {
      {{{Op::load, f, 0, 1}}, {f}, 0},                                            // no such operand
      {{{Op::load, DType::int32}}, {f}, 0},                                       // another type
      {{{Op::load, f}, {Op::add, f, 0, 0, 0, 2}}, {f}, 0},                        // a later value
      {{{Op::scalar, f}}, {}, 0},                                                 // no such scalar
      {{{Op::load, DType::int32}, {Op::exp, DType::int32}}, {DType::int32}, 0},   // exp of an integer
      {{{Op::load, f}, {Op::store, f, 0, 0, 0}, {Op::exp, f, 0, 0, 1}}, {f}, 0},  // uses a store
  };
  for (const Code &code : bad) {
    bool threw = false;
    try {
      loop::compile(code);
    } catch (const Error &e) {
      threw = e.status() == MX_ERROR_INTERNAL;
    }
    CHECK(threw);
  }
}

void test_cache() {
  Code code;
  code.operands = {DType::float32, DType::float32};
  code.ins = {{Op::load, DType::float32}, {Op::exp, DType::float32}, {Op::store, DType::float32, 0, 1, 1}};
  const loop::KernelRef first = loop::compile(code);
  CHECK(loop::compile(code) == first);
  code.ins[1].op = Op::log;
  CHECK(loop::compile(code) != first);
  // Thousands of others push it out; whoever holds it keeps it.
  for (uint16_t i = 0; i < 6000; i++) {
    code.n_scalars = static_cast<uint16_t>(i + 1);
    loop::compile(code);
  }
  code.n_scalars = 0;
  code.ins[1].op = Op::exp;
  CHECK(loop::compile(code) != first);
  CHECK(loop::estimate_ns(*first, 1000000) > loop::estimate_ns(*first, 1000));
}

}  // namespace

int main() {
  for (const loop::MicroOps *micro_ops : loop::all_micro_ops()) {
    random_state = 1;
    test_casts(*micro_ops);
    test_select(*micro_ops);
    test_instructions(*micro_ops);
    test_tails(*micro_ops);
    test_products_beside_others(*micro_ops);
    test_in_place(*micro_ops);
    test_programs(*micro_ops);
    test_large(*micro_ops);
  }
  test_malformed();
  test_cache();
  return 0;
}
