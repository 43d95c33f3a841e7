// Makes the plan of a run: see plan.hpp.
#include "backends/cpu/loop/plan.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/status.hpp"

namespace mx::loop {
namespace {

// A dimension before the division: its size, and whether it comes before, in or after the reduced ones.
struct Dimension {
  int64_t size;
  uint32_t at;  // in Args
  uint8_t zone;
};
using Dimensions = SmallVector<Dimension, 6>;

int64_t given_stride(const Plan &plan, uint32_t row, uint32_t dim) {
  const size_t n_streams = plan.kernel.streams.size(), n_indices = plan.kernel.indices.size();
  if (row < n_streams) return plan.args.operands[plan.kernel.streams[row].operand].strides[dim];
  if (row < n_streams + n_indices) return plan.kernel.indices[row - n_streams] == dim ? 1 : 0;
  return plan.args.operands[plan.kernel.reductions[row - n_streams - n_indices].operand].strides[dim];
}

void check_args(const Kernel &kernel, const Args &args) {
  if (args.operands.size() != kernel.n_operands || args.scalars.size() < kernel.n_scalars)
    fail(MX_ERROR_INTERNAL, "loop kernel: %zu operands and %zu scalars given, %u and %u needed", args.operands.size(),
         args.scalars.size(), kernel.n_operands, kernel.n_scalars);
  for (const auto &operand : args.operands)
    if (operand.strides.size() != args.shape.size())
      fail(MX_ERROR_INTERNAL, "loop kernel: %zu strides for %zu dimensions", operand.strides.size(), args.shape.size());
  for (uint16_t dim : kernel.indices)
    if (dim >= args.shape.size())
      fail(MX_ERROR_INTERNAL, "loop kernel: iota over dimension %u of %zu", dim, args.shape.size());
  if (args.reduced_begin > args.reduced_end || args.reduced_end > args.shape.size())
    fail(MX_ERROR_INTERNAL, "loop kernel: reduced dimensions %u to %u of %zu", args.reduced_begin, args.reduced_end,
         args.shape.size());
}

void make_rows(Plan &plan) {
  for (const Stream &s : plan.kernel.streams) {
    Row row{s.is_output ? Row::output : Row::input, s.log2_size};
    row.base = reinterpret_cast<intptr_t>(plan.args.operands[s.operand].data) + s.offset;
    plan.rows.push_back(row);
  }
  for (size_t i = 0; i < plan.kernel.indices.size(); i++)
    plan.rows.push_back({Row::index, static_cast<uint8_t>(plan.kernel.wide ? 3 : 2)});
  for (const Reduction &r : plan.kernel.reductions) {
    Row row{Row::result, static_cast<uint8_t>(storage_log2(storage_of(r.type)))};
    row.base = reinterpret_cast<intptr_t>(plan.args.operands[r.operand].data);
    plan.rows.push_back(row);
  }
}

Dimensions merged(const Plan &plan, SmallVector<int64_t, 24> &strides) {
  const Args &args = plan.args;
  const uint32_t n_rows = static_cast<uint32_t>(plan.rows.size());
  Dimensions dims;
  for (uint32_t d = 0; d < args.shape.size(); d++) {
    if (args.shape[d] == 1) continue;
    const uint8_t zone = d < args.reduced_begin ? 0 : d < args.reduced_end ? 1 : 2;
    bool fits = !dims.empty() && dims.back().zone == zone;
    for (uint32_t r = 0; fits && r < n_rows; r++)
      fits = strides[strides.size() - n_rows + r] == given_stride(plan, r, d) * args.shape[d];
    if (fits) {
      dims.back().size *= args.shape[d];
      for (uint32_t r = 0; r < n_rows; r++) strides[strides.size() - n_rows + r] = given_stride(plan, r, d);
    } else {
      dims.push_back({args.shape[d], d, zone});
      for (uint32_t r = 0; r < n_rows; r++) strides.push_back(given_stride(plan, r, d));
    }
  }
  return dims;
}

// The places of the dimensions in the plan: outer, middle, inner.
SmallVector<uint32_t, 6> divide(Plan &plan, const Dimensions &dims, Reduce mode) {
  const int64_t block = plan.kernel.block_elements();
  const uint32_t n = static_cast<uint32_t>(dims.size());
  SmallVector<uint32_t, 6> order;
  const auto take = [&](auto wanted) {
    uint32_t taken = 0;
    for (uint32_t d = 0; d < n; d++)
      if (wanted(d)) order.push_back(d), taken++;
    return taken;
  };
  if (mode == Reduce::rows) {
    plan.n_outer = take([&](uint32_t d) { return dims[d].zone != 1; });
    plan.n_inner = take([&](uint32_t d) { return dims[d].zone == 1; });
  } else if (mode == Reduce::columns) {
    int64_t after = 1;
    for (const Dimension &d : dims)
      if (d.zone == 2) after *= d.size;
    const bool all = after < block / 2;  // too few columns after the reduced ones: those before them join
    plan.n_outer = all ? 0 : take([&](uint32_t d) { return dims[d].zone == 0; });
    plan.n_middle = take([&](uint32_t d) { return dims[d].zone == 1; });
    plan.n_inner = take([&](uint32_t d) { return dims[d].zone == 2 || (all && dims[d].zone == 0); });
  } else {
    // The last dimension, or several if it is so short that most of its blocks would be partial.
    uint32_t first = n == 0 ? 0 : n - 1;
    int64_t inner = n == 0 ? 1 : dims[first].size;
    const bool is_short = inner < block || (inner < 8 * block && inner % block != 0);
    while (is_short && first > 0 && inner < 64 * block) inner *= dims[--first].size;
    plan.n_outer = take([&](uint32_t d) { return d < first; });
    plan.n_inner = take([&](uint32_t d) { return d >= first; });
  }
  return order;
}

Access access_of(const Plan &plan, uint32_t row) {
  const uint32_t first = plan.first_inner(), last = plan.n_dims() - 1;
  if (plan.n_inner == 0) return plan.rows[row].what == Row::output ? Access::staged : Access::constant;
  for (uint32_t d = first; d < last; d++)
    if (plan.stride(row, d) != plan.stride(row, d + 1) * plan.sizes[d + 1]) return Access::staged;
  const int64_t step = plan.stride(row, last);
  const int64_t dense = plan.rows[row].what == Row::index ? 1 : int64_t{1} << plan.rows[row].log2_size;
  if (step == dense) return Access::direct;
  return step == 0 && plan.rows[row].what != Row::output ? Access::constant : Access::staged;
}

// The bytes between which the elements of a row lie.
struct Extent {
  int64_t low, high;
};
Extent extent(const Plan &plan, uint32_t row) {
  Extent e{plan.rows[row].base, plan.rows[row].base + (int64_t{1} << plan.rows[row].log2_size)};
  for (uint32_t d = 0; d < plan.n_dims(); d++) {
    const int64_t reach = plan.stride(row, d) * (plan.sizes[d] - 1);
    (reach < 0 ? e.low : e.high) += reach;
  }
  return e;
}
bool overlaps_input(const Plan &plan, uint32_t output) {
  const Extent out = extent(plan, output);
  for (uint32_t r = 0; r < plan.rows.size(); r++) {
    if (plan.rows[r].what != Row::input) continue;
    const Extent in = extent(plan, r);
    if (in.low < out.high && out.low < in.high) return true;
  }
  return false;
}

int64_t streaming_threshold() noexcept {
#ifdef _SC_LEVEL3_CACHE_SIZE
  static const int64_t threshold = [] {
    const long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return l3 > 0 ? int64_t{l3} / 4 : int64_t{8} << 20;
  }();
  return threshold;
#else
  return int64_t{8} << 20;
#endif
}

bool can_stream(const Plan &plan, uint32_t row) {
  const Row &r = plan.rows[row];
  const int64_t vector = plan.kernel.backend->level->vector_bytes;
  const int64_t bytes = (plan.outer * plan.middle * plan.inner) << r.log2_size;
  if (bytes < streaming_threshold() || r.base % vector != 0 || (int64_t{1} << r.log2_size) != plan.kernel.lane_bytes())
    return false;
  for (uint32_t d = 0; d < plan.first_inner(); d++)
    if (plan.stride(row, d) % vector != 0) return false;
  return !overlaps_input(plan, row);
}

void choose_access(Plan &plan) {
  const bool is_reduction = !plan.kernel.reductions.empty();
  const int64_t elements = plan.outer * plan.middle * plan.inner;
  for (const Row &row : plan.rows)
    plan.is_large |= row.what == Row::input && elements << row.log2_size >= streaming_threshold();
  for (uint32_t r = 0; r < plan.rows.size(); r++) {
    Row &row = plan.rows[r];
    row.access = access_of(plan, r);
    if (row.what == Row::result) continue;
    if (row.what == Row::output && row.access == Access::direct) {
      // A store on top of an operand that is read later waits in staging memory until the chunk is done.
      if (plan.kernel.reads_after_writes && overlaps_input(plan, r))
        row.access = Access::staged;
      else
        row.is_streamed = !is_reduction && can_stream(plan, r);
    }
    if (row.access == Access::staged) plan.any_staged = true;
  }
  // The buffer of a worker: slots, scratch memory, staging memory.
  const int64_t block = plan.kernel.block_bytes();
  plan.buffer_bytes = (plan.kernel.n_slots + 2) * block;
  for (Row &row : plan.rows) {
    row.staging = plan.buffer_bytes;
    plan.buffer_bytes += row.access == Access::staged || row.what == Row::result ? chunk_blocks * block : block;
  }
}

}  // namespace

Reduce reduce_mode(const Kernel &kernel, const Args &args) noexcept {
  if (kernel.reductions.empty()) return Reduce::none;
  int64_t reduced = 1, after = 1, kept = 1;
  for (uint32_t d = 0; d < args.shape.size(); d++) {
    if (d >= args.reduced_begin && d < args.reduced_end) {
      reduced *= args.shape[d];
    } else {
      kept *= args.shape[d];
      if (d >= args.reduced_end) after *= args.shape[d];
    }
  }
  const int64_t block = kernel.block_elements();
  return after >= block / 2 || (reduced <= block && kept >= block) ? Reduce::columns : Reduce::rows;
}

Plan make_plan(const Kernel &kernel, const Args &args) {
  check_args(kernel, args);
  Plan plan{kernel, args, {}, {}, {}};
  make_rows(plan);
  SmallVector<int64_t, 24> given;  // [dimension][row]
  const Dimensions dims = merged(plan, given);
  const SmallVector<uint32_t, 6> order = divide(plan, dims, reduce_mode(kernel, args));
  for (uint32_t d : order) plan.sizes.push_back(dims[d].size);
  const uint32_t n_rows = static_cast<uint32_t>(plan.rows.size());
  plan.strides.resize(n_rows * plan.n_dims());
  for (uint32_t r = 0; r < n_rows; r++)
    for (uint32_t d = 0; d < plan.n_dims(); d++) plan.strides[r * plan.n_dims() + d] = given[order[d] * n_rows + r];
  for (uint32_t d = 0; d < plan.n_dims(); d++)
    (d < plan.n_outer ? plan.outer : d < plan.first_inner() ? plan.middle : plan.inner) *= plan.sizes[d];
  choose_access(plan);
  return plan;
}

}  // namespace mx::loop
