// The inner loops of slice_update and the scatters.
#include "backends/cpu/updates.hpp"

namespace mx::cpu {
namespace {

template <class T, class Combine>
void update(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n) {
  const Combine combine;
  if (dst_stride == sizeof(T) && src_stride == sizeof(T)) {
    T *to = reinterpret_cast<T *>(dst);
    const T *from = reinterpret_cast<const T *>(src);
    for (int64_t i = 0; i < n; i++) to[i] = narrow<T>(combine(widen_element(to[i]), widen_element(from[i])));
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    char *to = dst + i * dst_stride;
    store<T>(to, combine(load<T>(to), load<T>(src + i * src_stride)));
  }
}

}  // namespace

UpdateLine update_line(DType dtype, ScatterMode mode) {
  if (mode == ScatterMode::assign) {
    return visit_size(itemsize(dtype),
                      [](auto type) -> UpdateLine { return update<typename decltype(type)::type, Assign>; });
  }
  return visit(dtype, [mode](auto type) {
    using T = typename decltype(type)::type;
    return visit_mode(mode, [](auto combine) -> UpdateLine { return update<T, decltype(combine)>; });
  });
}

}  // namespace mx::cpu
