// arange: start + i * step. Integers wrap; floats are computed in double and rounded once.
#include "backends/cpu/element.hpp"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/strided.hpp"
#include "base/status.hpp"

namespace mx::cpu {

void arange(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const int64_t n = attrs.integer();
  attrs.dtype();
  const int64_t start = attrs.integer(), step = attrs.integer();
  const double start_f = attrs.real(), step_f = attrs.real();
  const Tensor &out = call.outputs[0];
  visit(out.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    T *to = reinterpret_cast<T *>(out.data);
    parallel_for(n, Cost{1}, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        if constexpr (std::is_integral_v<T>) {
          to[i] = static_cast<T>(static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(step));
        } else if constexpr (is_complex_number<T>) {
          to[i] = {static_cast<decltype(T::re)>(start_f + static_cast<double>(i) * step_f), 0};
        } else {
          to[i] = narrow<T>(static_cast<Wide<T>>(start_f + static_cast<double>(i) * step_f));
        }
      }
    });
  });
}

}  // namespace mx::cpu
