#include "backends/cpu/backend.hpp"

#include "backends/cpu/kernel.hpp"
#include "backends/cpu/loop/plan.hpp"
#include "backends/cpu/matmul_packs.hpp"
#include "backends/cpu/strided_copy.hpp"

namespace mx::cpu {
namespace {

const loop::Prepared &of(const PreparedLoop &loop) noexcept { return static_cast<const loop::Prepared &>(loop); }

class CpuBackend final : public Backend {
 public:
  bool is_synchronous() const noexcept override { return true; }
  Ref<Buffer> allocate(size_t bytes) override { return mx::allocate(bytes); }
  LoopKernelRef compile(const loop::Code &code) override { return loop::compile(code); }
  PreparedLoopRef prepare(LoopKernelRef kernel, const loop::Geometry &geometry, const loop::Geometry *whole) override {
    return loop::prepare(std::static_pointer_cast<const loop::Kernel>(std::move(kernel)), geometry, whole);
  }
  int64_t estimate_ns(const LoopKernel &kernel, int64_t n_elements) const noexcept override {
    return loop::estimate_ns(static_cast<const loop::Kernel &>(kernel), n_elements);
  }
  const char *executor(const PreparedLoop &loop) const noexcept override { return loop::executor(of(loop)); }
  const KernelInfo &kernel_for(OpCode op) const noexcept override { return cpu::kernel_for(op); }
  Ref<PackedConstants> new_packed_constants() override { return make_ref<PackCache>(); }
  void launch(const PreparedLoop &loop, std::span<char *const> data, std::span<const uint64_t> scalars) override {
    loop::run(of(loop), data, scalars);
  }
  void launch(KernelFunction kernel, const KernelCall &call) override { kernel(call); }
  void launch_copy(const Tensor &dst, const Tensor &src) override { copy(dst, src); }
  void finish() override {}
};

constinit CpuBackend the_backend;

}  // namespace

Backend &backend() noexcept { return the_backend; }

}  // namespace mx::cpu
