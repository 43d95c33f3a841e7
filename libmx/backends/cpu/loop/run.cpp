// Running a kernel over a whole space: elementwise here, reductions in reduce.cpp.
#include "backends/cpu/loop/run.hpp"

#include <algorithm>

#include "backends/cpu/loop/worker.hpp"

namespace mx::loop {
namespace {

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

}  // namespace

void run_elementwise(const Plan &plan) {
  if (plan.outer == 0 || plan.inner == 0) return;
  const int64_t block = plan.kernel.block_elements();
  const bool rows_first = prefers_rows(plan);
  const int64_t segment = rows_first ? block : std::max<int64_t>(16384, 4 * block);
  const int64_t n_segments = (plan.inner + segment - 1) / segment;
  // Items are (outer, segment); with rows first (outer but the last dimension, segment, last dimension).
  const int64_t fast = rows_first ? plan.sizes[plan.n_outer - 1] : 1;
  const double ns = static_cast<double>(estimate_ns(plan.kernel, std::min(segment, plan.inner)));
  for_items(plan.outer * n_segments, ns, [&](int64_t begin, int64_t end) {
    Worker worker(plan);
    int64_t row = -2;
    for (int64_t item = begin; item < end; item++) {
      const int64_t slow = item / fast;
      const int64_t at = slow % n_segments, now = slow / n_segments * fast + item % fast;
      if (now == row + 1)
        worker.next_outer();
      else if (now != row)
        worker.set_outer(now);
      row = now;
      worker.run(at * segment, std::min(segment, plan.inner - at * segment));
    }
    for (const Row &r : plan.rows)
      if (r.is_streamed) return plan.kernel.backend->level->fence();
  });
}

void run(const Kernel &kernel, const Args &args) {
  const Plan plan = make_plan(kernel, args);
  switch (reduce_mode(kernel, args)) {
    case Reduce::none:
      return run_elementwise(plan);
    case Reduce::rows:
      return run_rows(plan);
    case Reduce::columns:
      return run_columns(plan);
  }
}

}  // namespace mx::loop
