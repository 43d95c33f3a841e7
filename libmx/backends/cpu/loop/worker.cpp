// Binding a tape to memory and driving it over ranges: see worker.hpp.
#include "backends/cpu/loop/worker.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace mx::loop {

Buffer::Buffer(int64_t bytes) : data_(inside_) {
  if (bytes > static_cast<int64_t>(sizeof inside_))
    data_ = static_cast<char *>(::operator new(static_cast<size_t>(bytes), std::align_val_t{64}));
}
Buffer::~Buffer() {
  if (data_ != inside_) ::operator delete(data_, std::align_val_t{64});
}

Odometer::Odometer(const Plan &plan, uint32_t begin, uint32_t end)
    : plan_(plan), begin_(begin), end_(end), index_(end - begin, 0), offsets_(plan.rows.size(), 0) {}

void Odometer::set(int64_t linear) noexcept {
  for (int64_t &o : offsets_) o = 0;
  for (uint32_t d = end_; d-- > begin_;) {
    const int64_t i = linear % plan_.sizes[d];
    linear /= plan_.sizes[d];
    index_[d - begin_] = i;
    for (uint32_t r = 0; r < offsets_.size(); r++) offsets_[r] += i * plan_.stride(r, d);
  }
}

void Odometer::next() noexcept {
  for (uint32_t d = end_; d-- > begin_;) {
    const bool wraps = ++index_[d - begin_] == plan_.sizes[d];
    const int64_t steps = wraps ? 1 - plan_.sizes[d] : 1;
    for (uint32_t r = 0; r < offsets_.size(); r++) offsets_[r] += steps * plan_.stride(r, d);
    if (!wraps) return;
    index_[d - begin_] = 0;
  }
}

Worker::Worker(const Call &call)
    : call_(call),
      plan_(call.plan),
      kernel_(plan_.kernel),
      level_(*kernel_.micro_ops->level),
      outer_(plan_, 0, plan_.n_outer),
      middle_(plan_, plan_.n_outer, plan_.first_inner()),
      buffer_(plan_.buffer_bytes),
      tape_(call.function ? nullptr : bind(plan_, call.scalars.data(), buffer_.data())),
      current_(plan_.rows.size(), 0),
      filled_(plan_.rows.size(), 0) {
  if (call.function) {
    frame_.resize(plan_.rows.size() + 1);
    for (uint64_t scalar : call.scalars) frame_.push_back(static_cast<int64_t>(scalar));
  } else if (!call.streamed.empty()) {
    for (const Patch &patch : kernel_.rows)
      if (call.streamed[patch.number]) tape_[patch.step].fn = kernel_.micro_ops->find(micro_put_stream, 0, 0);
  }
  move();
}

Step *bind(const Plan &plan, const uint64_t *scalars, char *buffer) noexcept {
  const Kernel &kernel = plan.kernel;
  const int64_t block = kernel.block_bytes();
  char *const slots = buffer + plan.slots, *const scratch = buffer + plan.scratch;
  Step *const tape = reinterpret_cast<Step *>(buffer);
  for (size_t i = 0; i < kernel.tape.size(); i++) {
    tape[i] = kernel.tape[i];
    tape[i].scratch = scratch;
  }
  for (const Patch &patch : kernel.slots)
    (patch.is_q ? tape[patch.step].q : tape[patch.step].p) = slots + patch.number * block;
  for (const ScalarPatch &patch : kernel.immediates)
    (patch.is_t ? tape[patch.step].t : tape[patch.step].s) = scalars[patch.scalar];
  for (const Constant &c : kernel.constants)
    kernel.micro_ops->level->pack[kernel.wide ? 3 : 2](
        slots + c.slot * block, reinterpret_cast<const char *>(&scalars[c.scalar]), 0, kernel.block_elements());
  return tape;
}

void Worker::move() noexcept {
  for (uint32_t r = 0; r < current_.size(); r++) current_[r] = call_.bases[r] + outer_.offset(r) + middle_.offset(r);
  moved_ = true;
}

void Worker::accumulate_into(char *node, int64_t stride, bool moves) noexcept {
  node_ = node;
  node_stride_ = stride;
  node_moves_ = moves;
}

void Worker::prefetch(int64_t first, int64_t n, int64_t rows) const noexcept {
  for (uint32_t r = 0; r < kernel_.streams.size(); r++) {
    const Row &row = plan_.rows[r];
    if (row.what != Row::input || row.access != Access::direct) continue;
    const int64_t ahead = rows * (rows != 0 ? plan_.stride(r, plan_.first_inner() - 1) : 0);
    const char *at = reinterpret_cast<const char *>(current_[r] + ahead + (first << row.log2_size));
    for (int64_t i = 0; i < n << row.log2_size; i += 64) __builtin_prefetch(at + i, 0, 2);
  }
}

void Worker::fill_constants() {
  moved_ = false;
  for (uint32_t r = 0; r < current_.size(); r++) {
    const Row &row = plan_.rows[r];
    if (row.access != Access::constant || row.what != Row::input || filled_[r] == current_[r]) continue;
    level_.pack[row.log2_size](staging(r), reinterpret_cast<const char *>(current_[r]), 0, kernel_.block_elements());
    filled_[r] = current_[r];
  }
}

// Calls piece(address, stride, offset in the range, count) for the stretches along the last dimension.
template <class Piece>
void Worker::pieces(uint32_t row, int64_t first, int64_t n, Piece piece) {
  if (plan_.n_inner == 0) return piece(current_[row], int64_t{0}, int64_t{0}, n);
  const uint32_t begin = plan_.first_inner(), last = plan_.n_dims() - 1;
  SmallVector<int64_t, 6> index(plan_.n_dims(), 0);
  int64_t address = current_[row];
  for (uint32_t d = last + 1; d-- > begin;) {
    index[d] = d > begin ? first % plan_.sizes[d] : first;
    if (d > begin) first /= plan_.sizes[d];
    address += index[d] * plan_.stride(row, d);
  }
  for (int64_t done = 0; done < n;) {
    const int64_t count = std::min(n - done, plan_.sizes[last] - index[last]);
    piece(address, plan_.stride(row, last), done, count);
    done += count;
    index[last] += count;
    address += count * plan_.stride(row, last);
    for (uint32_t d = last; d > begin && index[d] == plan_.sizes[d]; d--) {
      address += plan_.stride(row, d - 1) - plan_.sizes[d] * plan_.stride(row, d);
      index[d] = 0;
      index[d - 1]++;
    }
  }
}

void Worker::pack(uint32_t r, int64_t first, int64_t n) {
  const Row &row = plan_.rows[r];
  char *const dense = staging(r);
  if (n % kernel_.block_elements() != 0 && row.what == Row::input) {
    // The rest of the last block gets copies of an element: leftovers could be slow to compute with.
    const int64_t rest = kernel_.block_elements() - n % kernel_.block_elements();
    pieces(r, first, 1, [&](int64_t address, int64_t, int64_t, int64_t) {
      level_.pack[row.log2_size](dense + (n << row.log2_size), reinterpret_cast<const char *>(address), 0, rest);
    });
  }
  if (row.what == Row::input) {
    pieces(r, first, n, [&](int64_t address, int64_t stride, int64_t at, int64_t count) {
      level_.pack[row.log2_size](dense + (at << row.log2_size), reinterpret_cast<const char *>(address), stride, count);
    });
  } else if (row.what == Row::index) {
    pieces(r, first, n, [&](int64_t value, int64_t stride, int64_t at, int64_t count) {
      for (int64_t i = 0; i < count; i++, value += stride)
        std::memcpy(dense + ((at + i) << row.log2_size), &value, size_t{1} << row.log2_size);
    });
  }
}

void Worker::unpack(uint32_t r, int64_t first, int64_t n, const char *dense) {
  const uint8_t log2_size = plan_.rows[r].log2_size;
  pieces(r, first, n, [&](int64_t address, int64_t stride, int64_t at, int64_t count) {
    level_.unpack[log2_size](reinterpret_cast<char *>(address), dense + (at << log2_size), stride, count);
  });
}

void Worker::point(const Patch &patch, int64_t address, int64_t mask, bool is_packed) noexcept {
  Step &step = tape_[patch.step];
  if (plan_.rows[patch.number].what == Row::index) {
    const uint8_t kind = kernel_.wide ? kind_u64 : kind_u32;
    step.fn =
        is_packed ? kernel_.micro_ops->find(micro_get, kind, form_am) : kernel_.micro_ops->find(micro_index, kind, 0);
    step.s = static_cast<uint64_t>(address);
  }
  (patch.is_q ? step.q : step.p) = reinterpret_cast<const char *>(address);
  (patch.is_q ? step.q_mask : step.p_mask) = mask;
}

bool Worker::is_staged(uint32_t r, bool stage_all) const noexcept {
  const Row &row = plan_.rows[r];
  return row.access == Access::staged || (stage_all && row.access == Access::direct && row.what != Row::index);
}

// Rows that stay where they are, in staging memory, are pointed to once.
void Worker::bind_rows(bool stage_all) {
  binding_ = stage_all ? bound_staged : bound;
  moving_.clear();
  others_.clear();
  for (const Patch &patch : kernel_.rows) {
    const Row &row = plan_.rows[patch.number];
    const bool staged = is_staged(patch.number, stage_all);
    if (row.what == Row::index || row.is_tiled) {
      others_.push_back(patch);
    } else if (staged || row.access == Access::constant) {
      point(patch, reinterpret_cast<intptr_t>(staging(patch.number)), staged ? -1 : 0, staged);
    } else {
      point(patch, 0, -1, false);
      Step &step = tape_[patch.step];
      moving_.push_back({patch.is_q ? &step.q : &step.p, patch.number, row.log2_size});
    }
  }
}

void Worker::point_rows(int64_t first, bool stage_all) noexcept {
  for (const Moving &m : moving_) *m.address = reinterpret_cast<const char *>(current_[m.row] + (first << m.log2_size));
  for (const Patch &patch : others_) {
    const Row &row = plan_.rows[patch.number];
    if (is_staged(patch.number, stage_all))
      point(patch, reinterpret_cast<intptr_t>(staged(patch.number, first)), -1, true);
    else
      point(patch, current_[patch.number] + (row.access == Access::direct ? first : 0),
            row.access == Access::direct ? -1 : 0, false);
  }
}

// A range that is whole blocks, or all of whose rows are staged.
void Worker::span(int64_t first, int64_t n, bool stage_all, int64_t lanes) {
  const bool packs = stage_all || plan_.any_staged;
  const uint32_t n_moving = static_cast<uint32_t>(kernel_.streams.size() + kernel_.indices.size());
  if (packs)
    for (uint32_t r = 0; r < n_moving; r++)
      if (is_staged(r, stage_all) && !plan_.rows[r].is_tiled) pack(r, first, n);
  if (kernel_.range && !node_moves_ && plan_.rows[0].access != Access::constant) {
    const int64_t at = is_staged(0, stage_all) ? reinterpret_cast<intptr_t>(staging(0))
                                               : current_[0] + (first << plan_.rows[0].log2_size);
    const int64_t block = kernel_.block_elements(), n_blocks = (n + block - 1) / block;
    const Step range{
        kernel_.range, reinterpret_cast<const char *>(at), 0, node_, n_blocks * kernel_.block_bytes(), plan_.is_far, 0,
        nullptr};
    return level_.run(&range, 0, kernel_.block_bytes());
  }
  call_.function ? run_function(first, n, stage_all, lanes) : run_tape(first, n, stage_all, lanes);
  if (packs)
    for (uint32_t r = 0; r < n_moving; r++)
      if (plan_.rows[r].what == Row::output && is_staged(r, stage_all)) unpack(r, first, n, staging(r));
}

void Worker::run_tape(int64_t first, int64_t n, bool stage_all, int64_t lanes) {
  if (binding_ != (stage_all ? bound_staged : bound)) bind_rows(stage_all);
  point_rows(first, stage_all);
  for (const Patch &patch : kernel_.accumulators) {
    Step &step = tape_[patch.step];
    step.p = node_ + patch.number * node_stride_ + (node_moves_ ? lanes * kernel_.lane_bytes() : 0);
    step.p_mask = node_moves_ ? -1 : 0;
  }
  level_.run(tape_, 0, n * kernel_.lane_bytes());
}

void Worker::run_function(int64_t first, int64_t n, bool stage_all, int64_t lanes) {
  const uint32_t n_moving = static_cast<uint32_t>(kernel_.streams.size() + kernel_.indices.size());
  for (uint32_t r = 0; r < n_moving; r++) {
    const Row &row = plan_.rows[r];
    if (is_staged(r, stage_all))
      frame_[r] = reinterpret_cast<intptr_t>(staged(r, first));
    else if (row.access == Access::direct)
      frame_[r] = current_[r] + (row.what == Row::index ? first : first << row.log2_size);
    else
      frame_[r] = row.what == Row::index ? current_[r] : reinterpret_cast<intptr_t>(staging(r));
  }
  const char *node = node_ + (node_moves_ ? lanes * kernel_.lane_bytes() : 0);
  for (uint32_t r = n_moving; r < plan_.rows.size(); r++, node += node_stride_)
    frame_[r] = reinterpret_cast<intptr_t>(node);
  frame_[plan_.rows.size()] = node_moves_ ? -1 : kernel_.block_elements() - 1;
  call_.function(frame_.data(), n);
}

// Where the elements from `first` on are in staging memory.
const char *Worker::staged(uint32_t r, int64_t first) noexcept {
  const Row &row = plan_.rows[r];
  if (!row.is_tiled) return staging(r);
  return staging(r) + ((tile_row_ * tile_blocks * kernel_.block_elements() + first - tile_first_) << row.log2_size);
}

void Worker::transpose(uint32_t r, int64_t first, int64_t n, int64_t rows) {
  const Row &row = plan_.rows[r];
  const int64_t stride = plan_.stride(r, plan_.n_outer), block = kernel_.block_elements();
  const int64_t pitch = tile_blocks * block << row.log2_size;
  level_.transpose[row.log2_size](staging(r), pitch, reinterpret_cast<const char *>(current_[r] + first * stride),
                                  stride, rows, n);
  if (n % block == 0) return;
  for (int64_t i = 0; i < rows; i++) {  // as pack does
    char *const dense = staging(r) + i * pitch;
    level_.pack[row.log2_size](dense + (n << row.log2_size), dense, 0, block - n % block);
  }
}

void Worker::run_tile(int64_t first, int64_t n, int64_t rows) {
  tile_first_ = first;
  for (uint32_t r = 0; r < plan_.rows.size(); r++)
    if (plan_.rows[r].is_tiled) transpose(r, first, n, rows);
  for (tile_row_ = 0; tile_row_ < rows; tile_row_++) {
    if (tile_row_ > 0) next_outer();
    run(first, n);
  }
}

void Worker::run(int64_t first, int64_t n, int64_t lanes) {
  if (moved_) fill_constants();
  const int64_t block = kernel_.block_elements();
  const int64_t whole = n - n % block;
  const int64_t chunk = plan_.any_staged ? chunk_blocks * block : whole;
  for (int64_t at = 0; at < whole; at += chunk) span(first + at, std::min(chunk, whole - at), false, lanes + at);
  if (n > whole) span(first + whole, n - whole, true, lanes + whole);
}

}  // namespace mx::loop
