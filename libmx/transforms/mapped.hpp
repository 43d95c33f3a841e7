// What a mapped function computes, seen for all its lanes at once: a lane is one element of the mapped axis.
#pragma once
#include "ops/shape.hpp"

namespace mx::vmap {

using ops::List;
using ops::StreamRef;

// A value as every lane has it: an array whose axis `axis` is that of the lanes, or one array that all lanes share.
struct Mapped {
  Value value;
  int64_t axis = -1;
  bool differs() const noexcept { return axis >= 0; }
};
using MappedList = SmallVector<Mapped, 2>;

// How many axes the value has in a lane.
inline size_t lane_rank(const Mapped &x) noexcept { return ops::rank_of(x.value) - x.differs(); }
// How many of them come after the axis of the lanes.
inline size_t axes_after(const Mapped &x) noexcept { return lane_rank(x) - static_cast<size_t>(x.axis); }
// What the value is in a lane.
Spec lane_spec(const Mapped &x);

// The lanes of one mapping. Inside a trace nothing here depends on their number, so that the trace can be replayed on
// other shapes.
class Lanes {
 public:
  // `like` differs between the lanes.
  explicit Lanes(Mapped like) : like_(std::move(like)) {}
  int64_t count() const noexcept { return ops::shape_of(like_.value)[static_cast<size_t>(like_.axis)]; }
  // 0, 1, ... in a 1-d array.
  Value numbers(DType dtype, const StreamRef &s) const;
  // (lanes, ...): the same value for each of them.
  Value repeated(const Value &x, const StreamRef &s) const;

 private:
  const Mapped like_;
};

// The axis of the lanes moved to `place`; a value that all lanes share is repeated.
Value lanes_at(const Mapped &x, int64_t place, const Lanes &lanes, const StreamRef &s);
// The axis of the lanes moved to the front. `x` must differ between the lanes.
Value lanes_first(const Mapped &x, const StreamRef &s);

// Brought into the form in which values broadcast lane by lane: the axis of the lanes is `after` axes from the end.
// Where `x` has fewer axes than that it gets some of size 1; a value that all lanes share stays as it is but for one.
Value aligned(const Mapped &x, size_t after, const StreamRef &s);

// How the values of one op broadcast against each other.
struct Alignment {
  size_t rank;   // in a lane, of what they broadcast to
  size_t after;  // where all have the axis of the lanes, counted from the end
  int64_t axis() const noexcept { return static_cast<int64_t>(rank - after); }
};
// Where the values have the axis of the lanes already, if that is the same place for all of them, else the front. At
// least one differs.
Alignment alignment_of(std::span<const Mapped> xs);

// The place of the axis of the lanes where all that differ have it, else 0. At least one differs.
int64_t common_axis(std::span<const Mapped> xs) noexcept;

// An axis of a lane in the array of all lanes.
inline int64_t shifted(int64_t axis, int64_t lanes) noexcept { return axis + (axis >= lanes); }
Dims shifted(List axes, int64_t lanes);
// The list with `x` put in at `place`.
Dims inserted(List list, int64_t place, int64_t x);
// How many numbers of the list are below `limit`.
int64_t count_below(List list, int64_t limit) noexcept;

}  // namespace mx::vmap
