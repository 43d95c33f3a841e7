#include "transforms/mapped.hpp"

#include <algorithm>
#include <limits>

#include "ops/create.hpp"
#include "ops/index.hpp"
#include "ops/reduce.hpp"
#include "ops/traced.hpp"
#include "ops/unary.hpp"

namespace mx::vmap {

Spec lane_spec(const Mapped &x) {
  Spec spec = spec_of(x.value);
  if (x.differs()) spec.shape.erase(static_cast<size_t>(x.axis));
  return spec;
}

Value Lanes::numbers(DType dtype, const StreamRef &s) const {
  return ops::astype(ops::axis_iota(like_.value, static_cast<size_t>(like_.axis), s), dtype, s);
}

Value Lanes::repeated(const Value &x, const StreamRef &s) const {
  const Value one = ops::expand_dims(x, Dims{0}, s);
  if (!ops::follows_shapes(like_.value)) return ops::broadcast_to(one, inserted(ops::shape_of(x), 0, count()), s);
  Dims rest = ops::iota(ops::rank_of(one));
  rest.erase(0);
  return ops::broadcast_like(one, ops::expand_dims(numbers(DType::int32, s), rest, s), s);
}

Value lanes_first(const Mapped &x, const StreamRef &s) { return ops::moveaxis(x.value, x.axis, 0, s); }

Value lanes_at(const Mapped &x, int64_t place, const Lanes &lanes, const StreamRef &s) {
  if (x.differs()) return ops::moveaxis(x.value, x.axis, place, s);
  return ops::moveaxis(lanes.repeated(x.value, s), 0, place, s);
}

Value aligned(const Mapped &x, size_t after, const StreamRef &s) {
  const size_t rank = lane_rank(x);
  const int64_t place = static_cast<int64_t>(rank) - static_cast<int64_t>(after);
  if (!x.differs()) return place > 0 ? ops::expand_dims(x.value, Dims{place}, s) : x.value;
  if (place >= 0) return ops::moveaxis(x.value, x.axis, place, s);
  Dims fresh;
  for (int64_t i = place; i < 0; i++) fresh.push_back(i - place + 1);
  return ops::expand_dims(lanes_first(x, s), fresh, s);
}

Alignment alignment_of(std::span<const Mapped> xs) {
  Alignment a{0, SIZE_MAX};
  bool same = true;
  for (const Mapped &x : xs) {
    a.rank = std::max(a.rank, lane_rank(x));
    if (!x.differs()) continue;
    same &= a.after == SIZE_MAX || a.after == axes_after(x);
    a.after = axes_after(x);
  }
  if (!same) a.after = a.rank;
  return a;
}

int64_t common_axis(std::span<const Mapped> xs) noexcept {
  int64_t axis = -1;
  for (const Mapped &x : xs) {
    if (!x.differs()) continue;
    if (axis >= 0 && axis != x.axis) return 0;
    axis = x.axis;
  }
  return axis;
}

Dims shifted(List axes, int64_t lanes) {
  Dims out;
  for (int64_t axis : axes) out.push_back(shifted(axis, lanes));
  return out;
}

Dims inserted(List list, int64_t place, int64_t x) {
  Dims out(list.begin(), list.end());
  out.insert(static_cast<size_t>(place), x);
  return out;
}

int64_t count_below(List list, int64_t limit) noexcept {
  return std::count_if(list.begin(), list.end(), [limit](int64_t x) { return x < limit; });
}

}  // namespace mx::vmap
