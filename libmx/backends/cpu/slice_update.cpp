// slice_update: combines an update into a strided part of the array, which is written in place.
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/strided.hpp"
#include "backends/cpu/strided_copy.hpp"
#include "backends/cpu/updates.hpp"

namespace mx::cpu {
namespace {

// x[start:stop:step] of every axis by Python's rules; stop INT64_MIN with a negative step means through the first.
Tensor sliced(const Tensor &x, std::span<const int64_t> start, std::span<const int64_t> stop,
              std::span<const int64_t> step) {
  Tensor part = x;
  for (size_t d = 0; d < x.shape.size(); d++) {
    const int64_t n = x.shape[d], by = step[d], low = by < 0 ? -1 : 0, high = by < 0 ? n - 1 : n;
    const auto position = [&](int64_t at) {
      if (at == INT64_MIN) return low;
      return std::clamp(at < 0 ? at + n : at, low, high);
    };
    const int64_t first = position(start[d]), last = position(stop[d]);
    const int64_t count = by < 0 ? (first - last - by - 1) / -by : (last - first + by - 1) / by;
    part.shape[d] = std::max<int64_t>(count, 0);
    part.data += part.shape[d] ? first * x.strides[d] : 0;
    part.strides[d] = x.strides[d] * by;
  }
  return part;
}

}  // namespace

void slice_update(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const auto start = attrs.list(), stop = attrs.list(), step = attrs.list();
  const auto mode = static_cast<ScatterMode>(attrs.integer());
  const Tensor part = sliced(call.outputs[0], start, stop, step);
  const Tensor &update = call.inputs[1];
  if (mode == ScatterMode::assign) return copy(part, update);
  if (size_of(part) == 0) return;
  const Lines lines = make_lines(part.shape, part.strides, broadcast_strides(update, part.shape));
  const UpdateLine line = update_for(part.dtype, mode).line;
  const int64_t block = std::min<int64_t>(lines.n, 1 << 15), blocks = (lines.n + block - 1) / block;
  const int64_t pieces = product(lines.outer) * blocks;
  parallel_for(pieces, Cost{5 + static_cast<double>(block)}, [&](int64_t begin, int64_t end) {
    Walker<2> walker(lines.outer);
    walker.operand(0, lines.a);
    walker.operand(1, lines.b);
    walker.seek(begin / blocks);
    for (int64_t i = begin; i < end; i++) {
      const int64_t at = i % blocks * block;
      line(part.data + walker.offset[0] + at * lines.a_step, lines.a_step,
           update.data + walker.offset[1] + at * lines.b_step, lines.b_step, std::min(block, lines.n - at));
      if ((i + 1) % blocks == 0) walker.next();
    }
  });
}

}  // namespace mx::cpu
