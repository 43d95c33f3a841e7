// scatter and scatter_axis: updates at index arrays, in place. Negative indices count from the end; what is out of
// range then is dropped. Several updates of one element take effect in index order, whatever the number of threads:
// work is divided by what is written, not by what is read.
#include <algorithm>
#include <utility>

#include "backends/cpu/indices.hpp"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/strided.hpp"
#include "backends/cpu/updates.hpp"

namespace mx::cpu {
namespace {

// So many moves are listed before they are made: the lists stay in the first cache.
constexpr size_t list_size = 512;

struct Scatter {
  char *out;
  const Tensor &updates;
  const SliceOffsets &offsets;
  Lines lines;  // of one slice; a: out, b: updates
  Update update;
  Walker<1> positions;  // where the slices of the updates begin
};

// Columns [column, column + n) of the slices in the list.
void move_slices(const Scatter &s, std::span<const Move> moves, int64_t column, int64_t n) {
  Walker<2> walker(s.lines.outer);
  walker.operand(0, s.lines.a);
  walker.operand(1, s.lines.b);
  const int64_t per_slice = product(s.lines.outer);
  char *const out = s.out + column * s.lines.a_step;
  const char *const updates = s.updates.data + column * s.lines.b_step;
  constexpr int64_t line = 64;
  const auto reach = [&](int64_t step) { return std::min<int64_t>(n * std::abs(step), 8 * line); };
  if (n == 1 && per_slice == 1) return s.update.elements(out, updates, moves.data(), moves.size());
  constexpr size_t ahead = 4;
  int64_t work = 0;
  for (size_t k = 0; k < moves.size(); k++) {
    // Where slices lie is known to nobody but us: memory is called for them early.
    const Move later = moves[std::min(k + ahead, moves.size() - 1)];
    for (int64_t at = 0; at < reach(s.lines.a_step); at += line) __builtin_prefetch(out + later.to + at, 1);
    for (int64_t at = 0; at < reach(s.lines.b_step); at += line) __builtin_prefetch(updates + later.from + at, 0);
    char *const to = out + moves[k].to;
    const char *const from = updates + moves[k].from;
    if (per_slice == 1) {
      s.update.line(to, s.lines.a_step, from, s.lines.b_step, n);
    } else {
      walker.seek(0);
      for (int64_t l = 0; l < per_slice; l++, walker.next()) {
        s.update.line(to + walker.offset[0], s.lines.a_step, from + walker.offset[1], s.lines.b_step, n);
        if ((work += n) > 1 << 19) check_cancel(), work = 0;
      }
    }
    if ((work += n) > 1 << 19) check_cancel(), work = 0;
  }
}

// Columns [column, column + n) of every slice that begins within [low, high) bytes.
void scatter_part(const Scatter &s, int64_t column, int64_t n, int64_t low, int64_t high) {
  Move moves[list_size];
  size_t count = 0;
  Walker<1> position = s.positions;
  position.seek(0);
  for (int64_t i = 0; i < s.offsets.size(); i++, position.next()) {
    const int64_t offset = s.offsets.data()[i];
    moves[count] = {offset, position.offset[0]};
    count += (offset >= low) & (offset < high);  // and not dropped: low is at least 0
    if (count < list_size) continue;
    move_slices(s, moves, column, n);
    check_cancel();
    count = 0;
  }
  move_slices(s, std::span(moves, count), column, n);
}

// Where to cut the output so that about as many slices begin in each part: from a sample.
SmallVector<int64_t, 16> cuts(const SliceOffsets &offsets, int64_t parts) {
  constexpr int64_t most = 1024;
  const int64_t step = std::max<int64_t>(1, offsets.size() / most);
  SmallVector<int64_t, 64> sample;
  for (int64_t i = 0; i < offsets.size(); i += step)
    if (offsets.data()[i] != SliceOffsets::dropped) sample.push_back(offsets.data()[i]);
  std::sort(sample.begin(), sample.end());
  SmallVector<int64_t, 16> at{0};
  for (int64_t p = 1; p < parts && !sample.empty(); p++) {
    const int64_t cut = sample[sample.size() * static_cast<size_t>(p) / static_cast<size_t>(parts)];
    if (cut > at.back()) at.push_back(cut);
  }
  at.push_back(INT64_MAX);
  return at;
}

// Slices either coincide or are disjoint if they have one element along every indexed axis. Only then can the work be
// divided: by the place where slices begin, or, where they are few and long, by their columns.
void scatter_all(const Scatter &s, bool coincide) {
  const int64_t n = s.lines.n, elements = s.offsets.size() * n * product(s.lines.outer), parts = num_threads();
  if (!coincide || elements < 1 << 15 || parts < 2) return scatter_part(s, 0, n, 0, INT64_MAX);
  const SmallVector<int64_t, 16> at = cuts(s.offsets, parts);
  if (const auto ranges = static_cast<int64_t>(at.size()) - 1; ranges == parts || n < 64) {
    return parallel_for(ranges, 1, [&](int64_t begin, int64_t end) {
      scatter_part(s, 0, n, at[static_cast<size_t>(begin)], at[static_cast<size_t>(end)]);
    });
  }
  const int64_t width = std::max<int64_t>(32, (n + parts - 1) / parts);
  parallel_for((n + width - 1) / width, 1, [&](int64_t begin, int64_t end) {
    scatter_part(s, begin * width, std::min(n, end * width) - begin * width, 0, INT64_MAX);
  });
}

}  // namespace

void scatter(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const auto axes = attrs.list();
  const auto mode = static_cast<ScatterMode>(attrs.integer());
  const Tensor &out = call.outputs[0], &updates = call.inputs[1];
  if (size_of(updates) == 0 || size_of(out) == 0) return;
  const size_t rank = out.shape.size(), n_index = updates.shape.size() - rank;
  const auto index_shape = std::span(updates.shape).first(n_index), sizes = std::span(updates.shape).subspan(n_index);
  const SliceOffsets offsets(out, call.inputs.subspan(2), axes, sizes, index_shape, OutOfRange::drop);
  Walker<1> positions(index_shape);
  positions.operand(0, updates.strides);
  bool coincide = true;
  for (int64_t axis : axes) coincide &= sizes[static_cast<size_t>(normalize_axis(axis, rank, "scatter"))] == 1;
  const Lines lines = make_lines(sizes, out.strides, std::span(updates.strides).subspan(n_index));
  const Scatter s{out.data, updates, offsets, lines, update_for(out.dtype, mode), positions};
  scatter_all(s, coincide);
}

void scatter_axis(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const Tensor &out = call.outputs[0], &values = call.inputs[2];
  const auto axis = static_cast<size_t>(normalize_axis(attrs.integer(), out.shape.size(), "scatter_axis"));
  const auto mode = static_cast<ScatterMode>(attrs.integer());
  const RowMajor index(call.inputs[1], DType::int64);
  Dims shape = out.shape;
  shape[axis] = index.tensor().shape[axis] == 1 ? values.shape[axis] : index.tensor().shape[axis];
  if (product(shape) == 0 || size_of(out) == 0) return;
  const Dims at = broadcast_strides(index.tensor(), shape), from = broadcast_strides(values, shape);
  const int64_t n = out.shape[axis], stride = out.strides[axis], count = shape[axis];
  const int64_t rest_axis = static_cast<int64_t>(axis);
  const Dims rest = without(shape, rest_axis);
  const UpdateElements update = update_for(out.dtype, mode).elements;
  parallel_for(product(rest), Cost{5 + static_cast<double>(count) * 4}, [&](int64_t begin, int64_t end) {
    Walker<3> walker(rest);
    walker.operand(0, without(out.strides, rest_axis));
    walker.operand(1, without(at, rest_axis));
    walker.operand(2, without(from, rest_axis));
    walker.seek(begin);
    for (int64_t line = begin; line < end; line++, walker.next()) {
      char *const to = out.data + walker.offset[0];
      const char *const indices = index.tensor().data + walker.offset[1], *const updates =
                                                                              values.data + walker.offset[2];
      Move moves[list_size];
      size_t listed = 0;
      for (int64_t i = 0; i < count; i++) {
        int64_t k = *reinterpret_cast<const int64_t *>(indices + i * at[axis]);
        k += k < 0 ? n : 0;
        moves[listed] = {k * stride, i * from[axis]};
        listed += (k >= 0) & (k < n);
        if (listed < list_size) continue;
        update(to, updates, moves, std::exchange(listed, 0));
        check_cancel();
      }
      update(to, updates, moves, listed);
    }
  });
}

}  // namespace mx::cpu
