// arg_reduce: the uint32 index of the smallest or largest element along an axis; the first of equals, and the first NaN
// if there is one. The axis stays with size 1.
#include <numeric>

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

// Where x first holds the value, NaN being one. It does.
int64_t find(const float *x, int64_t n, float value) noexcept {
  int64_t i = 0;
  if (is_nan(value)) {
    while (!is_nan(x[i])) i++;
    return i;
  }
  typedef float Four __attribute__((vector_size(16), aligned(4), may_alias));
  typedef int64_t Two __attribute__((vector_size(16)));
  constexpr int64_t step = 16;
  const Four wanted = {value, value, value, value};
  const auto in_step = [&] {
    const Four *at = reinterpret_cast<const Four *>(x + i);
    const auto equal = (at[0] == wanted) | (at[1] == wanted) | (at[2] == wanted) | (at[3] == wanted);
    const Two any = reinterpret_cast<Two>(equal);
    return (any[0] | any[1]) != 0;
  };
  while (i + step <= n && !in_step()) i += step;
  while (x[i] != value) i++;
  return i;
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
    index = at + find(x, count, best);
  }
  return static_cast<uint32_t>(index);
}

// Neighbouring lines side by side, for an axis that is not the fastest one; at most column_block of them.
constexpr int64_t column_block = 512;

template <class T>
void best_of_columns(uint32_t *out, const char *in, int64_t stride, int64_t n, int64_t count, bool is_max) {
  Wide<T> best[column_block];
  for (int64_t j = 0; j < count; j++) best[j] = load<T>(in + j * static_cast<int64_t>(sizeof(T)));
  std::fill_n(out, count, 0u);
  for (int64_t i = 1; i < n; i++) {
    if (i % 4096 == 0) check_cancel();
    const T *row = reinterpret_cast<const T *>(in + i * stride);
    // A row ends before the processor has seen that it goes on, and the next one is a page away.
    const char *const later = in + std::min(i + 2, n - 1) * stride;
    for (int64_t at = 0; at < count * static_cast<int64_t>(sizeof(T)); at += 64) __builtin_prefetch(later + at);
    for (int64_t j = 0; j < count; j++) {
      const Wide<T> x = widen_element(row[j]);
      const bool better = beats(x, best[j], is_max);
      best[j] = better ? x : best[j];
      out[j] = better ? static_cast<uint32_t>(i) : out[j];
    }
  }
}

template <class T>
uint32_t best_of(const char *in, DType dtype, int64_t stride, int64_t n, bool is_max) {
  constexpr bool floats = std::is_same_v<Wide<T>, float>;
  if (floats && stride == sizeof(T)) return best_of_floats(in, dtype, n, is_max);
  return best_of_line<T>(in, stride, n, is_max);
}

// About what an element takes, in nanoseconds.
template <class T>
constexpr double element_ns = std::is_same_v<Wide<T>, float> ? 0.2 : 1;

// A long line in pieces: the best of the first ones, unless a later one beats it.
template <class T>
uint32_t best_of_long(const char *in, DType dtype, int64_t stride, int64_t n, bool is_max) {
  constexpr int64_t piece = 1 << 14;
  const int64_t pieces = (n + piece - 1) / piece;
  SmallVector<uint32_t, 64> best(static_cast<size_t>(pieces));
  parallel_for(pieces, Cost{piece * element_ns<T>}, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; p++) {
      const int64_t at = p * piece;
      best[static_cast<size_t>(p)] =
          static_cast<uint32_t>(at) + best_of<T>(in + at * stride, dtype, stride, std::min(piece, n - at), is_max);
    }
  });
  const auto value = [&](uint32_t index) { return load<T>(in + index * stride); };
  return std::accumulate(best.begin(), best.end(), best[0],
                         [&](uint32_t a, uint32_t b) { return beats(value(b), value(a), is_max) ? b : a; });
}

template <class T>
void run(const Tensor &in, uint32_t *out, int64_t axis, bool is_max) {
  const int64_t n = in.shape[static_cast<size_t>(axis)], stride = in.strides[static_cast<size_t>(axis)];
  constexpr int64_t size = sizeof(T), long_line = 1 << 16;
  Dims rest = without(in.shape, axis), strides = without(in.strides, axis);
  // Runs along the last of the other axes, if that is contiguous and the reduced one is not.
  int64_t width = 1;
  if (!rest.empty() && strides.back() == size && stride != size) {
    width = rest.back();
    rest.pop_back(), strides.pop_back();
  }
  const int64_t most = std::min<int64_t>(num_threads(), width / 64);
  const int64_t blocks = std::max<int64_t>((width + column_block - 1) / column_block, most);
  const int64_t block = (width + blocks - 1) / blocks;  // some may stay empty
  const double ns = static_cast<double>(n * block) * element_ns<T> + 5;
  const auto lines = [&](int64_t begin, int64_t end) {
    Walker<1> walker(rest);
    walker.operand(0, strides);
    walker.seek(begin / blocks);
    for (int64_t i = begin; i < end; i++) {
      const char *line = in.data + walker.offset[0];
      const int64_t column = i % blocks * block;
      uint32_t *to = out + i / blocks * width + column;
      if (width > 1) {
        if (column < width)
          best_of_columns<T>(to, line + column * size, stride, n, std::min(block, width - column), is_max);
      } else {
        *to = n > long_line ? best_of_long<T>(line, in.dtype, stride, n, is_max)
                            : best_of<T>(line, in.dtype, stride, n, is_max);
      }
      if ((i + 1) % blocks == 0) walker.next();
    }
  };
  if (width == 1 && n > long_line && product(rest) < 2 * num_threads()) return lines(0, product(rest));
  parallel_for(product(rest) * blocks, Cost{ns}, lines);
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
