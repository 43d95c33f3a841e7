// The machine code of a kernel: a function for each way in which its rows are met, made once that pays and kept as long
// as the kernel. Any thread may ask at any time; nothing is locked.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>

namespace mx::loop {

class Kernel;

namespace jit {

using Function = void (*)(const int64_t *frame, int64_t n);  // see assembler.hpp

// How a row is met: each stream, then each index.
enum class Meeting : uint8_t {
  moving,    // dense
  constant,  // one element for all
  packed,    // an index whose values are in memory
  streamed   // written past the caches
};

struct Version;

class Versions {
 public:
  Versions() noexcept = default;
  ~Versions();
  Versions(const Versions &) = delete;
  Versions &operator=(const Versions &) = delete;

  // The function for these rows, or null: the VM is to do the run. `work_ns` is what the run would take it.
  Function choose(const Kernel &kernel, std::span<const Meeting> rows, double work_ns) const noexcept;
  // Whether choose would give one, streamed or not. Allocates; throws bad_alloc.
  bool would_choose(const Kernel &kernel, std::span<const Meeting> rows, double work_ns) const;

 private:
  const Version *find(std::span<const Meeting> rows) const noexcept;
  Function make(const Kernel &kernel, std::span<const Meeting> rows) const noexcept;

  mutable std::atomic<const Version *> newest_{nullptr};
  mutable std::atomic<double> spent_ns_{0};  // by the VM
  mutable std::atomic<bool> is_for_vm_{false};
};

// For tests: always use the JIT where it can do a kernel, or never. MX_JIT=0 means never from the start, MX_JIT=always
// what it says.
enum class Policy : uint8_t { automatic, always, never };
void set_policy(Policy policy) noexcept;
// The bytes of all machine code, with what rounding to pages adds.
int64_t code_bytes() noexcept;

}  // namespace jit
}  // namespace mx::loop
