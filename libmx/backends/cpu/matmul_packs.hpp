// Packed constants: the right operand of products that come again with the very same matrix.
#pragma once
#include <atomic>

#include "backends/cpu/matmul_driver.hpp"
#include "backends/kernel.hpp"

namespace mx::cpu {

class PackCache final : public PackedConstants {
 public:
  PackCache() = default;
  // The packed form of p.b, made if it is not there; nullptr if there is no memory for it. Any thread; two that come at
  // once may both pack, one copy stays.
  const char *packed(const Product &p);
  int64_t bytes() const noexcept override { return bytes_.load(std::memory_order_relaxed); }

 private:
  struct Pack {
    const MatmulKernels *kernels;
    MatrixView b;
    int64_t n, k;
    Ref<Buffer> memory;
    Pack *next;
  };
  ~PackCache() override;
  static bool fits(const Pack &pack, const Product &p) noexcept;
  // Among those from `from` to `end`, which is not looked at.
  static const char *find(const Pack *from, const Pack *end, const Product &p) noexcept;
  std::atomic<Pack *> newest_{nullptr};  // a list that only grows
  std::atomic<int64_t> bytes_{0};
};

}  // namespace mx::cpu
