// Running a kernel over a whole space: elementwise here, reductions in reduce.cpp.
#include "backends/cpu/loop/run.hpp"

#include <algorithm>

#include "backends/cpu/loop/worker.hpp"
#include "base/status.hpp"

namespace mx::loop {
namespace {

// A segment takes a few microseconds: so threads end together even where all of it takes little more than ten times as
// long.
int64_t segment_elements(const Plan &plan) {
  constexpr int64_t most = 16384;
  constexpr double wanted_ns = 4e3;
  const int64_t block = plan.kernel.block_elements();
  const double block_ns = item_ns(plan, block);
  return std::max<int64_t>(4, std::min(most / block, static_cast<int64_t>(wanted_ns / block_ns))) * block;
}

void dispatch(Reduce mode, const Call &call) {
  switch (mode) {
    case Reduce::none:
      return run_elementwise(call);
    case Reduce::rows:
      return run_rows(call);
    case Reduce::columns:
      return run_columns(call);
  }
}

}  // namespace

double item_ns(const Plan &plan, int64_t n) noexcept {
  // What does not fit the second cache waits for the third, or for memory.
  constexpr int64_t cached = 1 << 20;
  constexpr double byte_ns = 1.0 / 40;
  int64_t bytes = 0;
  for (const Stream &stream : plan.kernel.streams) bytes += int64_t{1} << stream.log2_size;
  const bool waits = bytes * plan.outer * plan.middle * plan.inner > cached;
  const double computed = static_cast<double>(estimate_ns(plan.kernel, n));
  return std::max(computed, waits ? static_cast<double>(bytes * n) * byte_ns : 0);
}

void run_elementwise(const Call &call) {
  const Plan &plan = call.plan;
  if (plan.outer == 0 || plan.inner == 0) return;
  const int64_t block = plan.kernel.block_elements();
  const bool rows_first = plan.rows_first;
  const int64_t segment = rows_first ? tile_blocks * block : segment_elements(plan);
  const int64_t n_segments = (plan.inner + segment - 1) / segment;
  // Items are (outer, segment); with rows first (outer but the last dimension, segment, last dimension).
  const int64_t fast = rows_first ? plan.sizes[plan.n_outer - 1] : 1;
  for_items(plan.outer * n_segments, item_ns(plan, std::min(segment, plan.inner)), [&](int64_t begin, int64_t end) {
    Worker worker(call);
    int64_t row = -2;
    for (int64_t item = begin; item < end; item++) {
      const int64_t slow = item / fast;
      const int64_t at = slow % n_segments, now = slow / n_segments * fast + item % fast;
      if (now == row + 1)
        worker.next_outer();
      else if (now != row)
        worker.set_outer(now);
      const int64_t n = std::min(segment, plan.inner - at * segment);
      const int64_t rows = rows_first ? std::min({tile_rows, fast - item % fast, end - item}) : 1;
      if (rows_first)
        worker.run_tile(at * segment, n, rows);
      else
        worker.run(at * segment, n);
      row = now + rows - 1;
      item += rows - 1;
    }
    if (!call.streamed.empty()) plan.kernel.micro_ops->level->fence();
  });
}

void run(const Prepared &prepared, std::span<char *const> data, std::span<const uint64_t> scalars) {
  const Kernel &kernel = *prepared.kernel;
  if (data.size() < kernel.n_operands || scalars.size() < kernel.n_scalars)
    fail(MX_ERROR_INTERNAL, "loop kernel: %zu operands and %zu scalars given, %u and %u needed", data.size(),
         scalars.size(), kernel.n_operands, kernel.n_scalars);
  if (prepared.is_small && !prepared.staged) return run_small(prepared.plan, data, scalars);
  const Call direct(prepared.plan, data, scalars);
  if (prepared.staged && outputs_overlap_inputs(direct))
    return dispatch(prepared.mode, Call(*prepared.staged, data, scalars));
  dispatch(prepared.mode, direct);
}

}  // namespace mx::loop
