// The inner loops of slice_update and the scatters, at one instruction set level: the compiler makes vectors of them.
#include "backends/cpu/updates.hpp"

#define MX_JOIN_(a, b) a##b
#define MX_JOIN(a, b) MX_JOIN_(a, b)

namespace {

using namespace mx;
using namespace mx::cpu;

struct Assign {
  template <class T>
  T operator()(T, T b) const noexcept {
    return b;
  }
};

template <class T, class Combine>
void update(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n) {
  const Combine combine;
  if (dst_stride == sizeof(T) && src_stride == sizeof(T)) {
    T *__restrict to = reinterpret_cast<T *>(dst);
    const T *__restrict from = reinterpret_cast<const T *>(src);
    for (int64_t i = 0; i < n; i++) to[i] = narrow<T>(combine(widen_element(to[i]), widen_element(from[i])));
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    char *to = dst + i * dst_stride;
    store<T>(to, combine(load<T>(to), load<T>(src + i * src_stride)));
  }
}

template <class T, class Combine>
void update_elements(char *dst, const char *src, const Move *moves, size_t n) {
  for (size_t i = 0; i < n; i++) {
    char *to = dst + moves[i].to;
    store<T>(to, Combine()(load<T>(to), load<T>(src + moves[i].from)));
  }
}

template <class T, class Combine>
constexpr Update both{update<T, Combine>, update_elements<T, Combine>};

constexpr UpdateTable make_table() {
  UpdateTable table{};
  const auto put = [&](DType dtype, ScatterMode mode, Update update) {
    table.of[static_cast<int>(dtype)][static_cast<int>(mode)] = update;
  };
#define MX_DTYPE(name, type, category, bytes)                    \
  put(DType::name, ScatterMode::assign, both<type, Assign>);     \
  put(DType::name, ScatterMode::add, both<type, Add>);           \
  put(DType::name, ScatterMode::multiply, both<type, Multiply>); \
  put(DType::name, ScatterMode::maximum, both<type, Maximum>);   \
  put(DType::name, ScatterMode::minimum, both<type, Minimum>);
#include "base/dtype.def"
#undef MX_DTYPE
  return table;
}

}  // namespace

extern "C" const UpdateTable MX_JOIN(updates_, MX_LEVEL);
extern "C" constexpr UpdateTable MX_JOIN(updates_, MX_LEVEL) = make_table();
