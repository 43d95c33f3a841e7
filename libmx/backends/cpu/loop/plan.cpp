// Makes the plan of a run: see plan.hpp.
#include "backends/cpu/loop/plan.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/settled.hpp"
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

int64_t given_stride(const Plan &plan, const Geometry &geometry, uint32_t row, uint32_t dim) {
  const Row &r = plan.rows[row];
  if (r.what == Row::index) return r.operand == dim ? 1 : 0;
  return geometry.strides[r.operand][dim];
}

void check_geometry(const Kernel &kernel, const Geometry &geometry) {
  const size_t n_dims = geometry.shape.size();
  if (geometry.strides.size() != kernel.n_operands)
    fail(MX_ERROR_INTERNAL, "loop kernel: strides for %zu operands given, %u needed", geometry.strides.size(),
         kernel.n_operands);
  for (const Dims &strides : geometry.strides)
    if (strides.size() != n_dims)
      fail(MX_ERROR_INTERNAL, "loop kernel: %zu strides for %zu dimensions", strides.size(), n_dims);
  for (uint16_t dim : kernel.indices)
    if (dim >= n_dims) fail(MX_ERROR_INTERNAL, "loop kernel: iota over dimension %u of %zu", dim, n_dims);
  if (geometry.reduced_begin > geometry.reduced_end || geometry.reduced_end > n_dims)
    fail(MX_ERROR_INTERNAL, "loop kernel: reduced dimensions %u to %u of %zu", geometry.reduced_begin,
         geometry.reduced_end, n_dims);
}

void make_rows(Plan &plan) {
  for (const Stream &s : plan.kernel.streams)
    plan.rows.push_back({s.is_output ? Row::output : Row::input, s.log2_size, s.offset, s.operand});
  for (uint16_t dim : plan.kernel.indices)
    plan.rows.push_back({Row::index, static_cast<uint8_t>(plan.kernel.wide ? 3 : 2), 0, dim});
  for (const Reduction &r : plan.kernel.reductions)
    plan.rows.push_back({Row::result, static_cast<uint8_t>(storage_log2(storage_of(r.type))), 0, r.operand});
}

Dimensions merged(const Plan &plan, const Geometry &geometry, SmallVector<int64_t, 24> &strides) {
  const uint32_t n_rows = static_cast<uint32_t>(plan.rows.size());
  Dimensions dims;
  for (uint32_t d = 0; d < geometry.shape.size(); d++) {
    if (geometry.shape[d] == 1) continue;
    const uint8_t zone = d < geometry.reduced_begin ? 0 : d < geometry.reduced_end ? 1 : 2;
    bool fits = !dims.empty() && dims.back().zone == zone;
    for (uint32_t r = 0; fits && r < n_rows; r++)
      fits = strides[strides.size() - n_rows + r] == given_stride(plan, geometry, r, d) * geometry.shape[d];
    if (fits) {
      dims.back().size *= geometry.shape[d];
      for (uint32_t r = 0; r < n_rows; r++) strides[strides.size() - n_rows + r] = given_stride(plan, geometry, r, d);
    } else {
      dims.push_back({geometry.shape[d], d, zone});
      for (uint32_t r = 0; r < n_rows; r++) strides.push_back(given_stride(plan, geometry, r, d));
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
  if (plan.n_inner == 0) return plan.rows[row].what == Row::output ? Access::direct : Access::constant;
  for (uint32_t d = first; d < last; d++)
    if (plan.stride(row, d) != plan.stride(row, d + 1) * plan.sizes[d + 1]) return Access::staged;
  const int64_t step = plan.stride(row, last);
  const int64_t dense = plan.rows[row].what == Row::index ? 1 : int64_t{1} << plan.rows[row].log2_size;
  if (step == dense) return Access::direct;
  return step == 0 && plan.rows[row].what != Row::output ? Access::constant : Access::staged;
}

void note_extent(const Plan &plan, uint32_t row, Row &r) {
  r.low = 0, r.high = int64_t{1} << r.log2_size;
  for (uint32_t d = 0; d < plan.n_dims(); d++) {
    const int64_t reach = plan.stride(row, d) * (plan.sizes[d] - 1);
    (reach < 0 ? r.low : r.high) += reach;
  }
}

// A quarter of the last cache; not more than a guest can hope for, which sees all of its host's and shares it.
int64_t quarter_of_cache() noexcept {
  constexpr int64_t most = int64_t{32} << 20;
#ifdef _SC_LEVEL3_CACHE_SIZE
  const long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return l3 > 0 ? std::min(int64_t{l3} / 4, most) : most / 4;
#else
  return most / 4;
#endif
}
int64_t streaming_threshold() noexcept { return settled<quarter_of_cache>(); }

bool may_stream(const Plan &plan, uint32_t row, int64_t elements) {
  const Row &r = plan.rows[row];
  const int64_t vector = plan.kernel.micro_ops->level->vector_bytes;
  const int64_t bytes = elements << r.log2_size;
  if (bytes < streaming_threshold() || (int64_t{1} << r.log2_size) != plan.kernel.lane_bytes()) return false;
  for (uint32_t d = 0; d < plan.first_inner(); d++)
    if (plan.stride(row, d) % vector != 0) return false;
  return true;
}

void choose_access(Plan &plan, bool stage_outputs, int64_t elements) {
  const bool is_reduction = !plan.kernel.reductions.empty();
  constexpr int64_t second_level = int64_t{2} << 20;
  for (const Row &row : plan.rows) {
    if (row.what != Row::input) continue;
    plan.is_far |= elements << row.log2_size > second_level;
    plan.is_large |= elements << row.log2_size >= streaming_threshold();
  }
  for (uint32_t r = 0; r < plan.rows.size(); r++) {
    Row &row = plan.rows[r];
    row.access = access_of(plan, r);
    note_extent(plan, r, row);
    if (row.what == Row::result) continue;
    if (row.what == Row::output && row.access == Access::direct) {
      if (stage_outputs)
        row.access = Access::staged;
      else
        row.may_stream = !is_reduction && may_stream(plan, r, elements);
      plan.may_stream |= row.may_stream;
    }
    if (row.access == Access::staged) plan.any_staged = true;
  }
}

// Whether some operand runs along the last outer dimension more densely than along the inner range, as a transposed one
// does. Then short stretches of all the rows go together, so that its cache lines are used whole.
bool prefers_rows(const Plan &plan) {
  if (plan.n_outer == 0 || plan.n_inner != 1) return false;
  for (uint32_t r = 0; r < plan.rows.size(); r++) {
    const int64_t inner = std::abs(plan.stride(r, plan.n_outer)), outer = std::abs(plan.stride(r, plan.n_outer - 1));
    if (plan.rows[r].access == Access::staged && plan.rows[r].what != Row::index && inner >= 64 && outer < 64 &&
        outer > 0)
      return true;
  }
  return false;
}

void note_tiles(Plan &plan) {
  plan.rows_first = plan.kernel.reductions.empty() && prefers_rows(plan);
  if (!plan.rows_first) return;
  for (uint32_t r = 0; r < plan.rows.size(); r++) {
    Row &row = plan.rows[r];
    row.is_tiled = row.access == Access::staged && row.what == Row::input &&
                   plan.stride(r, plan.n_outer - 1) == int64_t{1} << row.log2_size;
  }
}

void lay_out_buffer(Plan &plan) {
  const int64_t block = plan.kernel.block_bytes();
  plan.slots = static_cast<int64_t>((plan.kernel.tape.size() * sizeof(Step) + 63) / 64 * 64);
  plan.scratch = plan.slots + plan.kernel.n_slots * block;
  plan.buffer_bytes = plan.scratch + 2 * block;
  for (Row &row : plan.rows) {
    row.staging = plan.buffer_bytes;
    plan.buffer_bytes += row.is_tiled                                              ? tile_rows * tile_blocks * block
                         : row.access == Access::staged || row.what == Row::result ? chunk_blocks * block
                                                                                   : block;
  }
}

// Whether an output has memory in common with an input.
bool overlaps_input(const Call &call, uint32_t output) noexcept {
  const Plan &plan = call.plan;
  const int64_t low = call.bases[output] + plan.rows[output].low, high = call.bases[output] + plan.rows[output].high;
  for (uint32_t r = 0; r < plan.rows.size(); r++)
    if (plan.rows[r].what == Row::input && call.bases[r] + plan.rows[r].low < high &&
        low < call.bases[r] + plan.rows[r].high)
      return true;
  return false;
}

int64_t element_count(const Geometry &geometry) noexcept {
  int64_t n = 1;
  for (int64_t size : geometry.shape) n *= size;
  return n;
}

// A tape of this size, with everything else that a small run needs, fits a worker's own memory.
constexpr int64_t small_blocks = 16;
bool fits_small(const Plan &plan) noexcept {
  if (plan.n_outer != 0 || plan.any_staged || plan.may_stream || !plan.kernel.reductions.empty() ||
      !plan.kernel.indices.empty() || plan.buffer_bytes > small_buffer_bytes)
    return false;
  return plan.inner > 0 && plan.inner <= small_blocks * plan.kernel.block_elements();
}

}  // namespace

Reduce reduce_mode(const Kernel &kernel, const Geometry &geometry) noexcept {
  if (kernel.reductions.empty()) return Reduce::none;
  int64_t reduced = 1, after = 1, kept = 1;
  for (uint32_t d = 0; d < geometry.shape.size(); d++) {
    if (d >= geometry.reduced_begin && d < geometry.reduced_end) {
      reduced *= geometry.shape[d];
    } else {
      kept *= geometry.shape[d];
      if (d >= geometry.reduced_end) after *= geometry.shape[d];
    }
  }
  const int64_t block = kernel.block_elements();
  return after >= block / 2 || (reduced <= block && kept >= block) ? Reduce::columns : Reduce::rows;
}

Plan make_plan(const Kernel &kernel, const Geometry &geometry, Reduce mode, bool stage_outputs, int64_t elements) {
  Plan plan{kernel, {}, {}, {}};
  make_rows(plan);
  SmallVector<int64_t, 24> given;  // [dimension][row]
  const Dimensions dims = merged(plan, geometry, given);
  const SmallVector<uint32_t, 6> order = divide(plan, dims, mode);
  for (uint32_t d : order) plan.sizes.push_back(dims[d].size);
  const uint32_t n_rows = static_cast<uint32_t>(plan.rows.size());
  plan.strides.resize(n_rows * plan.n_dims());
  for (uint32_t r = 0; r < n_rows; r++)
    for (uint32_t d = 0; d < plan.n_dims(); d++) plan.strides[r * plan.n_dims() + d] = given[order[d] * n_rows + r];
  for (uint32_t d = 0; d < plan.n_dims(); d++)
    (d < plan.n_outer ? plan.outer : d < plan.first_inner() ? plan.middle : plan.inner) *= plan.sizes[d];
  choose_access(plan, stage_outputs, elements);
  note_tiles(plan);
  lay_out_buffer(plan);
  prepare_choice(plan);
  return plan;
}

Prepared::Prepared(KernelRef k, const Geometry &geometry, const Geometry &whole)
    : kernel((check_geometry(*k, geometry), std::move(k))),
      mode(reduce_mode(*kernel, whole)),
      plan(make_plan(*kernel, geometry, mode, false, element_count(whole))),
      is_small(fits_small(plan)) {
  if (kernel->reads_after_writes)
    staged = std::make_unique<const Plan>(make_plan(*kernel, geometry, mode, true, element_count(whole)));
}

PreparedRef prepare(KernelRef kernel, const Geometry &geometry, const Geometry *whole) {
  return std::make_shared<const Prepared>(std::move(kernel), geometry, whole ? *whole : geometry);
}

Call::Call(const Plan &p, std::span<char *const> data, std::span<const uint64_t> given) : plan(p) {
  for (const Row &row : plan.rows)
    bases.push_back(row.what == Row::index ? 0 : reinterpret_cast<intptr_t>(data[row.operand]) + row.offset);
  for (const ScalarUse &use : plan.kernel.scalars) scalars.push_back(lane_bits(use.type, given[use.arg]));
  const int64_t vector = plan.kernel.micro_ops->level->vector_bytes;
  for (uint32_t r = 0; plan.may_stream && r < bases.size(); r++)
    streamed.push_back(plan.rows[r].may_stream && bases[r] % vector == 0 && !overlaps_input(*this, r));
  function = function_for(plan, {scalars.begin(), scalars.size()}, {streamed.begin(), streamed.size()});
}

bool outputs_overlap_inputs(const Call &call) noexcept {
  for (uint32_t r = 0; r < call.bases.size(); r++)
    if (call.plan.rows[r].what == Row::output && overlaps_input(call, r)) return true;
  return false;
}

}  // namespace mx::loop
