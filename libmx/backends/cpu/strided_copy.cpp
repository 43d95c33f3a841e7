// Copies between layouts. Dimensions are merged and ordered by the destination; where the source's fastest dimension is
// another one, both are cut into square tiles so that cache lines of either side are used up. Relies on runtime/pool.
#include "backends/cpu/strided_copy.hpp"

#include <cstdlib>

#include "backends/cpu/element.hpp"
#include "backends/cpu/loop/kernel.hpp"
#include "backends/cpu/strided.hpp"
#include "base/status.hpp"

namespace mx::cpu {
namespace {

struct Axis {
  int64_t n, dst, src;  // size and strides
};
using Axes = SmallVector<Axis, 6>;

// Copies or converts n elements along one axis.
using Line = void (*)(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n);

template <class T>
void copy_line(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n) {
  constexpr int64_t size = sizeof(T);
  if (dst_stride == size && src_stride == size) {
    std::memcpy(dst, src, static_cast<size_t>(n * size));
  } else if (dst_stride == size && src_stride == 0) {
    std::fill_n(reinterpret_cast<T *>(dst), n, *reinterpret_cast<const T *>(src));
  } else if (dst_stride == size) {
    T *out = reinterpret_cast<T *>(dst);
    for (int64_t i = 0; i < n; i++) out[i] = *reinterpret_cast<const T *>(src + i * src_stride);
  } else {
    for (int64_t i = 0; i < n; i++) {
      *reinterpret_cast<T *>(dst + i * dst_stride) = *reinterpret_cast<const T *>(src + i * src_stride);
    }
  }
}

template <class To, class From>
To convert(From x) noexcept {
  const Wide<From> wide = widen_element(x);
  if constexpr (std::is_same_v<To, Float16> || std::is_same_v<To, BFloat16>) {
    return narrow<To>(static_cast<float>(wide));
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<Wide<From>>) {
    return wide > -0x1p63 && wide < 0x1p63 ? static_cast<To>(static_cast<int64_t>(wide)) : To{};
  } else {
    return static_cast<To>(wide);
  }
}

template <class To, class From>
void convert_line(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n) {
  if (dst_stride == sizeof(To) && src_stride == sizeof(From)) {
    To *out = reinterpret_cast<To *>(dst);
    const From *in = reinterpret_cast<const From *>(src);
    for (int64_t i = 0; i < n; i++) out[i] = convert<To>(in[i]);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    *reinterpret_cast<To *>(dst + i * dst_stride) = convert<To>(*reinterpret_cast<const From *>(src + i * src_stride));
  }
}

template <class To>
Line line_from(DType from) {
  return visit(from, [](auto type) -> Line {
    using From = typename decltype(type)::type;
    if constexpr (is_complex_number<From>) {
      return nullptr;
    } else {
      return convert_line<To, From>;
    }
  });
}

Line conversion(DType to, DType from) {
  switch (to) {
    case DType::int32:
      return line_from<int32_t>(from);
    case DType::int64:
      return line_from<int64_t>(from);
    case DType::float32:
      return line_from<float>(from);
    case DType::float64:
      return line_from<double>(from);
    case DType::float16:
      return from == DType::float32 ? convert_line<Float16, float> : nullptr;
    case DType::bfloat16:
      return from == DType::float32 ? convert_line<BFloat16, float> : nullptr;
    default:
      return nullptr;
  }
}

Axes merged_axes(std::span<const int64_t> shape, std::span<const int64_t> dst, std::span<const int64_t> src) {
  Axes axes{{1, 0, 0}};  // so that there is always one
  for (size_t d = 0; d < shape.size(); d++) {
    if (shape[d] != 1) axes.push_back({shape[d], dst[d], src[d]});
  }
  std::stable_sort(axes.begin(), axes.end(),
                   [](const Axis &a, const Axis &b) { return std::abs(a.dst) > std::abs(b.dst); });
  size_t n = 0;
  for (const Axis axis : axes) {
    if (axis.n == 1) continue;
    if (n > 0 && axes[n - 1].dst == axis.dst * axis.n && axes[n - 1].src == axis.src * axis.n) {
      axes[n - 1] = {axes[n - 1].n * axis.n, axis.dst, axis.src};
    } else {
      axes[n++] = axis;
    }
  }
  if (n == 0) axes[n++] = {1, 0, 0};
  while (axes.size() > n) axes.pop_back();
  return axes;
}

// The work in pieces: every outer position times blocks of a line times blocks of the tile's rows.
struct Plan {
  Axes outer;      // the last two count blocks of elements of a line and of rows
  Axis row, line;  // within a piece; row.n is 1 where there is no tile
  int64_t row_block, line_block;
  bool tiled = false;
};

constexpr int64_t tile_side = 32, line_bytes = 1 << 16;

Plan make_plan(Axes axes, int64_t dst_size) {
  Plan plan;
  plan.line = axes.back();
  axes.pop_back();
  plan.row = {1, 0, 0};
  plan.row_block = 1;
  plan.line_block = std::max<int64_t>(1, line_bytes / dst_size);
  size_t fastest = axes.size();
  for (size_t d = axes.size(); d-- > 0;) {
    const int64_t best = fastest == axes.size() ? plan.line.src : axes[fastest].src;
    if (axes[d].src != 0 && plan.line.src != 0 && std::abs(axes[d].src) < std::abs(best)) fastest = d;
  }
  // Without a faster dimension a short line still wants company: a piece should be worth its overhead.
  const bool tiled = plan.tiled = fastest < axes.size();
  if (!tiled && !axes.empty() && plan.line.n < plan.line_block) fastest = axes.size() - 1;
  if (fastest < axes.size()) {
    plan.row = axes[fastest];
    axes.erase(fastest);
    plan.row_block = tiled ? tile_side : std::max<int64_t>(1, plan.line_block / plan.line.n);
    if (tiled) plan.line_block = tile_side;
  }
  plan.outer = std::move(axes);
  const auto blocks = [](int64_t n, int64_t size) { return (n + size - 1) / size; };
  // Tiles follow the source: a load that misses is waited for, a store is not.
  plan.outer.push_back(
      {blocks(plan.line.n, plan.line_block), plan.line.dst * plan.line_block, plan.line.src * plan.line_block});
  plan.outer.push_back(
      {blocks(plan.row.n, plan.row_block), plan.row.dst * plan.row_block, plan.row.src * plan.row_block});
  return plan;
}

// A tile by way of a small buffer: the source is read along its fast dimension and the destination written along its
// own, so neither touches many cache lines at a time, which would fall on few cache sets where strides are powers of
// two. Elements of 32 bits are turned in registers, where nothing is to be converted.
template <class T>
void run_tile(const Plan &plan, Line line, char *dst, const char *src, int64_t rows, int64_t length) {
  if (line == copy_line<uint32_t> && plan.row.src == sizeof(T) && plan.line.dst == sizeof(T))
    return loop::micro_ops().level->transpose[2](dst, plan.row.dst, src, plan.line.src, rows, length);
  constexpr int64_t pitch = tile_side + 1;
  T buffer[tile_side * pitch];
  for (int64_t l = 0; l < length; l++) {
    const char *from = src + l * plan.line.src;
    if (plan.row.src == sizeof(T)) {
      for (int64_t r = 0; r < rows; r++) buffer[r * pitch + l] = reinterpret_cast<const T *>(from)[r];
    } else {
      for (int64_t r = 0; r < rows; r++) buffer[r * pitch + l] = *reinterpret_cast<const T *>(from + r * plan.row.src);
    }
  }
  for (int64_t r = 0; r < rows; r++) {
    const char *row = reinterpret_cast<const char *>(buffer + r * pitch);
    line(dst + r * plan.row.dst, plan.line.dst, row, sizeof(T), length);
  }
}

void run_piece(const Plan &plan, Line line, int64_t src_size, char *dst, const char *src, const Dims &at) {
  const size_t n = at.size();
  const int64_t rows = std::min(plan.row_block, plan.row.n - at[n - 1] * plan.row_block);
  const int64_t length = std::min(plan.line_block, plan.line.n - at[n - 2] * plan.line_block);
  if (plan.tiled) {
    return visit_size(src_size,
                      [&](auto type) { run_tile<typename decltype(type)::type>(plan, line, dst, src, rows, length); });
  }
  for (int64_t r = 0; r < rows; r++) {
    line(dst + r * plan.row.dst, plan.line.dst, src + r * plan.row.src, plan.line.src, length);
  }
}

void run(std::span<const int64_t> shape, Line line, int64_t dst_size, int64_t src_size, char *dst,
         std::span<const int64_t> dst_strides, const char *src, std::span<const int64_t> src_strides) {
  if (product(shape) == 0) return;
  const Plan plan = make_plan(merged_axes(shape, dst_strides, src_strides), dst_size);
  Dims counts, dst_steps, src_steps;
  for (const Axis &axis : plan.outer) {
    counts.push_back(axis.n);
    dst_steps.push_back(axis.dst);
    src_steps.push_back(axis.src);
  }
  const double piece_bytes =
      static_cast<double>(std::min(plan.row_block, plan.row.n) * std::min(plan.line_block, plan.line.n) * dst_size);
  parallel_for(product(counts), Cost{4 + piece_bytes / 8}, [&](int64_t begin, int64_t end) {
    Walker<2> walker(counts);
    walker.operand(0, dst_steps);
    walker.operand(1, src_steps);
    walker.seek(begin);
    for (int64_t i = begin; i < end; i++, walker.next()) {
      run_piece(plan, line, src_size, dst + walker.offset[0], src + walker.offset[1], walker.at());
    }
  });
}

}  // namespace

void strided_copy(std::span<const int64_t> shape, int64_t itemsize, char *dst, std::span<const int64_t> dst_strides,
                  const char *src, std::span<const int64_t> src_strides) {
  const Line line = visit_size(itemsize, [](auto type) -> Line { return copy_line<typename decltype(type)::type>; });
  run(shape, line, itemsize, itemsize, dst, dst_strides, src, src_strides);
}

void copy(const Tensor &dst, const Tensor &src) {
  const Dims src_strides = broadcast_strides(src, dst.shape);
  const int64_t size = itemsize(dst.dtype);
  if (dst.dtype == src.dtype) return strided_copy(dst.shape, size, dst.data, dst.strides, src.data, src_strides);
  const Line line = conversion(dst.dtype, src.dtype);
  if (!line) fail(MX_ERROR_INTERNAL, "copy: no conversion from %s to %s", name(src.dtype), name(dst.dtype));
  run(dst.shape, line, size, itemsize(src.dtype), dst.data, dst.strides, src.data, src_strides);
}

RowMajor::RowMajor(const Tensor &t, DType dtype) : tensor_(t) {
  if (t.dtype == dtype && is_row_major(t.shape, t.strides, itemsize(dtype))) return;
  tensor_.dtype = dtype;
  tensor_.strides = row_major(t.shape, itemsize(dtype));
  buffer_ = allocate(static_cast<size_t>(size_of(t) * itemsize(dtype)));
  tensor_.data = reinterpret_cast<char *>(buffer_->data());
  copy(tensor_, t);
}

}  // namespace mx::cpu
