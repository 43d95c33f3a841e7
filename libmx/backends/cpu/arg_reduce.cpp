// arg_reduce: the uint32 index of the smallest or largest element along an axis; the first of equals, and the first NaN
// if there is one. The axis stays with size 1.
#include "backends/cpu/float_rows.hpp"
#include "backends/cpu/kernels.hpp"

namespace mx::cpu {
namespace {

// Whether x takes the place of the best so far.
template <class T>
bool beats(T x, T best, bool is_max) noexcept {
  return is_nan(x) ? !is_nan(best) : is_max ? less(best, x) : less(x, best);
}

template <class T>
uint32_t best_of_line(const char *in, int64_t stride, int64_t n, bool is_max) {
  Wide<T> best = load<T>(in);
  int64_t index = 0;
  for (int64_t i = 1; i < n && !is_nan(best); i++) {
    if (i % (1 << 18) == 0) check_cancel();
    const Wide<T> x = load<T>(in + i * stride);
    if (beats(x, best, is_max)) best = x, index = i;
  }
  return static_cast<uint32_t>(index);
}

// Contiguous float32, float16 or bfloat16: the best of a block first, its place only if it is better than before.
uint32_t best_of_floats(const char *in, DType dtype, int64_t n, bool is_max) {
  constexpr int64_t block = 1024;
  float converted[block],
      best = is_max ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  const auto extremum = is_max ? rows::table().maximum : rows::table().minimum;
  int64_t index = 0;
  bool found = false;
  for (int64_t at = 0; at < n && !is_nan(best); at += block) {
    if (at % (block << 8) == 0) check_cancel();
    const int64_t count = std::min(block, n - at);
    const float *x = reinterpret_cast<const float *>(in) + at;
    if (dtype != DType::float32) {
      to_floats(converted, in + at * 2, dtype, count);
      x = converted;
    }
    const float candidate = extremum(x, static_cast<size_t>(count));
    if (found && !beats(candidate, best, is_max)) continue;
    best = candidate;
    found = true;
    int64_t i = 0;
    while (!(x[i] == best || (is_nan(best) && is_nan(x[i])))) i++;
    index = at + i;
  }
  return static_cast<uint32_t>(index);
}

// Neighbouring lines side by side, for an axis that is not the fastest one.
template <class T>
void best_of_columns(uint32_t *out, const char *in, int64_t stride, int64_t n, int64_t width, bool is_max) {
  constexpr int64_t block = 128;
  for (int64_t at = 0; at < width; at += block) {
    Wide<T> best[block];
    const int64_t count = std::min(block, width - at);
    for (int64_t j = 0; j < count; j++) best[j] = load<T>(in + (at + j) * static_cast<int64_t>(sizeof(T)));
    std::fill_n(out + at, count, 0u);
    for (int64_t i = 1; i < n; i++) {
      if (i % 4096 == 0) check_cancel();
      const T *row = reinterpret_cast<const T *>(in + i * stride) + at;
      for (int64_t j = 0; j < count; j++) {
        const Wide<T> x = widen_element(row[j]);
        const bool better = beats(x, best[j], is_max);
        best[j] = better ? x : best[j];
        out[at + j] = better ? static_cast<uint32_t>(i) : out[at + j];
      }
    }
  }
}

template <class T>
void run(const Tensor &in, uint32_t *out, int64_t axis, bool is_max) {
  const int64_t n = in.shape[static_cast<size_t>(axis)], stride = in.strides[static_cast<size_t>(axis)];
  constexpr bool floats = std::is_same_v<Wide<T>, float>;
  constexpr int64_t size = sizeof(T);
  Dims rest = without(in.shape, axis), strides = without(in.strides, axis);
  // Runs along the last of the other axes, if that is contiguous and the reduced one is not.
  int64_t width = 1;
  if (!rest.empty() && strides.back() == size && stride != size) {
    width = rest.back();
    rest.pop_back(), strides.pop_back();
  }
  parallel_for(product(rest), Cost{static_cast<double>(n * width) + 5}, [&](int64_t begin, int64_t end) {
    Walker<1> walker(rest);
    walker.operand(0, strides);
    walker.seek(begin);
    for (int64_t i = begin; i < end; i++, walker.next()) {
      const char *line = in.data + walker.offset[0];
      if (width > 1) {
        best_of_columns<T>(out + i * width, line, stride, n, width, is_max);
      } else if (floats && stride == size) {
        out[i] = best_of_floats(line, in.dtype, n, is_max);
      } else {
        out[i] = best_of_line<T>(line, stride, n, is_max);
      }
    }
  });
}

}  // namespace

void arg_reduce(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const Tensor &in = call.inputs[0];
  const bool is_max = attrs.boolean();
  const int axis = normalize_axis(attrs.integer(), in.shape.size(), "arg_reduce");
  if (size_of(in) == 0) return;
  uint32_t *out = reinterpret_cast<uint32_t *>(call.outputs[0].data);
  visit(in.dtype, [&](auto type) { run<typename decltype(type)::type>(in, out, axis, is_max); });
}

}  // namespace mx::cpu
