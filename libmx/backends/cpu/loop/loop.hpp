// Compiling and running loop kernels. Kernels are cached by content, process-wide, bounded; evicted ones live until
// their last user is gone.
#pragma once
#include "backends/backend.hpp"

namespace mx::loop {

class Kernel;  // immutable, shareable between threads
using KernelRef = std::shared_ptr<const Kernel>;

// Finds or makes the kernel for this code. Throws INTERNAL if the code is malformed, bad_alloc.
KernelRef compile(const Code &code);

// A kernel made ready for one geometry: immutable, shareable between threads, run as often as one likes.
class Prepared;
using PreparedRef = std::shared_ptr<const Prepared>;

// With `whole`, the geometry is that of a part of a larger space: the results of reductions that lie in both, and what
// is best for the caches, are those of the larger one. Throws INTERNAL if the geometry does not fit the kernel,
// bad_alloc.
PreparedRef prepare(KernelRef kernel, const Geometry &geometry, const Geometry *whole = nullptr);

// Runs the kernel over the whole space, in parallel where that pays. `data` holds the address of each operand's first
// element, `scalars` the bits of an element of each scalar's type, in the low bytes. Zero elements: stores nothing; a
// reduction over zero elements stores the identity (0, 1, +inf or the largest, -inf or the smallest, true, false).
// Deterministic: the result depends on code, shape and instruction set level only, never on the number of threads.
// Throws CANCELLED between chunks, INTERNAL if too little is given.
void run(const Prepared &prepared, std::span<char *const> data, std::span<const uint64_t> scalars);

// Which executor the next run takes, as far as is known before it: "jit" or "vm".
const char *executor(const Prepared &prepared);

// A rough estimate of the run time in nanoseconds on one thread, for deciding whether to run inline.
int64_t estimate_ns(const Kernel &kernel, int64_t n_elements) noexcept;

}  // namespace mx::loop
