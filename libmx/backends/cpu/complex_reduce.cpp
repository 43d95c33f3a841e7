#include "backends/cpu/complex_reduce.hpp"

#include "backends/cpu/element.hpp"
#include "runtime/pool.hpp"

namespace mx::cpu {
namespace {

template <class C>
C multiply(C x, C y) noexcept {
  return x * y;
}
template <class C>
C minimum(C x, C y) noexcept {
  return is_nan(x) || (!is_nan(y) && less(x, y)) ? x : y;
}
template <class C>
C maximum(C x, C y) noexcept {
  return is_nan(x) || (!is_nan(y) && less(y, x)) ? x : y;
}

// Dimensions of the input, those that stay before those that are reduced.
struct Space {
  Dims kept, kept_strides, reduced, reduced_strides;
};

Space split(const Tensor &in, std::span<const int64_t> axes) {
  Space s;
  for (size_t d = 0; d < in.shape.size(); d++) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
    (reduced ? s.reduced : s.kept).push_back(in.shape[d]);
    (reduced ? s.reduced_strides : s.kept_strides).push_back(in.strides[d]);
  }
  return s;
}

int64_t offset(int64_t index, const Dims &shape, const Dims &strides) noexcept {
  int64_t bytes = 0;
  for (size_t d = shape.size(); d-- > 0; index /= shape[d]) bytes += index % shape[d] * strides[d];
  return bytes;
}

template <class C>
void run(const KernelCall &call) {
  const Tensor &in = call.inputs[0];
  const Space s = split(in, AttrReader(call.attrs).list());
  const int64_t n = element_count(s.kept), k = element_count(s.reduced);
  using Combine = C (*)(C, C) noexcept;
  const Combine combine = call.op == OpCode::prod ? multiply<C> : call.op == OpCode::min ? minimum<C> : maximum<C>;
  const C identity = call.op == OpCode::prod ? C{1, 0} : extreme<C>(call.op == OpCode::max);
  C *out = reinterpret_cast<C *>(call.outputs[0].data);
  const int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, k));
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const char *from = in.data + offset(i, s.kept, s.kept_strides);
      C result = k ? *reinterpret_cast<const C *>(from) : identity;
      for (int64_t j = 1; j < k; j++)
        result = combine(result, *reinterpret_cast<const C *>(from + offset(j, s.reduced, s.reduced_strides)));
      out[i] = result;
    }
  });
}

}  // namespace

void complex_reduce(const KernelCall &call) {
  call.inputs[0].dtype == DType::complex64 ? run<Complex64>(call) : run<Complex128>(call);
}

}  // namespace mx::cpu
