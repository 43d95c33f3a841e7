// What eval, lowering and lifecycle know of a device. A backend implements this class and is entered in the registry;
// nothing above it changes.
#pragma once
#include <memory>

#include "backends/kernel.hpp"
#include "backends/loop/geometry.hpp"
#include "backends/loop/ir.hpp"
#include "runtime/device.hpp"
#include "runtime/memory.hpp"

namespace mx {

// A loop that a backend compiled, and one that it made ready for a geometry: immutable, shareable between threads, of a
// class of the backend's own.
class LoopKernel {
 protected:
  LoopKernel() = default;
  ~LoopKernel() = default;
};
using LoopKernelRef = std::shared_ptr<const LoopKernel>;
class PreparedLoop {
 protected:
  PreparedLoop() = default;
  ~PreparedLoop() = default;
};
using PreparedLoopRef = std::shared_ptr<const PreparedLoop>;

// All functions may be called on any thread, also while the process ends.
class Backend {
 public:
  // Whether a launch returns when its work is done. If so, programs also use products with epilogues, loops over tiles
  // and buffers that are freed between two launches.
  virtual bool is_synchronous() const noexcept = 0;

  // Memory that the device and, once the work that writes it has ended, the host can read. Throws bad_alloc.
  virtual Ref<Buffer> allocate(size_t bytes) = 0;

  // Finds or makes the kernel for a loop. Throws INTERNAL if the code is malformed, bad_alloc.
  virtual LoopKernelRef compile(const loop::Code &code) = 0;
  // With `whole`, the geometry is that of a part of a larger space: the results of reductions that lie in both are
  // those of the larger one. Throws INTERNAL if the geometry does not fit, bad_alloc.
  virtual PreparedLoopRef prepare(LoopKernelRef kernel, const loop::Geometry &geometry,
                                  const loop::Geometry *whole = nullptr) = 0;
  // A rough run time for so many elements, which decides what runs inline.
  virtual int64_t estimate_ns(const LoopKernel &kernel, int64_t n_elements) const noexcept = 0;
  // What will run it, for explain.
  virtual const char *executor(const PreparedLoop &loop) const noexcept = 0;

  virtual const KernelInfo &kernel_for(OpCode op) const noexcept = 0;
  virtual Ref<PackedConstants> new_packed_constants() = 0;

  // Launches start in the order in which a thread made them, each when those before it have ended. What spans show is
  // copied; programs, payloads and memory live until `finish` has returned. `data` holds the address of each operand's
  // first element, `scalars` the bits of an element of each scalar's type, in the low bytes. Zero elements store
  // nothing; a reduction of none stores the identity. The result depends on code and shape only, never on threads.
  // A synchronous launch throws what goes wrong, CANCELLED between chunks included.
  virtual void launch(const PreparedLoop &loop, std::span<char *const> data, std::span<const uint64_t> scalars) = 0;
  virtual void launch(KernelFunction kernel, const KernelCall &call) = 0;
  // Copies src, broadcast to the shape of dst, into dst.
  virtual void launch_copy(const Tensor &dst, const Tensor &src) = 0;
  // Waits for all that the calling thread has launched and throws the first thing that went wrong with it.
  virtual void finish() = 0;

 protected:
  ~Backend() = default;
};

// Throws UNSUPPORTED if the device has none.
Backend &backend_for(Device device);
// Adds a device of this type, with index 0. The backend must live for ever.
void add_backend(mx_device_type type, Backend &backend);

}  // namespace mx
