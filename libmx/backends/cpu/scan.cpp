// scan: running sum, product, minimum, maximum or log-sum-exp along an axis, forwards or backwards; exclusive ones
// start from the identity. float16 and bfloat16 accumulate in float32. Long lines take two passes over pieces (their
// totals, then each piece from its carry); the pieces depend on the length only.
#include "backends/cpu/element.hpp"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/rows/rows.hpp"
#include "backends/cpu/strided.hpp"
#include "backends/cpu/strided_copy.hpp"
#include "base/status.hpp"
#include "ops/kinds.hpp"

namespace mx::cpu {
namespace {

struct LogAddExp {
  template <class T>
  T operator()(T a, T b) const noexcept {
    const T high = Maximum()(a, b), low = Minimum()(a, b);
    if (std::isinf(high) || is_nan(high)) return high;
    return high + std::log1p(std::exp(low - high));
  }
  template <class P>
  ComplexNumber<P> operator()(ComplexNumber<P> a, ComplexNumber<P> b) const noexcept {
    const P max = Maximum()(a.re, b.re);
    if (std::isinf(max) && max < 0) return {max, 0};
    const P ea = std::exp(a.re - max), eb = std::exp(b.re - max);
    const P re = ea * std::cos(a.im) + eb * std::cos(b.im), im = ea * std::sin(a.im) + eb * std::sin(b.im);
    return {max + std::log(std::hypot(re, im)), std::atan2(im, re)};
  }
};

template <class T>
T identity(ScanKind kind) noexcept {
  if (kind == ScanKind::min) return extreme<T>(false);
  if (kind == ScanKind::max) return extreme<T>(true);
  if constexpr (is_complex_number<T>) {
    using Part = decltype(T::re);
    if (kind == ScanKind::logaddexp) return {-std::numeric_limits<Part>::infinity(), 0};
    return {kind == ScanKind::prod ? Part{1} : Part{0}, 0};
  } else {
    if (kind == ScanKind::logaddexp) return extreme<T>(true);
    return static_cast<T>(kind == ScanKind::prod ? 1 : 0);
  }
}

struct Scan {
  ScanKind kind;
  bool reverse, inclusive;
  int64_t outer, n, inner;  // row-major, along the middle one
};

constexpr int64_t piece = 1 << 15;

// n neighbouring elements; in and out may be the same. Returns the carry behind them.
template <class T, class Combine>
Wide<T> scan_piece(const Scan &s, T *out, const T *in, int64_t n, Wide<T> carry) {
  const Combine combine;
  if constexpr (std::is_same_v<T, float> && std::is_same_v<Combine, Add>) {
    if (!s.reverse && s.inclusive) return rows::table().cumulative_sum(out, in, static_cast<size_t>(n), carry);
  }
  for (int64_t i = 0; i < n; i++) {
    const int64_t at = s.reverse ? n - 1 - i : i;
    const Wide<T> next = combine(carry, widen_element(in[at]));
    out[at] = narrow<T>(s.inclusive ? next : carry);
    carry = next;
  }
  return carry;
}

template <class T, class Combine>
Wide<T> total(const Scan &s, const T *in, int64_t n) {
  const Combine combine;
  if constexpr (std::is_same_v<T, float> && std::is_same_v<Combine, Add>) {
    return rows::table().sum(in, static_cast<size_t>(n));
  }
  Wide<T> sum = identity<Wide<T>>(s.kind);
  for (int64_t i = 0; i < n; i++) sum = combine(sum, widen_element(in[s.reverse ? n - 1 - i : i]));
  return sum;
}

template <class T, class Combine>
void scan_long_line(const Scan &s, T *out, const T *in) {
  const int64_t pieces = (s.n + piece - 1) / piece;
  SmallVector<Wide<T>, 16> carry(static_cast<size_t>(pieces));
  const auto length = [&](int64_t p) { return std::min(piece, s.n - p * piece); };
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; p++) {
      carry[static_cast<size_t>(p)] = total<T, Combine>(s, in + p * piece, length(p));
    }
  });
  Wide<T> sum = identity<Wide<T>>(s.kind);
  for (int64_t i = 0; i < pieces; i++) {
    Wide<T> &slot = carry[static_cast<size_t>(s.reverse ? pieces - 1 - i : i)];
    const Wide<T> next = Combine()(sum, slot);
    slot = sum;
    sum = next;
  }
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; p++) {
      scan_piece<T, Combine>(s, out + p * piece, in + p * piece, length(p), carry[static_cast<size_t>(p)]);
    }
  });
}

// Along an axis that is not the last: neighbouring lines run side by side.
template <class T, class Combine>
void scan_columns(const Scan &s, T *out, const T *in) {
  constexpr int64_t block = 256;
  const Combine combine;
  const int64_t blocks = (s.inner + block - 1) / block;
  parallel_for(s.outer * blocks, Cost{static_cast<double>(s.n * std::min(block, s.inner))},
               [&](int64_t begin, int64_t end) {
                 Wide<T> carry[block];
                 for (int64_t u = begin; u < end; u++) {
                   const int64_t at = u % blocks * block, width = std::min(block, s.inner - at);
                   std::fill_n(carry, width, identity<Wide<T>>(s.kind));
                   for (int64_t i = 0; i < s.n; i++) {
                     if (i % 4096 == 4095) check_cancel();
                     const int64_t row = (u / blocks * s.n + (s.reverse ? s.n - 1 - i : i)) * s.inner + at;
                     for (int64_t j = 0; j < width; j++) {
                       const Wide<T> next = combine(carry[j], widen_element(in[row + j]));
                       out[row + j] = narrow<T>(s.inclusive ? next : carry[j]);
                       carry[j] = next;
                     }
                   }
                 }
               });
}

template <class T, class Combine>
void run(const Scan &s, char *out_data, const char *in_data) {
  T *out = reinterpret_cast<T *>(out_data);
  const T *in = reinterpret_cast<const T *>(in_data);
  if (s.inner > 1) return scan_columns<T, Combine>(s, out, in);
  if (s.n > 4 * piece) {
    for (int64_t i = 0; i < s.outer; i++) scan_long_line<T, Combine>(s, out + i * s.n, in + i * s.n);
    return;
  }
  parallel_for(s.outer, Cost{static_cast<double>(s.n) + 5}, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      scan_piece<T, Combine>(s, out + i * s.n, in + i * s.n, s.n, identity<Wide<T>>(s.kind));
    }
  });
}

template <class T>
void run_kind(const Scan &s, char *out, const char *in) {
  switch (s.kind) {
    case ScanKind::sum:
      return run<T, Add>(s, out, in);
    case ScanKind::prod:
      return run<T, Multiply>(s, out, in);
    case ScanKind::min:
      return run<T, Minimum>(s, out, in);
    case ScanKind::max:
      return run<T, Maximum>(s, out, in);
    case ScanKind::logaddexp:
      if constexpr (!std::is_integral_v<T>) return run<T, LogAddExp>(s, out, in);
      fail(MX_ERROR_DTYPE, "logcumsumexp: integers must be converted to a floating dtype first");
  }
}

}  // namespace

void scan(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const Tensor &out = call.outputs[0];
  Tensor in = call.inputs[0];
  Scan s{};
  s.kind = static_cast<ScanKind>(attrs.integer());
  const auto axis = static_cast<size_t>(normalize_axis(attrs.integer(), out.shape.size(), "scan"));
  s.reverse = attrs.boolean();
  s.inclusive = attrs.boolean();
  s.outer = product(std::span(out.shape).first(axis));
  s.n = out.shape[axis];
  s.inner = product(std::span(out.shape).subspan(axis + 1));
  if (size_of(out) == 0) return;
  if (in.dtype != out.dtype || !is_row_major(in.shape, in.strides, itemsize(in.dtype))) {
    copy(out, in);  // and scan in place
    in = out;
  }
  visit(out.dtype, [&](auto type) { run_kind<typename decltype(type)::type>(s, out.data, in.data); });
}

}  // namespace mx::cpu
