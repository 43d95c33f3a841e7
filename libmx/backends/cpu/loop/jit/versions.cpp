// When to make machine code, and who keeps it; see versions.hpp.
#include "backends/cpu/loop/jit/versions.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "backends/cpu/loop/jit/generate.hpp"
#include "backends/cpu/loop/jit/pages.hpp"
#include "backends/cpu/loop/kernel.hpp"
#include "base/settled.hpp"

namespace mx::loop::jit {

struct Version {
  std::vector<Meeting> rows;
  const void *code = nullptr;
  size_t bytes = 0;
  const Version *older = nullptr;
  Function function() const noexcept { return reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(code)); }
};

namespace {

// One set of rows is the rule; a kernel that is met in many ways stays with these and the VM.
constexpr int max_versions = 8;

Policy initial_policy() noexcept {
  const char *given = std::getenv("MX_JIT");
  if (!given) return Policy::automatic;
  return std::strcmp(given, "0") == 0        ? Policy::never
         : std::strcmp(given, "always") == 0 ? Policy::always
                                             : Policy::automatic;
}
constinit std::atomic<int> wanted_policy{-1};  // -1: none was set
Policy policy() noexcept {
  const int wanted = wanted_policy.load(std::memory_order_relaxed);
  return wanted < 0 ? settled<initial_policy>() : static_cast<Policy>(wanted);
}

// Assembling takes about 10 us and 1 us an instruction; a run gains a tenth, or a third if it is small. So much work of
// the VM, as estimated, has to be there before it pays.
double worth_ns(const Kernel &kernel) noexcept { return 150e3 + 15e3 * static_cast<double>(kernel.code.ins.size()); }

// Measured. Long chains of dependent instructions want eight vectors at a time, for which there are not enough
// registers. The VM takes eight through one function before the next and is ahead then, unless there is little to do:
// by 10 to 20 % with 16 registers, by a few percent with 32 where a division lengthens the chain.
bool vm_is_faster(const Kernel &kernel, double work_ns) noexcept {
  if (work_ns < 1000) return false;
  const bool has_32 = kernel.micro_ops->level->vector_bytes > 32;
  for (const Ins &ins : kernel.code.ins) {
    const bool divides = ins.op == Op::tanh || ins.op == Op::erf || ins.op == Op::sigmoid;
    const bool is_long = ins.op >= Op::exp && ins.op <= Op::sigmoid && ins.op != Op::sin && ins.op != Op::cos;
    const bool rounds = ins.type == DType::bfloat16 && ins.op >= Op::cast && !is_closed(ins.op, ins.type);
    if (has_32 ? divides : is_long || rounds) return true;
  }
  return false;
}

}  // namespace

void set_policy(Policy wanted) noexcept { wanted_policy.store(static_cast<int>(wanted), std::memory_order_relaxed); }

Versions::~Versions() {
  const Version *version = newest_.load(std::memory_order_acquire);
  while (version) {
    const Version *const older = version->older;
    discard(version->code, version->bytes);
    delete version;
    version = older;
  }
}

const Version *Versions::find(std::span<const Meeting> rows) const noexcept {
  for (const Version *v = newest_.load(std::memory_order_acquire); v; v = v->older)
    if (std::equal(rows.begin(), rows.end(), v->rows.begin(), v->rows.end())) return v;
  return nullptr;
}

bool Versions::would_choose(const Kernel &kernel, std::span<const Meeting> rows, double work_ns) const {
  const Policy now = policy();
  if (now == Policy::never || is_for_vm_.load(std::memory_order_relaxed) || is_refused()) return false;
  const bool is_automatic = now == Policy::automatic;
  if (is_automatic && vm_is_faster(kernel, work_ns)) return false;
  const auto plain = [](Meeting m) { return m == Meeting::streamed ? Meeting::moving : m; };
  for (const Version *v = newest_.load(std::memory_order_acquire); v; v = v->older)
    if (std::equal(rows.begin(), rows.end(), v->rows.begin(), v->rows.end(),
                   [&](Meeting a, Meeting b) { return plain(a) == plain(b); }))
      return true;
  if (is_automatic && spent_ns_.load(std::memory_order_relaxed) + work_ns < worth_ns(kernel)) return false;
  return !generate(kernel, {rows.begin(), rows.end()}).empty();
}

Function Versions::choose(const Kernel &kernel, std::span<const Meeting> rows, double work_ns) const noexcept {
  const Policy now = policy();
  if (now == Policy::never || is_for_vm_.load(std::memory_order_relaxed)) return nullptr;
  if (now == Policy::automatic && vm_is_faster(kernel, work_ns)) return nullptr;
  if (const Version *found = find(rows)) return found->function();
  if (now == Policy::automatic) {
    const double spent = spent_ns_.load(std::memory_order_relaxed) + work_ns;  // a lost addition does no harm
    spent_ns_.store(spent, std::memory_order_relaxed);
    if (spent < worth_ns(kernel)) return nullptr;
  }
  return make(kernel, rows);
}

// Whoever comes second with the same rows adds a twin that nobody finds; both are freed with the kernel.
Function Versions::make(const Kernel &kernel, std::span<const Meeting> rows) const noexcept {
  int n = 0;
  for (const Version *v = newest_.load(std::memory_order_acquire); v; v = v->older) n++;
  if (n >= max_versions) return nullptr;
  Version *made = nullptr;
  if (!is_refused()) try {
      std::vector<Meeting> kept(rows.begin(), rows.end());
      const std::vector<uint8_t> code = generate(kernel, kept);
      made = code.empty() ? nullptr : new Version{std::move(kept)};
      if (made && !(made->code = executable_copy(code.data(), made->bytes = code.size()))) {
        delete made;
        made = nullptr;
      }
    } catch (const std::bad_alloc &) {
      return nullptr;  // another time
    }
  if (!made) {
    is_for_vm_.store(true, std::memory_order_relaxed);
    return nullptr;
  }
  made->older = newest_.load(std::memory_order_relaxed);
  while (!newest_.compare_exchange_weak(made->older, made, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return made->function();
}

}  // namespace mx::loop::jit
