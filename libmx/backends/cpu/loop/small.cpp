// Small runs: one thread, one pass over memory that is dense as it is. The last block is incomplete and works on
// copies.
#include <cstring>

#include "backends/cpu/loop/worker.hpp"

namespace mx::loop {
namespace {

// What both executors need of a small run.
class Small {
 public:
  Small(const Plan &plan, std::span<char *const> data, char *buffer)
      : plan_(plan), level_(*plan.kernel.micro_ops->level), data_(data), buffer_(buffer) {
    const int64_t block = plan.kernel.block_elements();
    rest = plan.inner & (block - 1), whole = plan.inner - rest;  // a block is a power of two
    for (const Row &row : plan.rows)
      if (row.access == Access::constant) level_.pack[row.log2_size](staging(row), memory(row), 0, block);
  }

  char *memory(const Row &row) const noexcept { return data_[row.operand] + row.offset; }
  char *staging(const Row &row) const noexcept { return buffer_ + row.staging; }
  // Copies what is left after the whole blocks; the lanes up to `n` get copies of an element, since leftovers could be
  // slow to compute with.
  void pack_rest(int64_t n) const noexcept {
    for (const Row &row : plan_.rows) {
      if (row.access != Access::direct || row.what != Row::input) continue;
      const char *const from = memory(row) + (whole << row.log2_size);
      level_.pack[row.log2_size](staging(row), from, 0, n);
      if (rest > 1) std::memcpy(staging(row), from, static_cast<size_t>(rest) << row.log2_size);
    }
  }
  void unpack_rest() const noexcept {
    for (const Row &row : plan_.rows)
      if (row.what == Row::output)
        std::memcpy(memory(row) + (whole << row.log2_size), staging(row), static_cast<size_t>(rest) << row.log2_size);
  }

  int64_t whole, rest;  // elements

 private:
  const Plan &plan_;
  const Level &level_;
  std::span<char *const> data_;
  char *buffer_;
};

void run_tape(const Plan &plan, const Small &small, Step *tape) {
  const Kernel &kernel = plan.kernel;
  const auto point = [&](const Patch &patch, const char *at, int64_t mask) {
    (patch.is_q ? tape[patch.step].q : tape[patch.step].p) = at;
    (patch.is_q ? tape[patch.step].q_mask : tape[patch.step].p_mask) = mask;
  };
  if (small.whole != 0) {
    for (const Patch &patch : kernel.rows) {
      const Row &row = plan.rows[patch.number];
      const bool moves = row.access == Access::direct;
      point(patch, moves ? small.memory(row) : small.staging(row), moves ? -1 : 0);
    }
    kernel.micro_ops->level->run(tape, 0, small.whole * kernel.lane_bytes());
  }
  if (small.rest == 0) return;
  small.pack_rest(kernel.block_elements());
  for (const Patch &patch : kernel.rows) point(patch, small.staging(plan.rows[patch.number]), 0);
  kernel.micro_ops->level->run(tape, 0, kernel.block_bytes());
  small.unpack_rest();
}

void run_function(const Plan &plan, const Small &small, std::span<const uint64_t> scalars, jit::Function function) {
  SmallVector<int64_t, 16> frame(plan.rows.size() + 1, 0);
  for (uint64_t scalar : scalars) frame.push_back(static_cast<int64_t>(scalar));
  const auto point = [&](bool is_rest) {
    for (size_t r = 0; r < plan.rows.size(); r++) {
      const Row &row = plan.rows[r];
      const bool moves = row.access == Access::direct && !is_rest;
      frame[r] = reinterpret_cast<intptr_t>(moves ? small.memory(row) : small.staging(row));
    }
  };
  if (small.whole != 0) {
    point(false);
    function(frame.data(), small.whole);
  }
  if (small.rest == 0) return;
  const int64_t half = plan.kernel.block_elements() / 2;  // no function does more in one iteration
  small.pack_rest(small.rest <= half ? half : 2 * half);
  point(true);
  function(frame.data(), small.rest);
  small.unpack_rest();
}

}  // namespace

void run_small(const Plan &plan, std::span<char *const> data, std::span<const uint64_t> given) {
  alignas(64) char buffer[small_buffer_bytes];
  SmallVector<uint64_t, 8> scalars;
  for (const ScalarUse &use : plan.kernel.scalars) scalars.push_back(lane_bits(use.type, given[use.arg]));
  const Small small(plan, data, buffer);
  if (const jit::Function function = function_for(plan, {scalars.begin(), scalars.size()}, {}))
    run_function(plan, small, {scalars.begin(), scalars.size()}, function);
  else
    run_tape(plan, small, bind(plan, scalars.data(), buffer));
}

}  // namespace mx::loop
