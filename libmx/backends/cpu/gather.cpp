// gather and gather_axis: reads at index arrays. Negative indices count from the end; what is out of range then is
// clipped, so that no index array can read outside of x.
#include "backends/cpu/element.hpp"
#include "backends/cpu/indices.hpp"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/strided.hpp"
#include "base/status.hpp"

namespace mx::cpu {
namespace {

constexpr int64_t large_slice = 1 << 16;  // bytes; such slices are copied one after the other, each in parallel

// n elements of T to contiguous memory.
template <class T>
void gather_line(char *out, const char *in, int64_t step, int64_t n) {
  if (step == sizeof(T)) {
    std::memcpy(out, in, static_cast<size_t>(n) * sizeof(T));
  } else {
    for (int64_t i = 0; i < n; i++) reinterpret_cast<T *>(out)[i] = *reinterpret_cast<const T *>(in + i * step);
  }
}

// Slices of one element: no call per slice.
template <class T>
void gather_elements(char *out_data, const char *in, const SliceOffsets &offsets) {
  T *out = reinterpret_cast<T *>(out_data);
  parallel_for(offsets.size(), Cost{1.5}, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) out[i] = *reinterpret_cast<const T *>(in + offsets.data()[i]);
  });
}

template <class T>
void gather_slices(char *out, const char *in, const SliceOffsets &offsets, const Lines &lines) {
  constexpr int64_t size = sizeof(T);
  const int64_t per_slice = product(lines.outer);
  const double cost = 5 + static_cast<double>(lines.n * size) / 8;
  parallel_for(offsets.size() * per_slice, Cost{cost}, [&](int64_t begin, int64_t end) {
    Walker<1> walker(lines.outer);
    walker.operand(0, lines.b);
    walker.seek(begin % per_slice);
    int64_t slice = begin / per_slice, line = begin % per_slice;
    constexpr int64_t ahead = 2, prefetched = 512;
    for (int64_t i = begin; i < end; i++) {
      if (per_slice == 1 && i + ahead < end) {  // nobody else can know where the next slices are
        const char *later = in + offsets.data()[slice + ahead];
        for (int64_t at = 0; at < std::min(lines.n * size, prefetched); at += 64) __builtin_prefetch(later + at);
      }
      gather_line<T>(out + i * lines.n * size, in + offsets.data()[slice] + walker.offset[0], lines.b_step, lines.n);
      if (per_slice == 1) {
        slice++;
        continue;
      }
      walker.next();
      if (++line == per_slice) slice++, line = 0;
    }
  });
}

}  // namespace

void gather(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const auto axes = attrs.list();
  const Tensor &x = call.inputs[0], &out = call.outputs[0];
  const std::span<const int64_t> sizes =
      std::span(out.shape).last(x.shape.size());  // the attribute's -1 is resolved here
  if (size_of(out) == 0) return;
  if (size_of(x) == 0)
    fail(MX_ERROR_INDEX, "gather: cannot take from an array of shape %s", to_string(x.shape).c_str());
  const std::span<const int64_t> index_shape = std::span(out.shape).first(out.shape.size() - sizes.size());
  const SliceOffsets offsets(x, call.inputs.subspan(1), axes, sizes, index_shape, OutOfRange::clip);
  const int64_t size = itemsize(x.dtype), slice_bytes = product(sizes) * size;
  const Dims slice_strides = row_major(sizes, size);
  if (slice_bytes == size) {
    return visit_size(size,
                      [&](auto type) { gather_elements<typename decltype(type)::type>(out.data, x.data, offsets); });
  }
  if (slice_bytes >= large_slice) {
    for (int64_t i = 0; i < offsets.size(); i++) {
      strided_copy(sizes, size, out.data + i * slice_bytes, slice_strides, x.data + offsets.data()[i], x.strides);
    }
    return;
  }
  const Lines lines = make_lines(sizes, slice_strides, x.strides);
  visit_size(size, [&](auto type) { gather_slices<typename decltype(type)::type>(out.data, x.data, offsets, lines); });
}

void gather_axis(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const Tensor &x = call.inputs[0], &out = call.outputs[0];
  const auto axis = static_cast<size_t>(normalize_axis(attrs.integer(), x.shape.size(), "gather_axis"));
  if (size_of(out) == 0) return;
  const int64_t n = x.shape[axis], stride = x.strides[axis];
  if (n == 0) fail(MX_ERROR_INDEX, "gather_axis: cannot take from an array of shape %s", to_string(x.shape).c_str());
  const RowMajor index(call.inputs[1], DType::int64);
  Dims from = broadcast_strides(x, out.shape), at = broadcast_strides(index.tensor(), out.shape), outer = out.shape;
  from[axis] = 0;
  const int64_t length = outer.back(), from_step = from.back(), at_step = at.back(), size = itemsize(x.dtype);
  outer.pop_back();
  visit_size(size, [&](auto type) {
    using T = typename decltype(type)::type;
    parallel_for(product(outer), Cost{5 + static_cast<double>(length) * 1.5}, [&](int64_t begin, int64_t end) {
      Walker<2> walker(outer);
      walker.operand(0, from);
      walker.operand(1, at);
      walker.seek(begin);
      for (int64_t i = begin; i < end; i++, walker.next()) {
        T *to = reinterpret_cast<T *>(out.data) + i * length;
        const char *line = x.data + walker.offset[0], *indices = index.tensor().data + walker.offset[1];
        for (int64_t j = 0; j < length; j++) {
          if (j % (1 << 20) == (1 << 20) - 1) check_cancel();
          const int64_t raw = *reinterpret_cast<const int64_t *>(indices + j * at_step);
          const int64_t k = std::clamp<int64_t>(raw < 0 ? raw + n : raw, 0, n - 1);
          to[j] = *reinterpret_cast<const T *>(line + j * from_step + k * stride);
        }
      }
    });
  });
}

}  // namespace mx::cpu
