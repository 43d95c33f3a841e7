// What is particular to the JIT: which kernels it does, code that needs more registers than there are, scalars that it
// leaves to the VM, when it starts, whose memory the code is, and what happens where there is none. That its results
// are those of the VM is tested wherever loops are.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <string>
#include <thread>

#include "backends/cpu/loop/jit/vector_code.hpp"
#include "config.h"
#include "loop_reference.hpp"

using namespace reference;
using loop::MicroOps;
using loop::jit::Policy;

namespace {

constexpr DType f32 = DType::float32;

// A kernel over n elements of float32 (or as said), its inputs, one output.
struct Problem {
  Code code;
  std::vector<std::vector<char>> memory;
  std::vector<uint64_t> scalars;
  int64_t n = 1000;

  uint16_t put(Ins ins) {
    code.ins.push_back(ins);
    return static_cast<uint16_t>(code.ins.size() - 1);
  }
  uint16_t input(DType type = f32) {
    const size_t size = static_cast<size_t>(itemsize(type));
    code.operands.push_back(type);
    memory.emplace_back(static_cast<size_t>(n) * size);
    for (size_t i = 0; i < static_cast<size_t>(n); i++) {
      const uint64_t raw = random_element(type);
      std::memcpy(memory.back().data() + i * size, &raw, size);
    }
    return put({Op::load, type, 0, static_cast<uint16_t>(code.operands.size() - 1)});
  }
  uint16_t scalar(float x) {
    scalars.push_back(reference::put(f32, x));
    return put({Op::scalar, f32, 0, code.n_scalars++});
  }
  uint16_t apply(Op op, uint16_t a, uint16_t b = 0, uint16_t c = 0, DType type = f32) {
    return put({op, type, 0, 0, a, b, c});
  }
  void output(uint16_t v) {
    const DType type = code.ins[v].type;
    code.operands.push_back(type);
    memory.emplace_back(static_cast<size_t>(n * itemsize(type)));
    put({Op::store, type, 0, static_cast<uint16_t>(code.operands.size() - 1), v});
  }
  loop::PreparedRef prepared(loop::KernelRef kernel) const {
    loop::Geometry geometry;
    geometry.shape.push_back(n);
    for (DType type : code.operands) {
      geometry.strides.emplace_back();
      geometry.strides.back().push_back(itemsize(type));
    }
    return loop::prepare(std::move(kernel), geometry);
  }
  const std::vector<char> &run(const loop::Prepared &prepared, Policy policy) {
    std::vector<char *> data;
    for (auto &m : memory) data.push_back(m.data());
    loop::jit::set_policy(policy);
    loop::run(prepared, data, scalars);
    return memory.back();
  }
  // Runs it both ways and says whether the second was the JIT.
  bool compare(const loop::MicroOps &micro_ops) {
    const loop::PreparedRef p = prepared(loop::compile_for(micro_ops, code));
    const std::vector<char> by_vm = run(*p, Policy::never);
    const std::vector<char> &by_jit = run(*p, Policy::always);
    const DType type = code.operands.back();
    const size_t size = static_cast<size_t>(itemsize(type));
    for (size_t i = 0; i < by_vm.size(); i += size) {
      uint64_t a = 0, b = 0;
      std::memcpy(&a, by_vm.data() + i, size);
      std::memcpy(&b, by_jit.data() + i, size);
      CHECK(same_bits(type, a, b));
    }
    return std::strcmp(loop::executor(*p), "jit") == 0;
  }
};

bool can_assemble() {
#if MX_HAVE_XBYAK
  return __builtin_cpu_supports("x86-64-v3");
#else
  return false;
#endif
}
bool is_wide_enough(const loop::MicroOps &micro_ops) { return can_assemble() && micro_ops.level->vector_bytes >= 32; }

// The common ones, so that nothing falls back unnoticed.
void test_coverage(const loop::MicroOps &micro_ops) {
  const auto does = [&](Op op, DType type, DType result) {
    Problem p;
    uint16_t v[3] = {};
    for (int k = 0; k < loop::arity(op); k++) v[k] = p.input(type);
    p.output(p.apply(op, v[0], v[1], v[2], result));
    const bool jitted = p.compare(micro_ops);
    if (jitted != is_wide_enough(micro_ops))
      fprintf(stderr, "op %d, %s at %s\n", static_cast<int>(op), mx::name(type), micro_ops.level->name);
    CHECK(jitted == is_wide_enough(micro_ops));
  };
  for (Op op : {Op::negative, Op::absolute, Op::square, Op::sign, Op::add, Op::subtract, Op::multiply, Op::minimum,
                Op::maximum})
    for (DType type : {f32, DType::float64, DType::float16, DType::bfloat16, DType::int32, DType::uint8, DType::int16})
      does(op, type, type);
  for (Op op : {Op::floor, Op::ceil, Op::trunc, Op::round, Op::sqrt, Op::rsqrt, Op::reciprocal, Op::divide,
                Op::floor_divide, Op::copysign})
    for (DType type : {f32, DType::float64, DType::float16, DType::bfloat16}) does(op, type, type);
  for (Op op : {Op::exp, Op::exp2, Op::expm1, Op::log, Op::log2, Op::log10, Op::log1p, Op::sin, Op::cos, Op::tanh,
                Op::erf, Op::sigmoid, Op::power})
    for (DType type : {f32, DType::float16, DType::bfloat16}) does(op, type, type);
  for (Op op : {Op::equal, Op::not_equal, Op::less, Op::less_equal, Op::greater, Op::greater_equal})
    for (DType type : {f32, DType::float64, DType::float16, DType::int32, DType::uint32, DType::int64, DType::bool_})
      does(op, type, DType::bool_);
  for (Op op : {Op::is_nan, Op::is_inf, Op::is_finite})
    for (DType type : {f32, DType::float64}) does(op, type, DType::bool_);
  for (Op op : {Op::logical_and, Op::logical_or, Op::logical_xor, Op::logical_not})
    does(op, DType::bool_, DType::bool_);
  for (Op op : {Op::bit_and, Op::bit_or, Op::bit_xor, Op::bit_not, Op::shift_left, Op::shift_right})
    for (DType type : {DType::int32, DType::uint32, DType::uint8}) does(op, type, type);
  const std::pair<DType, DType> casts[] = {
      {f32, DType::float16}, {DType::float16, f32},       {f32, DType::int32},    {DType::int32, f32},
      {DType::bool_, f32},   {f32, DType::bool_},         {f32, DType::float64},  {DType::float64, f32},
      {DType::uint8, f32},   {DType::bfloat16, f32},      {f32, DType::bfloat16}, {DType::int32, DType::int64},
      {DType::uint32, f32},  {DType::int64, DType::int32}};
  for (const auto &[from, to] : casts) does(Op::cast, from, to);
}

// All inputs are alive at once, in more rows than there are registers for addresses.
void test_pressure(const loop::MicroOps &micro_ops) {
  for (int n_inputs : {12, 31, 64}) {
    Problem p;
    std::vector<uint16_t> all;
    for (int i = 0; i < n_inputs; i++) all.push_back(p.apply(Op::square, p.input()));
    uint16_t sum = all[0], product = all[0];
    for (int i = 1; i < n_inputs; i++) sum = p.apply(Op::add, sum, all[static_cast<size_t>(i)]);
    for (int i = n_inputs; i-- > 0;)
      product = p.apply(Op::maximum, p.apply(Op::multiply, product, sum), all[static_cast<size_t>(i)]);
    p.output(p.apply(Op::fma, product, sum, all[3]));
    CHECK(p.compare(micro_ops) == is_wide_enough(micro_ops));
  }
}

// Sums and extremes alone would keep half of a core's units waiting; what moves to the others keeps its value.
void test_balance(const loop::MicroOps &micro_ops) {
  Problem p;
  const uint16_t x = p.input(), y = p.input();
  uint16_t v = x;
  for (int i = 0; i < 6; i++)
    v = p.apply(Op::maximum, p.apply(Op::add, p.apply(Op::multiply, v, p.scalar(1.1f)), y), p.scalar(-0.5f));
  p.output(v);
  CHECK(p.compare(micro_ops) == is_wide_enough(micro_ops));
#if MX_HAVE_XBYAK
  if (!is_wide_enough(micro_ops)) return;
  const loop::KernelRef kernel = loop::compile_for(micro_ops, p.code);
  int adders = 0, multipliers = 0;
  for (const loop::jit::Instruction &ins : loop::jit::lower(*kernel, {3, loop::jit::Meeting::moving}).ins) {
    adders += ins.op == loop::jit::V::add || ins.op == loop::jit::V::larger;
    multipliers += ins.op == loop::jit::V::multiply || ins.op == loop::jit::V::madd;
  }
  CHECK(adders == 9 && multipliers == 9);
#endif
}

void test_lengths(const loop::MicroOps &micro_ops) {
  for (int64_t n : {1, 2, 7, 15, 16, 17, 63, 64, 65, 127, 128, 129, 1000, 2049, 40000}) {
    Problem p;
    p.n = n;
    const uint16_t x = p.input(), c = p.scalar(1.5f);
    p.output(p.apply(Op::select, p.apply(Op::less, x, c, 0, DType::bool_), p.apply(Op::tanh, x), p.apply(Op::sin, x)));
    CHECK(p.compare(micro_ops) == is_wide_enough(micro_ops));
  }
}

void test_too_long(const loop::MicroOps &micro_ops) {
  Problem p;
  uint16_t v = p.input();
  for (int i = 0; i < 900; i++) v = p.apply(Op::log1p, v);
  p.output(v);
  CHECK(!p.compare(micro_ops));
}

void test_nan_bound(const loop::MicroOps &micro_ops) {
  Problem p;
  p.output(p.apply(Op::maximum, p.input(), p.scalar(0.5f)));
  const loop::PreparedRef prepared = p.prepared(loop::compile_for(micro_ops, p.code));
  p.run(*prepared, Policy::always);
  p.scalars[0] = put(f32, NAN);
  const std::vector<char> &out = p.run(*prepared, Policy::always);
  for (size_t i = 0; i < out.size(); i += 4) {
    float x;
    std::memcpy(&x, out.data() + i, 4);
    CHECK(std::isnan(x));
  }
}

Problem usual(int64_t n) {
  Problem p;
  p.n = n;
  const uint16_t x = p.input();
  p.output(p.apply(Op::multiply, p.apply(Op::exp, x), p.scalar(3)));
  return p;
}

// A single small run is not worth assembling for; many are, and one large one.
void test_start() {
  const loop::MicroOps &micro_ops = loop::micro_ops();
  Problem small = usual(10), large = usual(1000000);
  const loop::PreparedRef p = small.prepared(loop::compile_for(micro_ops, small.code));
  small.run(*p, Policy::automatic);
  CHECK(std::strcmp(loop::executor(*p), "vm") == 0);
  for (int i = 0; i < 100000; i++) small.run(*p, Policy::automatic);
  CHECK((std::strcmp(loop::executor(*p), "jit") == 0) == is_wide_enough(micro_ops));
  if (micro_ops.level->vector_bytes <= 32) return;  // exp is the VM's business there
  const loop::PreparedRef q = large.prepared(loop::compile_for(micro_ops, large.code));
  large.run(*q, Policy::automatic);
  CHECK((std::strcmp(loop::executor(*q), "jit") == 0) == is_wide_enough(micro_ops));
}

// The code goes with its kernel, and no page was ever writable and executable.
void test_memory() {
  const int64_t before = loop::jit::code_bytes();
  Problem p = usual(1000);
  {
    const loop::PreparedRef prepared = p.prepared(loop::compile_for(loop::micro_ops(), p.code));
    p.run(*prepared, Policy::always);
    CHECK((loop::jit::code_bytes() > before) == is_wide_enough(loop::micro_ops()));
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) CHECK(line.find(" rwx") == std::string::npos);
  }
  CHECK(loop::jit::code_bytes() == before);
}

void test_threads() {
  Problem p = usual(5000);
  const std::vector<char> wanted = p.run(*p.prepared(loop::compile_for(loop::micro_ops(), p.code)), Policy::never);
  loop::jit::set_policy(Policy::always);
  for (int round = 0; round < 20; round++) {
    const loop::PreparedRef prepared = p.prepared(loop::compile_for(loop::micro_ops(), p.code));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
      threads.emplace_back([&] {
        Problem mine = p;
        const std::vector<char> got = mine.run(*prepared, Policy::always);
        CHECK(got == wanted);
      });
    for (std::thread &t : threads) t.join();
  }
}

// Runs f in a child and expects its CHECKs to hold there.
template <class F>
void in_child(F f) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    f();
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// A child runs the code that was there, and makes its own.
void test_fork() {
  Problem p = usual(1000), q = usual(1500);
  const loop::PreparedRef prepared = p.prepared(loop::compile_for(loop::micro_ops(), p.code));
  const std::vector<char> wanted = p.run(*prepared, Policy::always);
  in_child([&] {
    CHECK(p.run(*prepared, Policy::always) == wanted);
    CHECK(q.compare(loop::micro_ops()) == is_wide_enough(loop::micro_ops()));
  });
  CHECK(p.run(*prepared, Policy::always) == wanted);
}

// A system that refuses executable memory: mprotect with PROT_EXEC fails.
void refuse_executable_memory() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}
void test_refusal() {
  in_child([] {
    refuse_executable_memory();
    const int64_t before = loop::jit::code_bytes();
    for (int i = 0; i < 3; i++) {
      Problem p = usual(1000);
      CHECK(!p.compare(loop::micro_ops()));
    }
    CHECK(loop::jit::code_bytes() == before);
  });
}

// In a process of its own: MX_JIT=0 holds from the start.
void check_switched_off() {
  Problem p = usual(100000);
  std::vector<char *> data;
  for (auto &m : p.memory) data.push_back(m.data());
  const loop::PreparedRef prepared = p.prepared(loop::compile_for(loop::micro_ops(), p.code));
  for (int i = 0; i < 50; i++) loop::run(*prepared, data, p.scalars);
  CHECK(std::strcmp(loop::executor(*prepared), "vm") == 0);
}

}  // namespace

int main(int argc, char **argv) {
  if (argc > 1 && std::strcmp(argv[1], "off") == 0) {
    check_switched_off();
    return 0;
  }
  test_refusal();  // first: a child has one thread only
  test_fork();
  in_child([&] {
    setenv("MX_JIT", "0", 1);
    execl(argv[0], argv[0], "off", nullptr);
    _exit(1);
  });
  for (const loop::MicroOps *micro_ops : loop::all_micro_ops()) {
    random_state = 1;
    test_coverage(*micro_ops);
    test_pressure(*micro_ops);
    test_balance(*micro_ops);
    test_lengths(*micro_ops);
    test_too_long(*micro_ops);
    test_nan_bound(*micro_ops);
  }
  test_start();
  test_memory();
  test_threads();
  return 0;
}
